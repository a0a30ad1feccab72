"""A plan made ready for the join machine.

What      : translates a plan with its views into the machine's integers once, and runs it in bounded chunks.
Idea      : a plan is cut into segments at its arithmetic; the machine runs the joins of a segment, compiled column
            functions do the arithmetic on the table that comes out, and the next segment is driven by that table. A
            match whose arithmetic has no value is dropped there: it is no instance.
Invariant : addresses are refreshed whenever a relation's arrays may have moved; no table exceeds CHUNK rows.
Never     : no insertion of facts and no choice of plan.

Registers: 0 is the position of the driving row, then the slots, then the rows matched by each join, then constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from tidelog.backends.local.constants import functions
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.joins import machine, single_join
from tidelog.backends.local.joins.one_witness import note_returns
from tidelog.backends.local.joins.passes import Pass, Segment
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.relation import Relation
from tidelog.language.partial import UNDEFINED
from tidelog.planning.plan import (
    Absent,
    Apply,
    Bind,
    Column,
    Compute,
    Expression,
    Ignore,
    Join,
    Known,
    Literally,
    Plan,
    Slot,
    Step,
    Test,
    key_columns,
    needs_values,
)  # fmt: skip
from tidelog.planning.views import Matching, View

CHUNK, _LEAST_ROOM = 1 << 16, 1 << 12


class Executable:
    """One plan over given views, able to run any number of times."""

    def __init__(
        self,
        plan: Plan,
        matching: Matching,
        own: frozenset[str],
        relation_of: Callable[[str, int], Relation],
        dictionary: Dictionary,
    ) -> None:
        self.plan = plan
        self._matching = matching
        self.own = own
        self._relation_of = relation_of
        self._dictionary = dictionary
        self._constants: dict[Expression, int] = {}
        self.joins = [step for step in plan.steps if isinstance(step, Join)]
        self._join_at = {step.literal: at for at, step in enumerate(self.joins)}
        self._joined = [relation_of(join.relation, len(join.columns)) for join in self.joins]
        self._width = 1 + plan.slots + len(self.joins)
        self._segments = self._assemble()
        self._registers = np.zeros(self._width + len(self._constants), np.int64)
        for constant, register in self._constants.items():
            if isinstance(constant, Literally):
                self._registers[register] = dictionary.encode([constant.value])[0]
        self._head_is_plain = all(not isinstance(part, Apply) for part in plan.head)
        self._is_direct = len(self._segments) == 1 and not self._segments[0].arithmetic
        self._skips = self._is_direct and note_returns(plan, matching, self._segments[0].code, self._segments[0].starts)
        self._head = np.array([self._register(part) for part in plan.head if not isinstance(part, Apply)], np.int64)

    @property
    def is_simple(self) -> bool:
        """Whether the plan is one program for the machine that gives heads with columns, without arithmetic."""
        return self._is_direct and self._head_is_plain and len(self._head) > 0

    @property
    def relations(self) -> list[Relation]:
        """The relations that the plan looks into."""
        return [relation for segment in self._segments for _, relation, _ in segment.uses]

    @property
    def scans(self) -> set[str]:
        """The relations that the plan scans as a whole."""
        return {relation.name for segment in self._segments for _, relation in segment.scans}

    def pack(self) -> tuple[Array, Array, Array, Array, Array]:
        """The parts of a simple plan's program: loads, code, starts, registers and the registers of the head."""
        segment = self._segments[0]
        return segment.loads, segment.code, segment.starts, self._registers, self._head

    def move_to(self, code: Array) -> None:
        """From now on the program's code is kept here, where others can run it, too."""
        self._segments[0].code = code

    def note_sizes(self) -> None:
        """Write the sizes of the relations that the program scans into it."""
        for segment in self._segments:
            self._note_sizes(segment)

    def refresh(self) -> None:
        """Write the current addresses of arrays into the program."""
        list(map(self._refresh, self._segments))

    def is_futile(self) -> bool:
        """Whether an atom's relation is empty: then the rule has no instance, and no index should be made for it."""
        return any(not relation.count for relation in self._joined)

    def heads(self, driving: Array) -> Iterator[Array]:
        """The heads of all instances, in chunks; a head that several instances derive comes several times."""
        if self._head_is_plain:
            return self._chunks(driving, self._head, machine.UNLIMITED, every=False)
        return self._computed_heads(driving)

    def _computed_heads(self, driving: Array) -> Iterator[Array]:
        for table in self._chunks(driving, np.arange(self._width), machine.UNLIMITED, every=False):
            yield self._computed_head(table)[0]

    def _computed_head(self, table: Array) -> tuple[Array, Array]:
        """The heads of matches, and which of the matches have one: those whose computed columns all have a value."""
        heads = _stacked([self._evaluate(part, table) for part in self.plan.head], len(table))
        has_values = np.all(heads != functions.NO_VALUE, axis=1)
        return (heads, has_values) if has_values.all() else (heads[has_values], has_values)

    def bodies(self, driving: Array, joins: Sequence[int], limit: int) -> Iterator[Array]:
        """For each instance the position of its driving row and the rows matched by the given joins."""
        rows = [1 + self.plan.slots + join for join in joins]
        return self._chunks(driving, np.array([0, *rows]), limit if len(self._segments) == 1 else machine.UNLIMITED)

    @cached_property
    def at_home(self) -> list[str]:
        """The relations of the stage's own that are joined, in the order of the joins."""
        return [join.relation for join in self.joins if join.relation in self.own]

    @cached_property
    def _of_instances(self) -> Array:
        """The registers of the driving row, of the rows of the stage's own that are joined, and of a plain head."""
        rows = [1 + self.plan.slots + at for at, join in enumerate(self.joins) if join.relation in self.own]
        return np.array([0, *rows, *(self._head if self._head_is_plain else ())], np.int64)

    def instances(self, driving: Array) -> Iterator[tuple[Array, Array]]:
        """For each instance its head; and a table that begins with its driving row and the rows of joins `at_home`."""
        if self._head_is_plain:
            for table in self._chunks(driving, self._of_instances, machine.UNLIMITED):
                yield np.ascontiguousarray(table[:, 1 + len(self.at_home) :]), table
            return
        for table in self._chunks(driving, np.arange(self._width), machine.UNLIMITED):
            heads, has_values = self._computed_head(table)
            yield heads, np.ascontiguousarray(table[has_values][:, self._of_instances])

    # -- running ---------------------------------------------------------------------------------------------------

    def _chunks(self, driving: Array, chosen: Array, limit: int, *, every: bool = True) -> Iterator[Array]:
        """The chosen registers of all matches; if not of `every` one, without some that give the same head."""
        if self._is_direct:
            return self._machine(self._segments[0], driving, chosen, limit, every=every)
        return self._run(0, driving, chosen, limit)

    def _run(self, number: int, driving: Array, chosen: Array, limit: int) -> Iterator[Array]:
        """Run one segment, and for each of its tables the segments after it."""
        segment = self._segments[number]
        is_last = number == len(self._segments) - 1
        direct = is_last and not segment.arithmetic
        wanted = chosen if direct else np.arange(self._width, dtype=np.int64)
        for table in self._machine(segment, driving, wanted, limit if direct else machine.UNLIMITED):
            if direct:
                yield table
                continue
            passed = self._arithmetic(segment.arithmetic, table)
            if is_last or not len(passed):  # an empty table is passed on, too, so that the budget is asked
                yield _stacked([self._column(passed, register) for register in chosen], len(passed))
            else:
                yield from self._run(number + 1, passed, chosen, limit)

    def _machine(
        self, segment: Segment, driving: Array, chosen: Array, limit: int, *, every: bool = True
    ) -> Iterator[Array]:
        one = self._pass(segment, driving, chosen, limit, every=every)
        room = min(CHUNK, max(_LEAST_ROOM, 4 * len(driving)))
        while not one.is_done:
            self._refresh(segment)
            yield one.fill(np.empty((room, len(chosen)), np.int32))
            room = CHUNK

    def _pass(self, segment: Segment, driving: Array, chosen: Array, limit: int, *, every: bool) -> Pass:
        self._note_sizes(segment)
        return Pass(segment, driving, self._registers.copy(), chosen, limit, every=every, skips=self._skips)

    def pass_for_heads(self, driving: Array) -> Pass:
        """The pass of a simple plan that gives the heads of all instances; `refresh` before each of its tables."""
        self.refresh()
        return self._pass(self._segments[0], driving, self._head, machine.UNLIMITED, every=False)

    @property
    def scanned(self) -> int:
        """How many rows the first step of a simple plan scans, if it scans all of them; else 0."""
        return self._segments[0].scanned if self.plan.relation is None else 0

    def _note_sizes(self, segment: Segment) -> None:
        for at, relation in segment.scans:
            segment.code[at + machine.COUNT] = relation.count

    def _refresh(self, segment: Segment) -> None:
        epoch = 0
        for use in segment.uses:
            epoch += use[1].epoch
        while epoch != segment.epoch:  # making an index moves arrays, and may let an update pass that moves others
            for at, relation, columns in segment.uses:
                self._point(segment.code, at, relation, columns)
            segment.epoch, epoch = epoch, sum(relation.epoch for _, relation, _ in segment.uses)

    def _point(self, code: Array, at: int, relation: Relation, columns: tuple[int, ...]) -> None:
        if columns and len(columns) < relation.rows.shape[1]:
            index = relation.index(columns)
            code[at + machine.SLOTS] = index.slots.ctypes.data
            code[at + machine.ROOM] = len(index.slots) - 1
            code[at + machine.LINKS] = index.links.ctypes.data
        else:
            code[at + machine.SLOTS] = relation.slots.ctypes.data
            code[at + machine.ROOM] = len(relation.slots) - 1
        code[at + machine.ROWS] = relation.rows.ctypes.data
        code[at + machine.MARKS] = relation.marks.ctypes.data

    def _arithmetic(self, operations: Sequence[Test | Compute], table: Array) -> Array:
        for operation in operations:
            if not len(table):
                return table
            match operation:
                case Test(op, Apply(function, arguments), _) if op == UNDEFINED and function in functions.ARITHMETIC:
                    columns = [self._evaluate(argument, table) for argument in arguments]
                    table = table[functions.lacks_value(self._dictionary, function, columns)]
                case Test(op, left, right):
                    one, other = self._evaluate(left, table), self._evaluate(right, table)
                    table = table[functions.compare(self._dictionary, op, one, other)]
                case Compute(slot, expression):
                    values = self._evaluate(expression, table)
                    table[:, 1 + slot.number] = values
                    has_value = values != functions.NO_VALUE
                    table = table if has_value.all() else table[has_value]
        return np.ascontiguousarray(table)

    def _evaluate(self, expression: Expression, table: Array) -> Array:
        if isinstance(expression, Apply):
            columns = [self._evaluate(argument, table) for argument in expression.arguments]
            return functions.apply(self._dictionary, expression.function, columns)
        return self._column(table, self._register(expression))

    def _column(self, table: Array, register: int) -> Array:
        """A register as a column: part of the table, or a constant repeated."""
        if register < self._width:
            return np.ascontiguousarray(table[:, register])
        return np.full(len(table), self._registers[register], np.int32)

    # -- translation -----------------------------------------------------------------------------------------------

    def _assemble(self) -> list[Segment]:
        segments = [Segment()]
        for step in self.plan.steps:
            if needs_values(step):
                segments[-1].arithmetic.append(step)  # type: ignore[arg-type]
                continue
            if segments[-1].arithmetic:
                segments.append(Segment())
            segments[-1].steps.append(step)
        for expression in self.plan.head:
            self._constant_registers(expression)
        for number, segment in enumerate(segments):
            self._translate(segment, is_first=number == 0)
        return segments

    def _translate(self, segment: Segment, *, is_first: bool) -> None:
        if is_first:
            segment.loads = self._driver_loads()
        else:
            every = np.arange(self._width)
            segment.loads = np.column_stack([every, every, np.full(self._width, machine.BIND)]).astype(np.int64)
        for operation in segment.arithmetic:
            match operation:
                case Test(_, left, right):
                    self._constant_registers(left)
                    self._constant_registers(right)
                case Compute(_, expression):
                    self._constant_registers(expression)
        code: list[int] = []
        starts: list[int] = []
        for step in segment.steps:
            for block in self._blocks(step, segment, len(code)):
                starts.append(len(code))
                code.extend(block)
        segment.code = np.array(code, np.int64)
        segment.starts = np.array(starts, np.int64)
        segment.column = single_join.looked_up_column(segment.loads, segment.code, segment.starts)

    def _driver_loads(self) -> Array:
        loads = []
        for position, column in enumerate(self.plan.columns):
            match column:
                case Known(source):
                    loads.append((position, self._register(source), machine.CHECK))
                case Bind(slot):
                    loads.append((position, 1 + slot.number, machine.BIND))
                case Ignore():
                    continue
                case _:
                    loads.append((position, 1 + column.slot.number, machine.CHECK))
        loads.sort(key=lambda load: load[1] < self._width)  # constants first: most rows that do not fit differ there
        return np.array(loads, np.int64).reshape(-1, 3)

    def _blocks(self, step: Step, segment: Segment, at: int) -> Iterator[list[int]]:
        match step:
            case Join(relation, columns, literal, is_before):
                view = self._matching.view(is_before=is_before, is_lower=relation not in self.own)
                register = 1 + self.plan.slots + self._join_at[literal]
                yield self._atom(relation, columns, view, segment, at, register)
            case Absent(relation, columns, _, is_before):
                for view in self._matching.absent(is_before=is_before):
                    block = self._atom(relation, columns, view, segment, at, -1)
                    block[machine.OPERATION] += machine.ABSENT_SCAN
                    at += len(block)
                    yield block
            case Test(op, left, right):
                operation = machine.EQUAL if op == "=" else machine.DIFFERENT
                yield simple_block(operation, self._register(left), self._register(right))
            case Compute(slot, expression):
                yield simple_block(machine.COPY, 1 + slot.number, self._register(expression))

    def _atom(
        self, name: str, columns: tuple[Column, ...], view: View, segment: Segment, at: int, register: int
    ) -> list[int]:
        relation = self._relation_of(name, len(columns))
        keys = key_columns(columns)
        if not keys:
            operation = machine.SCAN
            segment.scans.append((at, relation))
        elif len(keys) == relation.rows.shape[1]:
            operation = machine.WHOLE
        else:
            operation = machine.CHAIN_ONE if len(keys) == 1 else machine.CHAIN_MORE
        segment.uses.append((at, relation, keys))
        pairs: list[int] = []
        actions: list[int] = []
        for position, column in enumerate(columns):
            match column:
                case Known(source):
                    pairs.extend((position, self._register(source)))
                case Ignore():
                    continue
                case _:
                    kind = machine.BIND if isinstance(column, Bind) else machine.CHECK
                    actions.extend((position, 1 + column.slot.number, kind))
        block = [0] * machine.DETAILS
        block[machine.OPERATION] = operation
        block[machine.ARITY] = relation.rows.shape[1]
        block[machine.CARE], block[machine.WANT] = view.care, view.want
        block[machine.ROW_REGISTER] = register
        block[machine.KEY_PAIRS], block[machine.ACTIONS] = len(pairs) // 2, len(actions) // 3
        return block + pairs + actions

    def _register(self, source: Expression) -> int:
        if isinstance(source, Slot):
            return 1 + source.number
        assert isinstance(source, Literally)
        return self._constants.setdefault(source, self._width + len(self._constants))

    def _constant_registers(self, expression: Expression) -> None:
        """Give every constant of an expression a register before the registers are made."""
        match expression:
            case Literally():
                self._register(expression)
            case Apply(_, arguments):
                for argument in arguments:
                    self._constant_registers(argument)


def _stacked(columns: Sequence[Array], rows: int) -> Array:
    """Columns as a table, which may have no columns."""
    return np.column_stack(columns).astype(np.int32, copy=False) if columns else np.empty((rows, 0), np.int32)


def simple_block(operation: int, *details: int) -> list[int]:
    """A step that looks into no relation."""
    block = [0] * machine.DETAILS
    block[machine.OPERATION] = operation
    return [*block, *details]
