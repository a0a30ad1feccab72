"""Stages derived at once, in bits: what the local store offers to strategies.

What      : `BitStages` derives a whole stage of rules over pairs (planning/pair_rules.py) as a fixpoint of bit matrices
            and keeps the result as rows: new facts are stored, facts that hold again or no longer are marked.
Idea      : compute in bits, keep in rows. A word is 64 derivations, and facts that are known to be new are appended
            without a look-up. A deletion in a dense component is the same: compute, and take the difference. Where
            there are facts already, it is assumed first that none is new.
Cost      : matrices of n values take n * n bits each, however few facts there are. A stage is declined if it has more
            than MOST_VALUES values, if its matrices would take more than MOST_BYTES, or if they would be nearly empty
            (SPARSEST, THIN). One that turns out not to be worth it is given up (fixpoint.py), and nothing has been
            changed.
Invariant : NOW, and the facts found by each round, are those of evaluation by rows. Derivations are the instances of
            the rules over the result, as rows count them, except that a value that only has to exist counts once.
Never     : a store whose facts are partly elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from functools import partial

from tidelog.backends.local.bits.fixpoint import Fixpoint
from tidelog.backends.local.bits.matrices import EXPLICIT, Layout, Matrices
from tidelog.backends.local.bits.numbering import Numbering, Numbers
from tidelog.backends.local.bits.round_counts import Ranks, fits
from tidelog.backends.local.bits.rows_or_bits import Way, way
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.relations.counted_stages import Counted
from tidelog.backends.local.relations.relation import Relation
from tidelog.maintenance.store import AT_ONCE
from tidelog.planning.lowered import Stage
from tidelog.planning.pair_rules import PairRule, pair_rules
from tidelog.planning.views import NO_MARKS, NOW, Mark, View

MOST_VALUES = 1 << 14
"""More values are not numbered: a matrix of 16,384 takes 32 MB."""
MOST_BYTES = 1 << 27
"""The memory that the matrices of a stage may take together."""
FEWEST = 128
"""With fewer facts to read, joins are as fast, and no kernel has to be compiled."""
SPARSEST = 1 << 9
"""How many words of matrices a fact that is read is worth. A round walks through them, at 0.3 ns a word where they fit
into the cache and 2 ns where not; with more words than these per fact, a round costs more than most facts ever do."""
THIN = 2
"""A recursion whose rules read their own facts once each stays with rows if there are fewer facts than these to read
for each value: its rounds are many and find little. rand1k has 1.2, and takes 1.7 times as long in bits."""
_ALIKE = 8
"""Where rows were better they stay better, until there is an eighth more or less to read."""
_PER_WORD, _PER_ROW = 0.05, 0.25
"""What a word and a row cost, in derivations (maintenance/prices.py): about 1 ns and 5 ns of 20 ns."""


class BitStages:
    """Derives stages of one store."""

    def __init__(
        self,
        relations: Mapping[str, Relation],
        relation_of: Callable[[str, int], Relation],
        dictionary: Dictionary,
        derivations: Counter[tuple[str, str]],
        counted: Callable[[], Counted],
    ) -> None:
        self._relations, self._relation_of, self._dictionary = relations, relation_of, dictionary
        self._derivations, self._counted = derivations, counted
        self._shapes: dict[int, tuple[Stage, tuple[PairRule, ...] | None]] = {}
        self._prices: dict[frozenset[str], float] = {}
        self._declined: dict[tuple[frozenset[str], bool], int] = {}
        """How many facts a stage read when rows were better, to derive it or to count it."""
        self._numbers = Numbers()
        self.is_deriving = False
        """Whether a stage is being derived: another one that adds values to it would have them nowhere."""
        self.ask_budget: Callable[[], None] = lambda: None

    @property
    def nbytes(self) -> int:
        """The memory that is kept between stages."""
        return self._numbers.nbytes

    def keep(self, wanted: Container[int]) -> None:
        """Forget what is known about other stages than these, given by their identities."""
        self._shapes = {key: shape for key, shape in self._shapes.items() if key in wanted}
        self._declined = {}

    def price(self, stage: Stage) -> float | None:
        """What deriving the stage at once took the last time; None if it was never done."""
        price = self._prices.get(stage.relations)
        if price is None or self._shape(stage) is None or way() is Way.ROWS:
            return None
        return price

    def derive(self, stage: Stage, ask_round: Callable[[], None]) -> float | None:
        """Bring the stage's NOW to its fixpoint, and say what it cost; None if rows are better: nothing is changed."""
        return self._begin(stage, ask_round, self._shape(stage), None)

    def count(self, stage: Stage, ask_round: Callable[[], None]) -> float | None:
        """As `derive`, and begin ranks and counts of a stage that is counted and has none yet."""
        rules = self._shape(stage)
        if rules is None or not all(rule.is_exact for rule in rules):
            return None
        return self._begin(stage, ask_round, rules, self._counted())

    def _begin(
        self,
        stage: Stage,
        ask_round: Callable[[], None],
        rules: tuple[PairRule, ...] | None,
        counted: Counted | None,
    ) -> float | None:
        asked = None if rules is None else way()
        if rules is None or asked is Way.ROWS or self.is_deriving:  # by a transaction that lets this one pass
            return None
        is_forced = asked is Way.BITS
        facts = self._read(stage, rules)
        size = sum([relation.size for relation, _ in facts])
        key = stage.relations, counted is not None
        declined = self._declined.get(key, -size)
        if not is_forced and (size < FEWEST or _ALIKE * abs(size - declined) < size):
            return None
        numbering = self._numbers.number(facts, self._dictionary.ids, MOST_VALUES)
        if numbering is None:
            return None
        try:
            self.is_deriving = True
            price = self._derive(stage, rules, numbering, ask_round, counted, is_forced=is_forced)
            if price is None and not is_forced:
                self._declined[key] = size
            return price
        finally:
            self.is_deriving = False
            self._numbers.clean(numbering)
            for name in stage.relations & self._relations.keys():
                self._relations[name].waiting = 0

    def _derive(
        self,
        stage: Stage,
        rules: tuple[PairRule, ...],
        numbering: Numbering,
        ask_round: Callable[[], None],
        counted: Counted | None,
        *,
        is_forced: bool,
    ) -> float | None:
        if not is_forced and numbering.facts < THIN * len(numbering) and _is_linear(stage, rules):
            return None
        heads = [self._relation_of(name, 2) for name in sorted(stage.relations)]
        for relation in heads:
            relation.waiting = 0
        layout = Layout(rules, stage.relations, [relation.name for relation in heads if relation.count])
        words = len(layout) * len(numbering) * ((len(numbering) + 63) // 64)
        if 8 * words > MOST_BYTES or (not is_forced and words > SPARSEST * (numbering.facts + 64)):
            return None
        room = len(heads), len(numbering)
        if counted is not None and not fits(*room, 1, MOST_BYTES):
            return None
        ranks = None if counted is None else Ranks([relation.name for relation in heads], len(numbering))
        writes, changes = sum(relation.alive for relation in heads) < FEWEST, None
        while changes is None:
            chosen = layout if writes else layout.alone
            found = Fixpoint(rules, heads, Matrices(chosen, numbering, self._relations), ranks, writes=writes)
            if not found.run(ask_round, self.ask_budget, is_patient=is_forced):
                return None
            if counted is not None and not fits(*room, found.rounds, MOST_BYTES):
                return None
            changes = found.changes()  # or None: there are facts to write, and so their rounds are repeated
            writes, ask_round = True, _count_no_round
        for key, count in found.instances(self.ask_budget).items():
            self._derivations[key, AT_ONCE] += count
        price = _PER_WORD * found.words + _PER_ROW * found.rows
        for relation, coming, going in changes:
            relation.mark(coming, Mark.NOW, NO_MARKS)
            relation.mark(going, NO_MARKS, Mark.NOW)
            relation.append_waiting(Mark.NOW)
            self.ask_budget()
        if ranks is not None and counted is not None:
            for relation in heads:
                counting = partial(found.count, ask_budget=self.ask_budget)
                ranks.give(counted, relation, numbering.numbers, found.rounds, counting)
        self._prices[stage.relations] = price
        return price

    def _read(self, stage: Stage, rules: tuple[PairRule, ...]) -> list[tuple[Relation, View]]:
        """What the stage reads: what is NOW below it, and its own explicit facts."""
        factors = (one for rule in rules for factors in rule.factors.values() for one in factors)
        conditions = (one for rule in rules for conditions in rule.conditions.values() for one in conditions)
        below = {one.relation for one in factors} | {one.relation for one in conditions}
        found = [(self._relations[name], NOW) for name in sorted(below - stage.relations) if name in self._relations]
        own = [(self._relations[name], EXPLICIT) for name in sorted(stage.relations) if name in self._relations]
        return found + own

    def _shape(self, stage: Stage) -> tuple[PairRule, ...] | None:
        known = self._shapes.get(id(stage))
        if known is None or known[0] is not stage:
            known = self._shapes[id(stage)] = stage, pair_rules(stage)
        return known[1]


def _is_linear(stage: Stage, rules: Iterable[PairRule]) -> bool:
    """Whether a stage is recursive, and no rule of it has two facts of its own in its body."""
    own = ([one for some in rule.factors.values() for one in some if one.relation in stage.relations] for rule in rules)
    return stage.is_recursive and all(len(factors) < 2 for factors in own)


def _count_no_round() -> None:
    """The round has been counted."""
