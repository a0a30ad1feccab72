"""The fixpoint of rules over pairs, in bits.

What      : `Fixpoint.run` applies the rules of a stage round by round, and writes the new pairs of each round as rows.
Idea      : semi-naive evaluation as in maintenance/seminaive.py: the first round applies every rule to the explicit
            facts of the stage and to what is below; in later rounds one factor of a rule is what the last round found,
            and the others are all that is known. That an instance may be met from two of its factors costs nothing,
            because bits do not count; instances are counted once, over the result.
Invariant : the rounds, and the facts that each finds, are those of evaluation by rows. So facts are written in the
            order in which they were found, and what was derived early has short proofs (clause 5 of the store).
Cost      : a round looks at every row of the matrices that it joins. On long thin chains that is more than there is to
            find: `run` gives up when it has looked at more words than the facts found are worth.
Never     : nothing is stored here: rows wait behind those of their relation (`Relation.waiting`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tidelog.backends.local.bits import bit_kernels, count_kernels
from tidelog.backends.local.bits.matrices import DELTA, FRESH, KNOWN, Matrices, needs_product
from tidelog.backends.local.bits.round_counts import Ranks
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.interpreting import bounded
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.pair_rules import DIRECT, FIRST, SECOND, PairRule, X, Y, Z

_FUEL = 1 << 24
"""How many words a call looks at before the budget is asked: about 5 ms."""
_WORTH = 64
"""How many words a fact is worth that is found in bits: to derive and store one in rows takes as long (100 ns)."""
_READ_WORTH = 512
"""How many words may be looked at for each fact that the stage reads, before any result repays them."""
Variant = tuple[PairRule, tuple[int, int] | None, int]
"""A rule, and which of its factors drives it, if any."""


class Fixpoint:
    """One stage on its way to its fixpoint."""

    def __init__(
        self,
        rules: Sequence[PairRule],
        heads: Sequence[Relation],
        matrices: Matrices,
        ranks: Ranks | None = None,
        *,
        writes: bool,
    ) -> None:
        """`heads` are the relations of the stage; if it `writes`, rows wait there to be stored.

        With `ranks`, the round of each fact is noted.
        """
        self._rules, self._own, self.matrices = rules, {one.name: one for one in heads}, matrices
        self._writes, self._ranks = writes, ranks
        self._scratch = np.empty((3, matrices.width), np.uint64)
        self._vectors: dict[int, Array] = {}
        for rule in rules:
            stacked = [matrices.full, *(matrices.vector(rule.conditions[place]) for place in (X, Y, Z)), matrices.full]
            self._vectors[id(rule)] = np.stack(stacked)
        self.words = matrices.space.size
        """How many words were looked at."""
        self.facts = 0
        self.rounds = 0
        if ranks is not None:
            for name in self._own:
                ranks.note(matrices, name, matrices.base(name, KNOWN), 0)

    def run(self, ask_round: Callable[[], None], ask_budget: Callable[[], None], *, is_patient: bool) -> bool:
        """Derive round by round until nothing is new.

        Unless it `is_patient`, it gives up (False) when more words were looked at than the facts are worth.
        """
        recurring = list(self._driven())
        variants: list[Variant] = [(rule, None, -1) for rule in self._rules]
        credit = 2 * self.words + _READ_WORTH * self.matrices.facts
        while variants:
            ask_round()
            self.rounds += 1
            for variant in variants:
                self._apply(variant, ask_budget)
            new = {name: self._take(relation) for name, relation in self._own.items()}
            self.words += 2 * len(new) * self.matrices.size * self.matrices.width
            ask_budget()
            if not is_patient and self.words > credit + _WORTH * self.facts:
                return False
            variants = [one for one in recurring if new[one[0].factors[one[1]][one[2]].relation]]  # type: ignore[index]
        if self.rounds == 1 and self.facts:  # without recursion, facts found make a round
            ask_round()
        return True

    def instances(self, ask_budget: Callable[[], None]) -> Mapping[str, int]:
        """How many instances each rule has over the result, by its key."""
        found: dict[str, int] = {}
        degrees = np.empty(self.matrices.size, np.int64)
        for rule in self._rules:
            code, literals = self._code((rule, None, -1))
            total = np.zeros(1, np.int64)
            if code[bit_kernels.THROUGH] >= 0:
                bit_kernels.count_rows(self.matrices.space, code[bit_kernels.THROUGH], self.matrices.size, degrees)
            self._through(bit_kernels.count_instances, rule, code, literals, ask_budget, degrees, total)
            found[rule.rule.key] = found.get(rule.rule.key, 0) + int(total[0])
        return found

    def count(self, relation: Relation, base: int, stop: int, counts: Array, ask_budget: Callable[[], None]) -> None:
        """Add how many instances derive each pair (x, z) of a relation to `counts[x - base, round - 1, z]`."""
        assert self._ranks is not None
        for rule in (one for one in self._rules if one.rule.head.relation == relation.name):
            code, literals = self._code((rule, None, -1))
            vectors, ranked, row = self._vectors[id(rule)], self._ranks.ranked(rule), base
            while row < stop:
                row, _ = count_kernels.count_by_round(
                    self.matrices.space, vectors, code, literals, stop, row, bounded(_FUEL), self._scratch,
                    ranked, self._ranks.ranks, counts, base,
                )  # fmt: skip
                ask_budget()

    def changes(self) -> list[tuple[Relation, Array, Array]] | None:
        """For each relation the stored rows that come and go; None if facts are new for which no rows wait."""
        found = []
        for relation in self._own.values():
            coming, going, lacking = self.matrices.compared(relation)
            if lacking > relation.waiting:
                return None
            found.append((relation, coming, going))
        return found

    @property
    def rows(self) -> int:
        """How many rows were read, compared and written."""
        return self.matrices.read + sum(relation.count + 2 * relation.waiting for relation in self._own.values())

    def _driven(self) -> list[Variant]:
        """Every rule with each of its factors that are of the stage."""
        return [
            (rule, way, at)
            for rule in self._rules
            for way, factors in rule.factors.items()
            for at, factor in enumerate(factors)
            if factor.relation in self._own
        ]

    def _apply(self, variant: Variant, ask_budget: Callable[[], None]) -> None:
        code, literals = self._code(variant)
        self._through(bit_kernels.apply_rule, variant[0], code, literals, ask_budget)

    def _through(
        self,
        kernel: Callable[..., tuple[int, int]],
        rule: PairRule,
        code: Array,
        literals: Array,
        ask_budget: Callable[[], None],
        *more: Array,
    ) -> None:
        """Run a kernel over all rows, a part at a time."""
        matrices, row = self.matrices, 0
        vectors = self._vectors[id(rule)]
        while row < matrices.size:
            row, spent = kernel(
                matrices.space, vectors, code, literals, matrices.size, row, bounded(_FUEL), self._scratch, *more
            )
            self.words += spent
            ask_budget()

    def _take(self, relation: Relation) -> int:
        """Let what a round has found drive the next, and write it as rows; how many facts that are."""
        matrices = self.matrices
        every, delta, fresh = (matrices.base(relation.name, kind) for kind in (KNOWN, DELTA, FRESH))
        count = bit_kernels.take_new(matrices.space, matrices.size, every, delta, fresh)
        if count:
            self.facts += count
            matrices.flip(relation.name)
            if self._ranks is not None:
                self._ranks.note(matrices, relation.name, delta, self.rounds)
            if self._writes:
                matrices.write(relation, count)
        return int(count)

    def _code(self, variant: Variant) -> tuple[Array, Array]:
        """A variant as the kernels read it; what leads on from the middle is made one matrix first."""
        rule, way, at = variant
        matrices, factors, vectors = self.matrices, rule.factors, self._vectors[id(rule)]
        first, second, direct = (
            matrices.literals(factors[one], at if one == way else -1) for one in (FIRST, SECOND, DIRECT)
        )
        literals = np.array([*first, *direct, *second], np.int64).reshape(-1, 2)
        through, on_y = -1, 1 + Y
        if needs_product(rule):
            through = matrices.product
            bit_kernels.fill_conjunction(
                matrices.space, through, matrices.size, literals, len(first) + len(direct), len(literals),
                matrices.full, (Y, Z) in rule.apart,
            )  # fmt: skip
        elif second:
            through = second[0][0]
        if through >= 0:
            on_y = len(vectors) - 1
            bit_kernels.find_occupied(matrices.space, through, matrices.size, vectors[1 + Y], vectors[on_y])
        flags = (
            (bit_kernels.HAS_MIDDLE if rule.has_middle else 0)
            | (bit_kernels.IS_LOOP if rule.is_loop else 0)
            | (bit_kernels.X_NOT_Y if (X, Y) in rule.apart else 0)
            | (bit_kernels.X_NOT_Z if (X, Z) in rule.apart else 0)
            | (bit_kernels.NEEDS_MASK if direct or rule.is_loop or rule.conditions[Z] else 0)
        )
        head = rule.rule.head.relation
        ends = (0, len(first), through, len(first), len(first) + len(direct))
        bases = matrices.base(head, KNOWN), matrices.base(head, FRESH)
        return np.array([*bases, *ends, 1 + X, on_y, 1 + Z, flags], np.int64), literals
