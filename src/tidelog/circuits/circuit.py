"""Circuits: operators wired together, and fed one change after the other.

What      : a `Circuit` has inputs and outputs; a `Wire` is a stream of changes on its way, with a method for each
            operator.
Idea      : a program is written once, over tables, and runs over changes: what is pushed is a change of the inputs,
            what comes back is the change of the outputs.
Source    : de Lima et al. 2024, section 4 (DBSP).
Invariant : one push at a time, whichever thread it comes from. After every push the sum of an output is the circuit's
            function of the sums of its inputs. A push that fails changes nothing.
Never     : no facts and rules of an engine: a circuit stands alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from threading import RLock
from typing import TYPE_CHECKING

import pyarrow as pa

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.circuits import operators
from tidelog.circuits.groups import Aggregate
from tidelog.circuits.keeping import Distinct, Join
from tidelog.circuits.operators import Operator
from tidelog.circuits.recursion import Fixpoint, Given, Scope
from tidelog.circuits.windows import LastMoments, TimeWindow
from tidelog.circuits.zset import ZSet
from tidelog.errors import UsageError
from tidelog.language.terms import Value
from tidelog.limits import Budget, Limits

if TYPE_CHECKING:
    from typing import Self


class Wire:
    """A stream of changes with a fixed number of columns, counted from 0."""

    def __init__(self, circuit: Circuit, operator: Operator, sources: Sequence[Wire], scope: Scope | None) -> None:
        self._circuit, self.operator, self.sources, self.scope = circuit, operator, tuple(sources), scope
        self._readers: list[Operator | None] = []
        for source in sources:
            source.read_by(operator)

    def read_by(self, reader: Operator | None) -> None:
        """Note who reads it: nobody builds columns of a join that its only reader leaves out."""
        self._readers.append(reader)
        if isinstance(self.operator, Join):
            selects = [one for one in self._readers if isinstance(one, operators.Select)]
            is_only = len(self._readers) == len(selects) == 1
            for one in selects:
                one.is_done = is_only
            self.operator.give(selects[0].columns if is_only else None)

    @property
    def arity(self) -> int:
        """The number of columns."""
        return self.operator.arity

    def __add__(self, other: Wire) -> Wire:
        """Both streams: weights add up."""
        self._same_width(other)
        return self._circuit.wire(operators.Plus(self._words, self.arity), self, other)

    def __neg__(self) -> Wire:
        return self._circuit.wire(operators.Minus(self._words, self.arity), self)

    def __sub__(self, other: Wire) -> Wire:
        return self + -other

    def select(self, *columns: int) -> Wire:
        """Some columns, in this order; weights of rows that become equal add up."""
        self._check(columns)
        return self._circuit.wire(operators.Select(self._words, columns), self)

    def map(self, arity: int, function: Callable[[pa.Table], object]) -> Wire:
        """A function of every row: it is given an Arrow table with columns c1, c2, ... and returns columns."""
        return self._circuit.wire(operators.Map(self._words, arity, function), self)

    def filter(self, condition: Callable[[pa.Table], object]) -> Wire:
        """The rows for which a condition on columns c1, c2, ... is true."""
        return self._circuit.wire(operators.Filter(self._words, self.arity, condition), self)

    def where(self, column: int, value: Value) -> Wire:
        """The rows that have this very value in a column."""
        self._check([column])
        return self._circuit.wire(operators.Where(self._words, self.arity, column, value), self)

    def join(self, other: Wire, on: Sequence[tuple[int, int]]) -> Wire:
        """Rows of both that agree in pairs of columns: the columns of this one, then those of the other."""
        self._check([left for left, _ in on])
        other._check([right for _, right in on])
        return self._circuit.wire(Join(self._words, (self.arity, other.arity), on), self, other)

    def distinct(self) -> Wire:
        """Every row of positive weight, once."""
        return self._circuit.wire(Distinct(self._words, self.arity), self)

    def aggregate(self, function: str, column: int = 0, by: Sequence[int] = ()) -> Wire:
        """One row for each group: its columns `by`, then the `count`, `sum`, `mean`, `min`, `max` or `median`."""
        self._check([*by, column])
        return self._once(Aggregate(self._words, self.arity, by, function, column))

    def window(self, moments: int | None = None, *, column: int = 0, width: float | None = None) -> Wire:
        """What came in the last `moments` pushes, or rows whose time in a column is within `width` of the newest."""
        if (moments is None) == (width is None) or (moments is not None and moments < 1):
            raise UsageError.of("E875", "a window needs a number of moments, or a width", remedy="give one of them")
        if moments is not None:
            return self._once(LastMoments(self._words, self.arity, moments))
        assert width is not None
        self._check([column])
        return self._once(TimeWindow(self._words, self.arity, column, width))

    def delay(self) -> Wire:
        """What came one moment earlier."""
        return self._once(operators.Delay(self._words, self.arity))

    def integrate(self) -> Wire:
        """The sum of everything so far, as a whole in every moment."""
        return self._once(operators.Integrate(self._words, self.arity))

    def differentiate(self) -> Wire:
        """What came now less what came one moment earlier: the inverse of `integrate`."""
        return self._once(operators.Differentiate(self._words, self.arity))

    def lift(self, arity: int, function: Callable[..., ZSet], *others: Wire) -> Wire:
        """Any function of whole Z-sets, moment by moment."""
        return self._once(operators.Lift(self._words, arity, function), *others)

    @property
    def _words(self) -> Dictionary:
        return self._circuit.dictionary

    def _once(self, operator: Operator, *others: Wire) -> Wire:
        """An operator that knows moments and no rounds."""
        if any(wire.scope is not None for wire in (self, *others)):
            raise UsageError.of(
                "E872",
                f"{operator.word} inside a recursion",
                remedy="put it outside; inside, use select, where, map, filter, join, distinct, + and -",
            )
        return self._circuit.wire(operator, self, *others)

    def _same_width(self, other: Wire) -> None:
        if self.arity != other.arity:
            raise UsageError.of(
                "E870",
                f"streams of {self.arity} and {other.arity} columns do not add up",
                remedy="select as many of both",
            )

    def _check(self, columns: Sequence[int]) -> None:
        for column in columns:
            if not 0 <= column < self.arity:
                raise UsageError.of(
                    "E870", f"there is no column {column} of {self.arity}", remedy="columns count from 0"
                )


class Circuit:
    """Inputs, operators and outputs."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.dictionary = Dictionary()
        self.limits = limits or Limits()
        self.budget = Budget(self.limits)
        self.wires: list[Wire] = []
        self.inputs: dict[str, Wire] = {}
        self.outputs: dict[str, Wire] = {}
        self.moment = 0
        """How many changes have been pushed."""
        self._is_broken = self._is_open = False
        """Whether a moment is half committed, and whether one has left something that is to be forgotten."""
        self._turn = RLock()

    def input(self, name: str, arity: int) -> Wire:
        """A stream of changes that is pushed under this name."""
        self._fresh_name(name)
        self.inputs[name] = self.wire(operators.Input(self.dictionary, arity, name))
        return self.inputs[name]

    def output(self, name: str, wire: Wire) -> None:
        """The changes of a wire are answered under this name."""
        self._fresh_name(name)
        if wire.scope is not None:
            raise UsageError.of("E872", f"output {name} is inside a recursion", remedy="give out the recursion itself")
        wire.read_by(None)
        self.outputs[name] = wire

    def fixpoint(self, arity: int, body: Callable[[Wire], Wire]) -> Wire:
        """The least table x that is equal to the distinct rows of `body(x)`."""
        scope = Scope()
        variable = self.wire(Given(self.dictionary, arity, "x"), scope=scope)
        made = body(variable)
        if made.scope is None:
            made = self._introduced(made, scope)
        made._same_width(variable)
        result = made.distinct()
        outside = list(scope.introduced.values())
        operator = Fixpoint(self, arity, scope, variable, result)
        return self.wire(operator, *[wire.sources[0] for wire in outside], keep=outside)

    def wire(self, operator: Operator, *sources: Wire, scope: Scope | None = None, keep: Sequence[Wire] = ()) -> Wire:
        """Put an operator behind some wires."""
        if any(source._circuit is not self for source in sources):
            raise UsageError.of("E872", "wires of two circuits meet", remedy="build one circuit with both inputs")
        inside = {id(source.scope): source.scope for source in sources if source.scope is not None}
        if len(inside) > 1:
            raise UsageError.of("E872", "a recursion inside another one", remedy="make one of both with more columns")
        scope = next(iter(inside.values()), scope)
        if scope is not None:
            sources = tuple(one if one.scope is not None else self._introduced(one, scope) for one in sources)
        made = Wire(self, operator, sources, scope)
        for wire in keep:
            wire.sources = ()  # from now on the recursion feeds it
        (self.wires if scope is None else scope.wires).append(made)
        return made

    def push(self, **changes: object) -> Mapping[str, ZSet]:
        """Push changes of inputs, and take the changes of all outputs.

        A change is a Z-set (see `change`), or rows from anywhere, which are inserted.
        """
        with self._turn:
            return self._pushed(changes)

    def _pushed(self, changes: Mapping[str, object]) -> Mapping[str, ZSet]:
        self._refuse_if_broken()
        if self._is_open:
            self._undo()
        self.budget = Budget(self.limits)
        given = {name: self._given_change(name, change) for name, change in changes.items()}
        for name, wire in self.inputs.items():
            assert isinstance(wire.operator, operators.Input)
            wire.operator.given = given.get(name)
        committed: list[Operator] = []
        found: dict[int, ZSet] = {}
        self._is_open = True
        try:
            for wire in self.wires:
                self.budget.ask_time()
                found[id(wire)] = wire.operator.step([found[id(source)] for source in wire.sources], 0)
            for wire in self.outputs.values():
                found[id(wire)].settle()  # while a weight that does not fit can still be refused
            if self.limits.bytes is not None:
                self.budget.ask_bytes(self.nbytes)
            self._is_broken = True  # from here on an interrupt leaves some operators before and some after the moment
            for wire in self.wires:
                wire.operator.commit()
                committed.append(wire.operator)
        except BaseException as error:
            if isinstance(error, Exception):
                for operator in committed:
                    operator.take_back()
                self._is_broken = False
            self._undo()
            raise
        for wire in self.wires:
            wire.operator.finish()
        self.__dict__.update(moment=self.moment + 1, _is_broken=False, _is_open=False)
        return {name: found[id(wire)] for name, wire in self.outputs.items()}

    def _undo(self) -> None:
        """Forget what a moment that failed has left; if an interrupt stops this, the next push does it first."""
        for wire in self.wires:
            wire.operator.undo()
        self._is_open = False

    def _refuse_if_broken(self) -> None:
        if self._is_broken:
            raise UsageError.of(
                "E876", "an interrupt left the circuit half changed", remedy="open its last saved state"
            )

    def change(self, name: str, insert: object = (), delete: object = ()) -> ZSet:
        """The change of an input that inserts some rows and deletes others."""
        arity = self._input(name).arity
        with self._turn:  # constants get numbers
            come = ZSet.of(self.dictionary, insert, 1, arity=arity, name=name)
            return come + ZSet.of(self.dictionary, delete, -1, arity=arity, name=name)

    @property
    def nbytes(self) -> int:
        """The memory that the state takes, constants included."""
        return sum(wire.operator.nbytes for wire in self.wires) + self.dictionary.nbytes

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the state of all operators into a folder; what was there is replaced in one step."""
        from tidelog.circuits.saving import save

        with self._turn:
            self._refuse_if_broken()
            save(self, folder)

    def open(self, folder: str | PathLike[str]) -> Self:
        """Take over the state that a circuit of the same build has saved."""
        from tidelog.circuits.saving import load

        with self._turn:
            take_over = load(self, folder)
            self._is_broken = True  # until all of it is there: an interrupt may fall anywhere
            take_over()
            self._is_broken = False
        return self

    def draw(self) -> str:
        """The circuit as a Mermaid diagram."""
        from tidelog.circuits.drawing import mermaid

        return mermaid(self)

    def to_svg(self) -> str:
        """The circuit as a picture."""
        from tidelog.circuits.drawing import svg

        return svg(self)

    def _introduced(self, wire: Wire, scope: Scope) -> Wire:
        """A wire from outside, inside a recursion."""
        known = scope.introduced.get(id(wire))
        if known is None:
            known = Wire(self, Given(self.dictionary, wire.arity), (wire,), scope)
            scope.introduced[id(wire)] = known
            scope.wires.append(known)
        return known

    def _input(self, name: str) -> Wire:
        if name not in self.inputs:
            names = ", ".join(sorted(self.inputs)) or "none"
            raise UsageError.of("E871", f"the circuit has no input {name}", remedy=f"its inputs: {names}")
        return self.inputs[name]

    def _given_change(self, name: str, change: object) -> ZSet:
        if not isinstance(change, ZSet):
            return self.change(name, insert=change)
        if change.dictionary is not self.dictionary or change.arity != self._input(name).arity:
            raise UsageError.of("E870", f"the change of {name} is not of this circuit", remedy="make it with `change`")
        return change

    def _fresh_name(self, name: str) -> None:
        if name in self.inputs or name in self.outputs:
            raise UsageError.of("E871", f"there are two wires called {name}", remedy="choose another name")
