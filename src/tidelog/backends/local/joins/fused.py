"""A plan with arithmetic as one program for the join machine.

What      : `Fused` is an executable whose arithmetic is done by steps of the machine, so that it can be part of a
            bundle; `is_fusable` says of which plans that can be made.
Idea      : few facts that drive a rule with arithmetic cost more between kernels than in them. Most such arithmetic is
            that of numbers, which the machine can do by itself. Where it cannot (no value, a result beyond 64 bits, no
            room for a new constant) it is stuck, and the bundle leaves the driving rows to the plain executable.
Invariant : a run that is not stuck gives the heads of the plain executable, each as often.
Never     : run by itself: bundle.py does that, and holds the latch of the dictionary meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tidelog.backends.local.constants import single_values
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.functions import ARITHMETIC
from tidelog.backends.local.joins import machine
from tidelog.backends.local.joins.executable import Executable, simple_block
from tidelog.backends.local.joins.passes import Segment
from tidelog.backends.local.relations.relation import Relation
from tidelog.language.partial import ALL, UNDEFINED
from tidelog.planning.plan import Apply, Compute, Expression, Plan, Step, Test, needs_values
from tidelog.planning.views import Matching

_ORDERS = {"<": 0b001, "<=": 0b011, ">": 0b100, ">=": 0b110}
_EQUALITY = {"=": machine.EQUAL, "!=": machine.DIFFERENT}


def is_fusable(plan: Plan) -> bool:
    """Whether the machine can do all arithmetic of a plan, and its head has columns."""
    expressions: list[Expression] = list(plan.head)
    for step in plan.steps:
        match step:
            case Test(op, left, _) if op == UNDEFINED:
                expressions += _wanted(left)
            case Test(op, left, right):
                if op not in _ORDERS and op not in _EQUALITY:
                    return False
                expressions += left, right
            case Compute(_, expression):
                expressions.append(expression)
    return bool(plan.head) and all(map(_is_known, expressions))


def _wanted(expression: Expression) -> tuple[Expression, ...]:
    """The values of which a test asks whether one is missing."""
    return expression.arguments if isinstance(expression, Apply) and expression.function == ALL else (expression,)


def _is_known(expression: Expression) -> bool:
    if not isinstance(expression, Apply):
        return True
    return expression.function in ARITHMETIC and all(map(_is_known, expression.arguments))


class Fused(Executable):
    """A plan with arithmetic, in one segment; `alone` is the plain executable of the plan."""

    def __init__(
        self,
        alone: Executable,
        matching: Matching,
        relation_of: Callable[[str, int], Relation],
        dictionary: Dictionary,
    ) -> None:
        self._places: list[int] = []
        super().__init__(alone.plan, matching, alone.own, relation_of, dictionary)
        self.alone = alone
        self._head = np.array([self._register(part) for part in self.plan.head], np.int64)

    @property
    def dictionary(self) -> Dictionary:
        """Where new constants are added."""
        return self._dictionary

    @property
    def computes(self) -> int:
        """How many steps look at values."""
        return len(self._places)

    def note_constants(self) -> None:
        """Write the current addresses of the dictionary's arrays into the program."""
        d, numbers = self._dictionary, [0] * single_values.ARRAYS
        numbers[single_values.KINDS], numbers[single_values.PAYLOADS] = d.kinds.ctypes.data, d.payloads.ctypes.data
        numbers[single_values.TABLE], numbers[single_values.ROOM] = d.scalar_table.ctypes.data, len(d.scalar_table) - 1
        numbers[single_values.COUNTERS], numbers[single_values.CAPACITY] = d.counters.ctypes.data, len(d.kinds)
        numbers[single_values.HEAP], numbers[single_values.OFFSETS] = d.heap.ctypes.data, d.offsets.ctypes.data
        for place in self._places:
            start = place + machine.DETAILS + machine.ARRAYS
            self._segments[0].code[start : start + len(numbers)] = numbers

    def _assemble(self) -> list[Segment]:
        segment = Segment(steps=list(self.plan.steps))
        self._translate(segment, is_first=True)
        code, starts = segment.code.tolist(), segment.starts.tolist()
        for part in self.plan.head:
            self._register(part)  # that of a constant, too, before the registers are made
            for block in self._calculated(part, len(code)):
                starts.append(len(code))
                code.extend(block)
        segment.code, segment.starts = np.array(code, np.int64), np.array(starts, np.int64)
        return [segment]

    def _blocks(self, step: Step, segment: Segment, at: int) -> Iterator[list[int]]:
        if not needs_values(step):
            yield from super()._blocks(step, segment, at)
            return
        match step:
            case Compute(slot, expression):
                for block in self._calculated(expression, at):
                    at += len(block)
                    yield block
                yield simple_block(machine.COPY, 1 + slot.number, self._register(expression))
            case Test(op, left, right):
                for side in _wanted(left) if op == UNDEFINED else (left, right):
                    for block in self._calculated(side, at):
                        at += len(block)
                        yield block
                if op == UNDEFINED:  # here all values are there; what lacks one has ended before
                    yield simple_block(machine.DIFFERENT, 0, 0)
                elif op in _EQUALITY:
                    yield simple_block(_EQUALITY[op], self._register(left), self._register(right))
                else:
                    yield self._calculation(machine.ORDERED, _ORDERS[op], (left, right), 0, at)

    def _calculated(self, expression: Expression, at: int) -> Iterator[list[int]]:
        """The blocks that compute an expression into its register."""
        if isinstance(expression, Apply):
            for argument in expression.arguments:
                for block in self._calculated(argument, at):
                    at += len(block)
                    yield block
            target, function = self._register(expression), ARITHMETIC[expression.function]
            yield self._calculation(machine.COMPUTED, target, expression.arguments, function, at)

    def _calculation(
        self, operation: int, target: int, arguments: tuple[Expression, ...], function: int, at: int
    ) -> list[int]:
        self._places.append(at)
        block = simple_block(operation, *(target, *map(self._register, arguments), function))
        return block + [0] * single_values.ARRAYS

    def _register(self, source: Expression) -> int:
        """As for other executables; an expression has a register of its own, as a constant has."""
        if isinstance(source, Apply):
            return self._constants.setdefault(source, self._width + len(self._constants))
        return super()._register(source)


def plain(executable: Executable) -> Executable:
    """The executable that can do everything."""
    return executable.alone if isinstance(executable, Fused) else executable
