"""Join plans: a rule as steps over numbered slots.

What      : a plan starts from driving facts (of a body literal, of the head, or none) and runs through its steps;
            every backend executes the same plan.
Invariant : a step uses only slots that the driver or an earlier step has filled. `is_before` of a step says whether its
            literal stands before the driving one in the rule; the view that it is matched in depends on that
            (`Matching` in views.py).
Never     : no data, no encoded constants; a backend translates.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidelog.language.terms import Value
from tidelog.planning.lowered import LoweredRule


@dataclass(frozen=True, slots=True)
class Slot:
    """The value of a variable, by number."""

    number: int


@dataclass(frozen=True, slots=True)
class Literally:
    """A constant."""

    value: Value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literally) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value).__name__, self.value))


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of expressions."""

    function: str
    arguments: tuple[Expression, ...]


Expression = Slot | Literally | Apply


@dataclass(frozen=True, slots=True)
class Known:
    """A column whose value is known before the step: part of the key."""

    source: Slot | Literally


@dataclass(frozen=True, slots=True)
class Bind:
    """A column that fills a slot."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class Same:
    """A column equal to a slot that an earlier column of the same atom fills."""

    slot: Slot


@dataclass(frozen=True, slots=True)
class Ignore:
    """A column whose value does not matter."""


Column = Known | Bind | Same | Ignore


@dataclass(frozen=True, slots=True)
class Join:
    """Match an atom: every fact that fits continues the plan."""

    relation: str
    columns: tuple[Column, ...]
    literal: int
    is_before: bool


@dataclass(frozen=True, slots=True)
class Absent:
    """Continue only if no fact fits a negated atom."""

    relation: str
    columns: tuple[Column, ...]
    literal: int
    is_before: bool


@dataclass(frozen=True, slots=True)
class Test:
    """Continue only if a comparison holds."""

    op: str
    left: Expression
    right: Expression
    literal: int | None = None


@dataclass(frozen=True, slots=True)
class Compute:
    """Fill a slot with the value of an expression."""

    slot: Slot
    expression: Expression
    literal: int | None = None


Step = Join | Absent | Test | Compute


NOWHERE = -2
"""Nothing is left out: try the next candidate of the step before."""


class Driver(Enum):
    """What a plan starts from."""

    NOTHING = "all instances"
    LITERAL = "facts of a body literal"
    HEAD = "facts of the head"


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to enumerate instances of a rule.

    `columns` says how a driving fact fills slots (empty without a driver); Known columns of it are tests.
    `head` computes the head's values from slots.
    """

    rule: LoweredRule
    driver: Driver
    literal: int | None
    relation: str | None
    columns: tuple[Column, ...]
    steps: tuple[Step, ...]
    head: tuple[Expression, ...]
    slots: int
    returns: tuple[int, ...] = ()
    """For each step, and for the end, the step to go back to when a match was found there, because others would differ
    in nothing that the head keeps; -1 is the driver, NOWHERE the usual way, one step back. Who wants every instance
    takes no notice."""


def key_columns(columns: tuple[Column, ...]) -> tuple[int, ...]:
    """The positions of the known columns: the index that a join or an absence test needs."""
    return tuple(position for position, column in enumerate(columns) if isinstance(column, Known))


def needs_values(step: Step) -> bool:
    """Whether a step needs the values behind ids; equality of constants does not."""
    match step:
        case Test(op, left, right):
            return op not in ("=", "!=") or isinstance(left, Apply) or isinstance(right, Apply)
        case Compute(_, expression):
            return isinstance(expression, Apply)
        case _:
            return False
