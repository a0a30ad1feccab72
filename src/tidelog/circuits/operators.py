"""The operators of a circuit, each on changes.

What      : an `Operator` takes the changes of its inputs in one moment, and gives the change of its output.
Idea      : every operator Q over tables has a form Q' over changes with Q' = D . Q . I, where I adds a stream up and D
            is its inverse. For a linear Q this is Q itself. Joins and `distinct`, which are not linear, keep what came
            (keeping.py); of aggregates only the groups that a change touches are looked at (groups.py).
Source    : Budiu et al., DBSP; de Lima et al. 2024, section 4.
Invariant : what a moment adds to an operator's state waits in its `new` part until `commit`: a moment that fails leaves
            nothing behind.
Rounds    : inside a recursion a change belongs to a round as well as to a moment. Two rows of rounds p and q meet in
            round max(p, q); those that wait for a later round are in `later`. Outside of a recursion the round is 0.
Never     : no rules (see tidelog.maintenance) and no wiring (circuit.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.circuits.zset import SUMMED, ZSet, decoded
from tidelog.errors import UsageError
from tidelog.language.terms import Value

Stored = dict[str, Any]


class Operator(ABC):
    """One box of a circuit."""

    word: ClassVar[str]
    """What it is called in drawings."""

    def __init__(self, dictionary: Dictionary, arity: int, note: str = "") -> None:
        self.dictionary, self.arity, self.note = dictionary, arity, note
        self.later: dict[int, list[ZSet]] = {}
        self._nothing = ZSet.nothing(dictionary, arity)

    @abstractmethod
    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:
        """The change of the output in a round."""

    def commit(self) -> None:  # noqa: B027 - most have no state
        """The moment is over: what it added is part of the state."""

    def take_back(self) -> None:  # noqa: B027 - most have nothing to take back
        """A commit that was done is undone, because that of another operator failed."""

    def undo(self) -> None:
        """The moment failed."""
        self.later.clear()

    def finish(self) -> None:  # noqa: B027 - most have nothing to tidy up
        """After a moment that was committed everywhere."""

    @property
    def nbytes(self) -> int:
        """The memory that its state takes."""
        return 0

    def stored(self) -> Stored:
        """Its state, as arrays by name."""
        return {}

    def load(self, stored: Stored) -> None:  # noqa: B027 - most have no state
        """Take over a state."""

    def nothing(self) -> ZSet:
        """No change."""
        return self._nothing

    def due(self, number: int) -> ZSet:
        """What earlier rounds have left for this one, loose."""
        found = self.later.pop(number, ())
        return ZSet.together(self.dictionary, self.arity, found) if found else self.nothing()


class Input(Operator):
    """Where changes come in."""

    word = "input"
    given: ZSet | None = None

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """What was pushed."""
        return self.given if self.given is not None else self.nothing()


class Plus(Operator):
    """a + b: linear, so (a + b)' = a' + b'."""

    word = "+"

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The sum."""
        return ZSet.together(self.dictionary, self.arity, changes)


class Minus(Operator):
    """-a: linear."""

    word = "-"

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The inverse."""
        return -changes[0]


class Select(Operator):
    """Some columns: linear."""

    word = "select"

    def __init__(self, dictionary: Dictionary, columns: Sequence[int]) -> None:
        super().__init__(dictionary, len(columns), ", ".join(map(str, columns)))
        self.columns = list(columns)
        self.is_done = False
        """Whether what comes has these columns already: a join whose only reader this is leaves the others out."""

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The columns of what changed."""
        if self.is_done:
            return changes[0]
        pieces = [(rows.take(self.columns, axis=1), weights) for rows, weights in changes[0].pieces]
        return ZSet.in_pieces(self.dictionary, pieces)


class Where(Operator):
    """The rows with a certain constant in a column: linear."""

    word = "where"

    def __init__(self, dictionary: Dictionary, arity: int, column: int, value: Value) -> None:
        super().__init__(dictionary, arity, f"{column} = {value!r}")
        self._column, self._value = column, value
        self._number = int(dictionary.encode([value])[0])

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The rows of the change that have the value in the column."""
        rows, weights, state = changes[0].held
        chosen = np.flatnonzero(rows[:, self._column] == self._number)
        return ZSet(self.dictionary, rows.take(chosen, axis=0), weights[chosen], min(state, SUMMED))

    def load(self, stored: Stored) -> None:  # noqa: ARG002
        """Constants may have other numbers now."""
        self._number = int(self.dictionary.encode([self._value])[0])


class Map(Operator):
    """A function of a row: linear. The function is given columns, as Arrow, and returns columns of the same length."""

    word = "map"

    def __init__(self, dictionary: Dictionary, arity: int, function: Callable[[pa.Table], object]) -> None:
        super().__init__(dictionary, arity, getattr(function, "__name__", ""))
        self._function = function

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The function of the rows that changed, which keep their weights."""
        known, weights = changes[0].parts
        if not len(known):
            return self.nothing()
        columns = list(self._function(decoded(self.dictionary, known)))  # type: ignore[call-overload]
        if len(columns) != self.arity or any(len(column) != len(known) for column in columns):
            raise UsageError.of(
                "E870",
                f"map gave {len(columns)} columns of {[len(column) for column in columns]} rows, "
                f"not {self.arity} of {len(known)}",
                remedy="return one column for each column of the result, with a value for every row",
            )
        rows = np.empty((len(known), self.arity), np.int32)
        for at, column in enumerate(columns):
            rows[:, at] = self.dictionary.encode(column)
        return ZSet.loose(self.dictionary, rows, weights)


class Filter(Operator):
    """A condition on a row: linear. The condition is given columns, as Arrow, and returns a bool for every row."""

    word = "filter"

    def __init__(self, dictionary: Dictionary, arity: int, condition: Callable[[pa.Table], object]) -> None:
        super().__init__(dictionary, arity, getattr(condition, "__name__", ""))
        self._condition = condition

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """What changed and passes."""
        rows, weights = changes[0].parts
        if not len(rows):
            return self.nothing()
        chosen = np.asarray(self._condition(decoded(self.dictionary, rows)))
        if chosen.dtype != np.bool_ or chosen.shape != (len(rows),):
            raise UsageError.of(
                "E870",
                f"filter gave {chosen.dtype} values of shape {chosen.shape}, not {len(rows)} bools",
                remedy="return a bool for every row, and no nulls",
            )
        return ZSet(self.dictionary, rows[chosen], weights[chosen], SUMMED)


class Delay(Operator):
    """z^-1: what came in the moment before; linear and time-invariant, so it is its own incremental form."""

    word = "delay"

    def __init__(self, dictionary: Dictionary, arity: int, moments: int = 1) -> None:
        super().__init__(dictionary, arity, str(moments) if moments > 1 else "")
        self._kept: deque[ZSet] = deque([self.nothing()] * moments)
        self._given = self.nothing()

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """What waits longest."""
        changes[0].settle()  # before anything is committed
        self._given = changes[0]
        return self._kept[0]

    def finish(self) -> None:
        """What came now waits; what waited longest is gone."""
        self._kept.append(self._given)
        self._kept.popleft()

    @property
    def nbytes(self) -> int:
        """The memory of what waits."""
        return sum(one.rows.nbytes + one.weights.nbytes for one in self._kept)

    def stored(self) -> Stored:
        """What waits, in order."""
        parts = (("rows", "rows"), ("weights", "weights"))
        return {f"{at} {name}": getattr(one, part) for at, one in enumerate(self._kept) for name, part in parts}

    def load(self, stored: Stored) -> None:
        """Take it over."""
        self._kept = deque(
            ZSet(self.dictionary, stored[f"{at} rows"], stored[f"{at} weights"]) for at in range(len(self._kept))
        )


class Integrate(Operator):
    """I: the sum of everything so far. A moment costs as much as the sum is large: for small streams and for laws."""

    word = "integrate"

    def __init__(self, dictionary: Dictionary, arity: int) -> None:
        super().__init__(dictionary, arity)
        self._sum = self._next = self.nothing()

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The sum, this moment included."""
        self._next = self._sum + changes[0]
        return self._next

    def finish(self) -> None:
        """The sum is kept."""
        self._sum = self._next

    @property
    def nbytes(self) -> int:
        """The memory of the sum."""
        return int(self._sum.rows.nbytes + self._sum.weights.nbytes)

    def stored(self) -> Stored:
        """The sum as arrays."""
        return {"rows": self._sum.rows, "weights": self._sum.weights}

    def load(self, stored: Stored) -> None:
        """Take it over."""
        self._sum = self._next = ZSet(self.dictionary, stored["rows"], stored["weights"])


class Differentiate(Integrate):
    """D: what came now less what came in the moment before; the inverse of I."""

    word = "differentiate"

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The difference."""
        self._next = changes[0]
        return self._next - self._sum


class Lift(Operator):
    """Any function of whole Z-sets, moment by moment; incremental only between `integrate` and `differentiate`."""

    word = "lift"

    def __init__(self, dictionary: Dictionary, arity: int, function: Callable[..., ZSet]) -> None:
        super().__init__(dictionary, arity, getattr(function, "__name__", ""))
        self._function = function

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The function of what came now."""
        return self._function(*changes)
