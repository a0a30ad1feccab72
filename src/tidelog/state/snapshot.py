"""What a state asks of an engine, and what it gives back.

What      : `Snapshot`, a version of an engine that is to be saved; `StoredState`, a version that was read.
Idea      : the state knows no engine and no backend, only that facts of a relation can be had as a table with flags.
Invariant : saving a snapshot and reading it back gives the same facts, flags, rules, version and strategy.
Never     : no file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tidelog.errors import StateError
from tidelog.language.terms import Program
from tidelog.state.far import FarStore, StoredFar, StoredFiles, StoredRows
from tidelog.state.journal import Journals
from tidelog.state.rows import Flags
from tidelog.state.stored_facts import Encodable, StoredFacts
from tidelog.state.versions import VersionInfo


class Holder(Protocol):
    """Where the facts of a snapshot are: a backend, as of its last commit."""

    @property
    def far(self) -> FarStore | None:
        """Where relations are that stay where they are while they are saved; None if all are in this process."""

    def relations(self) -> Iterable[str]:
        """The stored relations, hidden ones included."""

    def arity(self, relation: str) -> int | None:
        """The number of columns of a relation."""

    def snapshot(self, relation: str) -> tuple[pa.Table, Flags]:
        """All facts of a relation, and which of them are explicit."""


class Taker(Protocol):
    """What takes over the facts of a stored version: a backend."""

    def restore(self, relation: str, arity: int, parts: Iterable[Encodable]) -> None:
        """Store facts; no fact comes twice."""

    @property
    def far(self) -> FarStore | None:
        """What opens relations in files."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of an engine, with what happened to it since it was last saved."""

    version: int
    program: Program
    strategy: str
    arithmetic: str
    holder: Holder
    journals: Journals


@dataclass(frozen=True, slots=True)
class StoredState:
    """One version as it was stored; `is_last` says that nothing was stored after it.

    `far` are relations whose files are opened where they are, `files` what is said about all of these; `rows` are large
    relations that have no files yet.
    """

    info: VersionInfo
    program: Program
    relations: Sequence[StoredFacts]
    is_last: bool
    far: Sequence[StoredFar] = ()
    files: StoredFiles | None = None
    rows: StoredRows | None = None

    def into(self, backend: Taker, without: Collection[str] = ()) -> None:
        """Give the facts to a backend, but not those of some relations; a commit comes next."""
        for facts in self.relations:
            if facts.relation not in without:
                backend.restore(facts.relation, facts.arity, facts.parts)
        if self.files is not None or self.rows is not None:
            self._into_files(backend.far)

    def _into_files(self, store: FarStore | None) -> None:
        if store is None:
            raise StateError.of(
                "E615",
                "relations of the state are too large for this process, and no folder is known that every executor"
                " reaches",
                remedy="set spark.tidelog.directory to such a folder",
            )
        if self.files is not None:
            store.restore(self.files, self.far)
        if self.rows is not None:
            for name, count in store.import_rows(self.rows).items():
                wanted = self.rows.relations[name][1]
                if count != wanted:
                    raise StateError.of(
                        "E603",
                        f"the state is damaged: {name} has {count} facts instead of {wanted}",
                        remedy="open an older version, or restore a copy",
                    )
