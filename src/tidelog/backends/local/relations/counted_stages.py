"""Which stages are counted, and their counts, as one version after the other.

What      : the counts of the stages that a strategy keeps counts for, with commit and rollback.
Idea      : counts are changed in place and every change hands back what undoes it; the set of counted stages is a value
            that is replaced, so that a rollback takes the former one back.
Invariant : after a rollback everything is as at the last commit. If a relation of a counted stage is maintained by
            another strategy, or becomes part of another stage, its counting is stopped first.
Never     : no count is made here (derivation_counts.py), and nothing is known of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations import derivation_counts as counting
from tidelog.backends.local.relations.derivation_counts import Counts
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.relation import Relation


class Counted:
    """The counts of all counted stages; a stage is known by its relations."""

    def __init__(self) -> None:
        self._stages: dict[frozenset[str], dict[str, Counts]] = {}
        self._before = self._stages
        self._undo: list[Callable[[], None]] = []

    def __bool__(self) -> bool:
        return bool(self._stages)

    def __contains__(self, stage: object) -> bool:
        return stage in self._stages

    def __iter__(self) -> Iterator[tuple[str, Counts]]:
        """Every counted relation with its counts."""
        return (pair for counted in self._stages.values() for pair in counted.items())

    def has_any(self, relations: Set[str]) -> bool:
        """Whether one of the relations is counted."""
        return any(not stage.isdisjoint(relations) for stage in self._stages)

    @property
    def has_changed(self) -> bool:
        """Whether anything was counted since the last commit, or is no longer counted."""
        return bool(self._undo) or self._stages.keys() != self._before.keys()

    def start(self, stage: frozenset[str]) -> None:
        """Begin to count a stage; no fact of it has a count or a rank yet."""
        self.stop(stage)
        self._stages = {**self._stages, stage: {}}

    def stop(self, relations: Iterable[str]) -> frozenset[str]:
        """Forget the stages that have any of these relations; all relations of these stages."""
        gone = [stage for stage in self._stages if not stage.isdisjoint(relations)]
        if gone:
            for counts in (counts for stage in gone for counts in self._stages[stage].values()):
                counts.follow_no_longer()
            self._stages = {stage: counts for stage, counts in self._stages.items() if stage not in gone}
        return frozenset().union(*gone)

    def carry(self, before: frozenset[str], after: frozenset[str]) -> None:
        """What was counted as one stage is counted as another; relations that come or go have no facts."""
        counted = self._stages[before]
        for counts in (counts for name, counts in counted.items() if name not in after):
            counts.follow_no_longer()
        others = {stage: counts for stage, counts in self._stages.items() if stage != before}
        self._stages = {**others, after: {name: counts for name, counts in counted.items() if name in after}}

    def of(self, relation: Relation) -> Counts:
        """The counts of a relation of a counted stage."""
        stage = next(stage for stage in self._stages if relation.name in stage)
        found = self._stages[stage].get(relation.name)
        if found is None:
            found = self._stages[stage][relation.name] = Counts(relation)
            found.follow()
        return found

    def add(self, relation: Relation, facts: Array, rounds: Array, sign: int) -> Array:
        """Add to the counts of facts in their rounds; the facts that may be due now, any number of times."""
        due, undo = self.of(relation).add(facts, rounds, sign)
        self._undo.append(undo)
        return due

    def begin(self, relation: Relation, ranks: Array, near: Array, cells: Array, further: Array) -> None:
        """Let the counts of a relation begin with these. (With the stage, which began now, an undo forgets them.)"""
        self.of(relation).begin(ranks, near, cells, further)
        self._undo.append(lambda: None)

    def rank(self, relation: Relation, facts: Array, round_number: int | None) -> None:
        """Give facts a rank, or none."""
        self._undo.append(self.of(relation).rank(facts, round_number))

    def due(self, facts: Iterable[tuple[Relation, Array]]) -> tuple[int, LocalFacts, LocalFacts, LocalFacts]:
        """The least round that a fact has to leave or enter; the facts that leave it, enter it, and come later."""
        number, *moves = counting.due({relation.name: (self.of(relation), rows) for relation, rows in facts})
        leaving, entering, later = map(LocalFacts, moves)
        return number, leaving, entering, later

    def commit(self) -> None:
        """What is counted now stays."""
        if not (self._stages or self._before or self._undo):
            return
        for _, counts in self:
            counts.tidy()
        self._before, self._undo = {stage: dict(counted) for stage, counted in self._stages.items()}, []

    def undo(self) -> None:
        """Take every change since the last commit back, before rows of relations move."""
        while self._undo:
            self._undo.pop()()
        self._stages = self._before

    def follow(self) -> None:
        """Be told again when rows move, after an undo."""
        for _, counts in self:
            counts.follow()
