"""What the engine needs from a backend, beyond the store that strategies use.

What      : a protocol: facts come in from anywhere, versions are kept or undone, facts go out as tables.
Idea      : the engine knows programs, updates and versions; a backend knows where facts are and how they are encoded.
Invariant : between `commit` or `rollback` and the next call nothing is half done. Readers see the last commit only,
            also while a writer of another thread is at work. An interrupt inside `commit` is finished by calling it
            again; after one anywhere else `distrust`, then `rollback`.
Never     : no rules beyond those of the schedule it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from tidelog.changes.change import FactTable, FactTables
from tidelog.errors import ProgramError
from tidelog.language.terms import Atom, Value
from tidelog.limits import Budget
from tidelog.maintenance.outcome import Outcome
from tidelog.maintenance.schedule import Schedule
from tidelog.maintenance.store import F, Store
from tidelog.planning.views import View
from tidelog.state.far import FarStore
from tidelog.state.stored_facts import Encodable

T = TypeVar("T")
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]
"""Yes or no for each fact of a table."""
Tables: TypeAlias = dict[str, FactTable]
"""Facts by relation, in tables that later versions do not change."""


Given = tuple[object, tuple[str, ...] | None, int | None]
"""Facts of a relation from any source, the types that are declared for it, and the number of columns that it has."""


class Asks(Protocol[F]):
    """Answers questions in the place of a backend."""

    def ask(self, question: Callable[[Backend[F]], T]) -> T:
        """What the question finds in the last version."""


class Portions(Protocol[F]):
    """A deletion in portions: each is maintained as if those before it were a version, which no reader sees."""

    def __iter__(self) -> Iterator[Mapping[str, F]]:
        """The facts that go, portion by portion."""

    def take(self, outcome: Outcome[F]) -> None:
        """A portion was maintained; go on from there. Raises TooLargeError if all of it is done better at once."""

    def give_up(self) -> None:
        """Work on the last version again; what was given can be looked for at once."""

    def tables(self) -> tuple[Tables, Tables, Tables]:
        """What has come, what has gone, and what was explicit, in all portions together; our own relations, too."""


class Backend(Protocol[F]):
    """Where facts live."""

    name: str
    reads_beside: bool
    """Whether readers of other threads may ask while a writer is at work."""
    is_aside: bool
    """Whether this is a version for readers, in which nobody writes."""

    @property
    def onlooker(self) -> Asks[F] | None:
        """Who answers them instead, where they may not; None if there is nobody, and they wait."""

    @property
    def store(self) -> Store[F]:
        """What strategies work on."""

    @property
    def jobs(self) -> int:
        """How many Spark jobs ran since `begin`; 0 where there is no Spark."""

    def successor(self) -> Backend[F] | None:
        """An empty backend to go on with, if most constants of this one are in no fact any more."""

    @property
    def far(self) -> FarStore | None:
        """Relations in files, which are saved and opened without being read; None if all are in this process."""

    @property
    def missed(self) -> int:
        """How many distinct facts `find` was asked for and did not find since `begin`."""

    def arity(self, relation: str) -> int | None:
        """The number of columns of a stored relation, None if it is not stored."""

    def relations(self) -> Iterable[str]:
        """The stored relations, our own hidden ones included."""

    def intern(self, relation: str, source: object, types: tuple[str, ...] | None, arity: int | None) -> F:
        """Facts from any source, stored without marks if they are new; refused if they do not fit."""

    def intern_all(self, sources: Mapping[str, Given]) -> dict[str, F]:
        """As `intern`, for facts of several relations; a backend may take them together."""

    def find(self, relation: str, source: object, types: tuple[str, ...] | None, arity: int | None) -> F:
        """Those of the facts, from any source, that are in the materialisation; 9 is 9.0 where floats are declared."""

    def portions(self, delete: dict[str, Given], budget: Budget) -> Portions[F] | None:
        """A deletion that is done in portions, one after the other in one transaction; None if it is done at once.

        Asked before `find`, of an update that only deletes. Sources that are read for it are replaced by what was read.
        """

    def tally(self, relation: str, source: object, types: tuple[str, ...] | None, view: View) -> int:
        """How many of the facts are at hand and in the view; asked within a transaction, and changes nothing."""

    def is_apart(self, relations: Set[str]) -> bool:
        """Whether a transaction that sees and changes no other relations could be done beside the open one."""

    @property
    def is_in_a_step(self) -> bool:
        """Whether the open transaction is in the middle of a step after which it may be able to make way."""

    def can_make_way(self, relations: Set[str], kept: Set[str]) -> bool:
        """Whether the open transaction can be set aside in these relations, for another one to go first.

        In those that are `kept` it does not see what the other one changes.
        """

    def beside(self, changed: Set[str], read: Set[str], kept: Set[str]) -> AbstractContextManager[None]:
        """Do a transaction that changes and reads these relations, from `begin` to `commit` or `rollback`.

        Then the open one goes on as it was. In the relations that it has touched and in those that are `kept`, OLD is
        for it the version before the other one, while readers see the one after it.
        """

    def rebase(self) -> None:
        """In a transaction that another one has passed: from here on OLD is what is NOW, for an update on top of it."""

    def straighten(self) -> None:
        """After `rebase`: OLD is the last version, and nothing is hidden any more."""

    def use(self, schedule: Schedule) -> None:
        """From now on these rules are maintained; what was prepared for others may be forgotten."""

    def begin(self, budget: Budget) -> None:
        """An update begins: from now on this budget is asked whether to go on."""

    def ask_to_commit(self) -> None:
        """Ask the budget whether to commit: seconds, facts and bytes as they are now."""

    def prepare(self) -> None:
        """Do everything of a commit that can fail; `commit` or `rollback` comes next."""

    def commit(self) -> None:
        """Make the version NOW the one that readers see. It does not fail, and can be called again to finish it."""

    @property
    def is_untidy(self) -> bool:
        """Whether commits have left something for `tidy`."""

    def tidy(self, pause: Callable[[], None]) -> None:
        """Between transactions: give back room; a `pause` that raises puts it off, and nothing is changed."""

    def rollback(self) -> None:
        """Undo everything since the last commit; can be called again."""

    def distrust(self) -> None:
        """After an interrupt: forget whatever is made in many steps and can be made again (counts, plans)."""

    def close(self) -> None:
        """Give back memory, blocks and files; nothing is asked afterwards."""

    def table(self, relation: str) -> FactTable:
        """A relation as of the last commit; it follows later commits."""

    def explicit(self, relation: str) -> FactTable:
        """The explicit facts of a relation as of the last commit."""

    def is_explicit(self, relation: str, values: tuple[Value, ...]) -> bool:
        """Whether a fact of a stored relation is explicit as of the last commit; costs a look-up."""

    def ready(self, schedule: Schedule) -> None:
        """Build now what the next small update under these rules would otherwise wait for, such as indexes."""

    def freeze(self, relation: str, facts: F) -> FactTable:
        """Facts of one relation as a table that later commits do not change."""

    def query(self, pattern: Atom) -> FactTable:
        """The facts that match a pattern of constants and variables."""

    def visit(self, budget: Budget) -> AbstractContextManager[Backend[F]]:
        """A backend in which rules can be evaluated over the last commit; what is derived there ends with the block."""

    def differences(self, schedule: Schedule) -> dict[str, tuple[FactTable, FactTable]]:
        """Recompute everything from the explicit facts; by relation, the facts missing here and the facts too many."""

    def snapshot(self, relation: str) -> tuple[pa.Table, Flags]:
        """All facts of a relation as of the last commit, and which of them are explicit."""

    def restore(self, relation: str, arity: int, parts: Iterable[Encodable]) -> None:
        """Store distinct facts of a new relation as they were in another engine, derived ones too; then `commit`."""

    def nbytes(self) -> int:
        """About how much memory the facts take."""


def asked_beside(backend: Backend[F], question: Callable[[Backend[F]], T]) -> T:
    """What a question finds in the last version while somebody may be writing."""
    return question(backend) if backend.onlooker is None else backend.onlooker.ask(question)


def facts_of(backend: Backend[Any], relation: str, *, is_explicit: bool) -> FactTable:
    """The facts of a relation, or the explicit ones; none of one that is not stored."""
    if backend.arity(relation) is None:
        return FactTables()[relation]
    return backend.explicit(relation) if is_explicit else backend.table(relation)


def refuse_stored(inline: Iterable[str], backend: Backend[Any]) -> None:
    """Raise E214 for the first relation that becomes inline and has explicit facts."""
    for relation in sorted(inline):
        if backend.store.size(relation) and len(backend.explicit(relation)):
            sentence = f"{relation} is declared inline, and an inline relation has no facts"
            remedy = f"delete the facts of {relation} in an update before this one"
            raise ProgramError.of("E214", sentence, remedy=remedy)
