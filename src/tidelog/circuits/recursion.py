"""Recursion in a circuit: a part of it that feeds itself, round by round within one moment.

What      : a `Scope` holds the wires inside; `Fixpoint` is the operator that runs them; `Given` is what it hands in.
Idea      : x = distinct(body(x)). What is wired in from outside arrives in the first round, what a round finds is fed
            to the next one, and the change of the whole is the sum over the rounds.
Source    : de Lima et al. 2024, Figure 2, with rounds of its own per moment.
Invariant : every operator inside is incremental in moments and in rounds, so a round costs what changes in it.

Over rows of negative weight a recursion need not end: `Limits(rounds=...)` stops it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.circuits import operators
from tidelog.circuits.operators import Operator
from tidelog.circuits.zset import LOOSE, SUMMED, ZSet
from tidelog.errors import UsageError

if TYPE_CHECKING:
    from tidelog.circuits.circuit import Circuit, Wire


class Scope:
    """The inside of a recursion."""

    def __init__(self) -> None:
        self.wires: list[Wire] = []
        self.introduced: dict[int, Wire] = {}


class Given(Operator):
    """Inside a recursion: what the recursion hands in."""

    word = "introduce"
    change: ZSet | None = None

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """What it was given."""
        return self.change if self.change is not None else self.nothing()


class Fixpoint(Operator):
    """x = distinct(body(x)), round by round; incremental because every operator inside knows its rounds."""

    word = "fixpoint"

    def __init__(self, circuit: Circuit, arity: int, scope: Scope, variable: Wire, result: Wire) -> None:
        super().__init__(circuit.dictionary, arity)
        self._circuit, self.scope, self.variable, self.result = circuit, scope, variable, result

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The sum over all rounds of this moment."""
        for wire, change in zip(self.scope.introduced.values(), changes):
            _given(wire).change = change
        variable, wires = _given(self.variable), self.scope.wires
        numbers = {id(wire): at for at, wire in enumerate(wires)}
        steps = [(wire.operator, [numbers[id(source)] for source in wire.sources]) for wire in wires]
        result, found_by_round = numbers[id(self.result)], list[ZSet]()
        variable.change, at = self.nothing(), 0
        while at == 0 or not variable.change.is_empty or any(operator.later for operator, _ in steps):
            self._circuit.budget.ask_round()
            found: list[ZSet] = []
            for operator, sources in steps:
                given = [found[source] for source in sources]
                is_idle = bool(given) and not operator.later and all(one.is_empty for one in given)
                found.append(operator.nothing() if is_idle else operator.step(given, at))
            if at == 0:
                for wire in self.scope.introduced.values():
                    _given(wire).change = None
            variable.change, at = found[result], at + 1
            found_by_round.append(found[result])
        return self._over_rounds(found_by_round)

    def _over_rounds(self, found: list[ZSet]) -> ZSet:
        """The sum over rounds.

        A row comes and goes in turn. So it is there once if everything comes, or everything goes.
        """
        rows, weights = ZSet.together(self.dictionary, self.arity, found).given
        is_summed = not len(weights) or weights.min() == weights.max()
        return ZSet(self.dictionary, rows, weights, SUMMED if is_summed else LOOSE)

    def _each(self, what: str) -> None:
        for wire in self.scope.wires:
            getattr(wire.operator, what)()

    def commit(self) -> None:
        """Commit every operator inside, or none."""
        done: list[Operator] = []
        try:
            for wire in self.scope.wires:
                wire.operator.commit()
                done.append(wire.operator)
        except UsageError:
            for operator in done:
                operator.take_back()
            raise

    def take_back(self) -> None:
        """Take back every operator inside."""
        self._each("take_back")

    def undo(self) -> None:
        """Undo every operator inside."""
        self._each("undo")

    def finish(self) -> None:
        """Finish every operator inside."""
        self._each("finish")

    @property
    def nbytes(self) -> int:
        """The memory of everything inside."""
        return sum(wire.operator.nbytes for wire in self.scope.wires)

    def stored(self) -> operators.Stored:
        """The states inside, each under its number."""
        states = enumerate(wire.operator.stored() for wire in self.scope.wires)
        return {f"{at}/{name}": array for at, state in states for name, array in state.items()}

    def load(self, stored: operators.Stored) -> None:
        """Give each its own."""
        for at, wire in enumerate(self.scope.wires):
            wire.operator.load({name.partition("/")[2]: a for name, a in stored.items() if name.startswith(f"{at}/")})


def _given(wire: Wire) -> Given:
    assert isinstance(wire.operator, Given)
    return wire.operator
