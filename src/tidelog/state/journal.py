"""What an engine has done since it was last saved.

What      : a `Journal` per state that the engine was saved to or opened from; every transaction adds an `Entry`.
Idea      : with the changes at hand, a save costs what has changed and not what there is. An entry refers to tables
            that the backend has frozen, so noting it costs nothing to speak of: rows of numbers, 4 or 8 bytes for each
            column of a fact, of at most as many facts as there were at the last save.
Invariant : the state as the save `last` left it, or one of the `attempts` after it whose outcome is not known, and the
            entries after its version give the engine's present facts. A journal that has grown beyond the facts
            themselves, or has facts that are not in this process, forgets its entries, and the next save writes
            everything.
Never     : no file, no encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from tidelog.changes.change import FactTable

LEAST_LIMIT = 200_000
"""How many facts a journal may always hold."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One transaction: facts that came and went, and facts that became explicit or ceased to be, by relation."""

    version: int
    inserted: Mapping[str, FactTable]
    deleted: Mapping[str, FactTable]
    asserted: Mapping[str, FactTable]
    withdrawn: Mapping[str, FactTable]

    def __len__(self) -> int:
        parts = (self.inserted, self.deleted, self.asserted, self.withdrawn)
        return sum(len(table) for tables in parts for table in tables.values())

    @property
    def is_far(self) -> bool:
        """Whether facts of it are not in this process; then everything is written anew, where the facts are."""
        parts = (self.inserted, self.deleted, self.asserted, self.withdrawn)
        return any(table.is_far for tables in parts for table in tables.values())


@dataclass(slots=True)
class Journal:
    """The entries since the commit that this engine last made or read; `last` is the id of its save."""

    state: str
    commit: int = -1
    last: str = ""
    attempts: set[str] = field(default_factory=set)
    limit: int = LEAST_LIMIT
    writer: str = field(default_factory=lambda: uuid4().hex)
    entries: list[Entry] | None = field(default_factory=list)
    held: int = 0

    def note(self, entry: Entry) -> None:
        """Add a transaction, unless it is there: after an interrupt it is handed over again."""
        if self.entries and self.entries[-1].version >= entry.version:
            return
        self.held += len(entry)
        if self.held > self.limit or entry.is_far:
            self.entries = None
        if self.entries is not None:
            self.entries.append(entry)

    def forget(self) -> None:
        """Let the next save write everything: the stored version lacks what no entry has."""
        self.entries = None

    def attempt(self, identity: str = "") -> str:
        """The id of a save that begins: a given one, or a new one."""
        identity = identity or uuid4().hex
        self.attempts.add(identity)
        return identity

    def knows(self, identity: str) -> bool:
        """Whether the save of that id is the last one, or one of which this engine does not know what became of it."""
        return identity == self.last or identity in self.attempts

    def saved(self, commit: int, identity: str, facts: int) -> None:
        """Everything up to now is part of a commit."""
        self.commit, self.last, self.attempts = commit, identity, set()
        self.limit, self.entries, self.held = max(facts, LEAST_LIMIT), [], 0


class Journals:
    """The journals of one engine, by the identity of their states."""

    def __init__(self) -> None:
        self._by_state: dict[str, Journal] = {}

    def __bool__(self) -> bool:
        return bool(self._by_state)

    @property
    def are_complete(self) -> bool:
        """Whether any journal can still be added to a state, so that facts have to be brought for it."""
        return any(journal.entries is not None for journal in self)

    def __iter__(self) -> Iterator[Journal]:
        return iter(self._by_state.values())

    def of(self, state: str) -> Journal | None:
        """The journal for a state, None if the engine has nothing to do with it."""
        return self._by_state.get(state)

    def begin(self, state: str) -> Journal:
        """From now on note what happens, so that it can be added to a state."""
        journal = self._by_state[state] = Journal(state)
        return journal

    def note(self, entry: Entry) -> None:
        """Add a transaction to every journal."""
        for journal in self:
            journal.note(entry)
