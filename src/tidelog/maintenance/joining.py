"""Updates that join a transaction while it runs.

What      : `Joining`, what a transaction is given to let further updates in; `TurnBackError`, which tells it to take
            them in at once; `go_back`, which brings a stage to its old version.
Idea      : an update of facts that arrives meanwhile is netted with those that run (transaction.py). At the border of a
            stage an update that reaches no visited stage joins at no extra cost. An update that undoes most of what
            runs does not wait for the border, unless the present stage has nothing to do with it: the budget raises
            TurnBackError, and visited stages that the difference reaches run again.
Source    : Illich, Glimm 2023, Algorithm 1, line 3: a new update is looked at before every computation.
Invariant : joining later or earlier, or not at all, leads to the same facts.
Departures: the paper cancels single operations; here explicit facts are netted, and a stage is kept or run again as a
            whole, so that no derivation needs to remember where it came from.
Never     : no queue and no thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeAlias, TypeVar

from tidelog.errors import BudgetError
from tidelog.maintenance.store import F, Facts, Store

Joined = TypeVar("Joined", bound=Facts, covariant=True)
Pair: TypeAlias = tuple[Mapping[str, Joined], Mapping[str, Joined]]
"""The facts that an update deletes and then inserts, by relation."""


class StandAsideError(BudgetError):
    """A transaction is to be rolled back and to begin again later: another update goes first, or joins it."""


class TurnBackError(StandAsideError):
    """A transaction is to take in what has arrived before it goes on."""


class Progress(Protocol):
    """How far a transaction has come."""

    def reaches(self, relations: Iterable[str]) -> bool:
        """Whether a change of the relations would reach the stage that is being visited."""

    def has_visited(self, relations: Iterable[str]) -> bool:
        """Whether a change of the relations would reach any stage that was visited, or is being visited."""

    def uses(self) -> set[str]:
        """The relations that the visited stages, and the one that is being visited, derive and read."""


class Joining(Protocol[Joined]):
    """What has arrived since a transaction began, as far as it may join: updates of facts, in order."""

    def begin(self, progress: Progress) -> None:
        """Explicit facts are marked: from now on TurnBackError may be raised, until updates are taken in.

        Called again when they have been taken in. Do not raise if what came does not reach the stage being visited;
        report it by `is_due`.
        """

    @property
    def is_due(self) -> bool:
        """Whether updates that undo most of the transaction are to be taken in at the next border."""

    @property
    def has_come(self) -> bool:
        """Whether anything has arrived; asked at every stage."""

    def beside(self, is_visited: Callable[[Iterable[str]], bool]) -> Iterable[Pair[Joined]]:
        """The first updates that change no relation of which `is_visited` is true: what they delete and insert."""

    def give_way(self) -> None:
        """The transaction has turned back, and is between two stages: if that was for an urgent update, it goes now."""

    @property
    def has_passed(self) -> bool:
        """Whether urgent updates have become visible meanwhile in relations that this transaction uses."""

    def overriding(self) -> Iterable[Pair[Joined]]:
        """What those urgent updates deleted and inserted. It overrides this transaction. Each update is given once."""

    def rebase(self) -> None:
        """From here on OLD is what is NOW, as if this transaction had ended."""

    def straighten(self) -> None:
        """OLD is the last version, with what has passed."""

    def opposite(self) -> Iterable[Pair[Joined]]:
        """The updates for which TurnBackError was raised, or that are due."""


def go_back(store: Store[F], relations: frozenset[str]) -> None:
    """Bring the facts of a stage back to their old version; counts of it are lost."""
    store.stop_counting(relations)
    store.bring_back(relations)
