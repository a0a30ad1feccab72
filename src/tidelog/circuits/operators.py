"""The operators of a circuit, each on changes.

What      : an `Operator` takes the changes of its inputs in one moment, and gives the change of its output.
Idea      : every operator Q over tables has a form Q' over changes with Q' = D . Q . I, where I adds a stream up and D
            is its inverse. For a linear Q this is Q itself; for a join it is three joins with what was there before;
            for `distinct` and the aggregates only the rows and groups that a change touches are looked at.
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
from tidelog.backends.local.kernels.compiled import Array
from tidelog.circuits.trace import Trace
from tidelog.circuits.zset import ZSet, product
from tidelog.errors import UsageError

Stored = dict[str, Any]


class Operator(ABC):
    """One box of a circuit."""

    word: ClassVar[str]
    """What it is called in drawings."""

    def __init__(self, dictionary: Dictionary, arity: int, note: str = "") -> None:
        self.dictionary, self.arity, self.note = dictionary, arity, note
        self.later: dict[int, list[ZSet]] = {}

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
        return ZSet.nothing(self.dictionary, self.arity)

    def due(self, number: int) -> ZSet:
        """What earlier rounds have left for this one."""
        return sum(self.later.pop(number, ()), self.nothing())


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
        return sum(changes[1:], changes[0])


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
        self._columns = list(columns)

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The columns of what changed."""
        return changes[0].select(self._columns)


class Map(Operator):
    """A function of a row: linear. The function is given columns, as Arrow, and returns columns of the same length."""

    word = "map"

    def __init__(self, dictionary: Dictionary, arity: int, function: Callable[[pa.Table], object]) -> None:
        super().__init__(dictionary, arity, getattr(function, "__name__", ""))
        self._function = function

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """The function of the rows that changed, which keep their weights."""
        change = changes[0]
        if not len(change):
            return self.nothing()
        columns = list(self._function(change.table()))  # type: ignore[call-overload]
        if len(columns) != self.arity or any(len(column) != len(change) for column in columns):
            raise UsageError.of(
                "E870",
                f"map gave {len(columns)} columns of {[len(column) for column in columns]} rows, "
                f"not {self.arity} of {len(change)}",
                remedy="return one column for each column of the result, with a value for every row",
            )
        rows = np.empty((len(change), self.arity), np.int32)
        for at, column in enumerate(columns):
            rows[:, at] = self.dictionary.encode(column)
        return ZSet.summed(self.dictionary, rows, change.weights)


class Filter(Operator):
    """A condition on a row: linear. The condition is given columns, as Arrow, and returns a bool for every row."""

    word = "filter"

    def __init__(self, dictionary: Dictionary, arity: int, condition: Callable[[pa.Table], object]) -> None:
        super().__init__(dictionary, arity, getattr(condition, "__name__", ""))
        self._condition = condition

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """What changed and passes."""
        change = changes[0]
        if not len(change):
            return change
        chosen = np.asarray(self._condition(change.table()))
        if chosen.dtype != np.bool_ or chosen.shape != (len(change),):
            raise UsageError.of(
                "E870",
                f"filter gave {chosen.dtype} values of shape {chosen.shape}, not {len(change)} bools",
                remedy="return a bool for every row, and no nulls",
            )
        return change.where(chosen)


class _Keeping(Operator):
    """An operator that keeps its inputs: `old` is what they added up to before this moment, `new` what came in it."""

    def __init__(self, dictionary: Dictionary, arity: int, kept: Sequence[int], note: str = "") -> None:
        super().__init__(dictionary, arity, note)
        self.old = [Trace(one) for one in kept]
        self.new = [Trace(one) for one in kept]

    def commit(self) -> None:
        """Add what is new; checked as a whole, so that a weight that is too large changes nothing."""
        done: list[tuple[Trace, Array, Array, int]] = []
        try:
            for old, new in zip(self.old, self.new):
                rows, rounds, weights = new.all()
                for number in np.unique(rounds).tolist():
                    chosen = rounds == number
                    old.add(rows[chosen], weights[chosen], number)
                    done.append((old, rows[chosen], weights[chosen], number))
        except UsageError:
            for old, some, their, number in done:
                old.add(some, -their, number)
            raise

    def undo(self) -> None:
        """Forget what is new."""
        super().undo()
        self.new = [Trace(one.arity) for one in self.new]

    def finish(self) -> None:
        """Begin another moment."""
        self.undo()
        for old in self.old:
            old.compact()

    def take_back(self) -> None:
        """A commit that was done is undone, because that of another operator failed."""
        for old, new in zip(self.old, self.new):
            rows, rounds, weights = new.all()
            for number in np.unique(rounds).tolist():
                old.add(rows[rounds == number], -weights[rounds == number], number)

    @property
    def nbytes(self) -> int:
        """The memory of what is kept."""
        return sum(one.nbytes for one in (*self.old, *self.new))

    def stored(self) -> Stored:
        """What was kept, by input."""
        return {f"{at} {name}": array for at, old in enumerate(self.old) for name, array in old.stored().items()}

    def load(self, stored: Stored) -> None:
        """Take it over."""
        for at, old in enumerate(self.old):
            old.load({name: stored[f"{at} {name}"] for name in ("rows", "rounds", "weights")})


class Join(_Keeping):
    """Rows that agree in pairs of columns, side by side; bilinear: (a b)' = a' I(b) + I(a) b' - a' b', with sums I."""

    word = "join"

    def __init__(self, dictionary: Dictionary, arities: tuple[int, int], on: Sequence[tuple[int, int]]) -> None:
        note = ", ".join(f"{left} = {right}" for left, right in on)
        super().__init__(dictionary, sum(arities), arities, note)
        self._columns = tuple(left for left, _ in on), tuple(right for _, right in on)

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:
        """Each change with everything on the other side; of the two changes with each other once."""
        self._meet(changes[0], 0, self.old[1], number)
        self._meet(changes[0], 0, self.new[1], number)
        self.new[0].add(changes[0].rows, changes[0].weights, number)
        self._meet(changes[1], 1, self.old[0], number)
        self._meet(changes[1], 1, self.new[0], number)
        self.new[1].add(changes[1].rows, changes[1].weights, number)
        return self.due(number)

    def _meet(self, change: ZSet, side: int, trace: Trace, number: int) -> None:
        """Leave the pairs of a change and a trace for the rounds in which they meet."""
        keys = change.rows[:, list(self._columns[side])]
        places, at = trace.find(keys, self._columns[1 - side])
        if not len(places):
            return
        parts = [change.rows[at], trace.rows(places)]
        rows = np.concatenate(parts if side == 0 else parts[::-1], axis=1)
        weights, rounds = product(change.weights[at], trace.weights[places]), np.maximum(trace.rounds(places), number)
        for met in np.unique(rounds).tolist():
            chosen = rounds == met
            self.later.setdefault(met, []).append(ZSet.summed(self.dictionary, rows[chosen], weights[chosen]))


class Distinct(_Keeping):
    """Every row of positive weight once: not linear, but only rows that change can change their sign."""

    word = "distinct"

    def __init__(self, dictionary: Dictionary, arity: int) -> None:
        super().__init__(dictionary, arity, (arity,))

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:
        """The difference of signs: with and without this moment, up to this round and up to the one before."""
        [old], [new], change = self.old, self.new, changes[0]
        places, _ = old.find(change.rows, tuple(range(self.arity)))
        rounds, known = old.rounds(places), old.rows(places)
        for later in np.unique(rounds[rounds > number]).tolist():
            rows = known[rounds == later]
            self.later.setdefault(later, []).append(ZSet.summed(self.dictionary, rows, np.ones(len(rows), np.int64)))
        new.add(change.rows, change.weights, number)
        touched = np.unique(np.concatenate([change.rows, self.due(number).rows]), axis=0)
        before, there = old.sums(touched, number)
        added, fresh = new.sums(touched, number)
        now = (before + there + added + fresh > 0).astype(np.int64) - (before + there > 0)
        earlier = (before + added > 0).astype(np.int64) - (before > 0)
        return ZSet.summed(self.dictionary, touched, now - earlier)


class Delay(Operator):
    """z^-1: what came in the moment before; linear and time-invariant, so it is its own incremental form."""

    word = "delay"

    def __init__(self, dictionary: Dictionary, arity: int, moments: int = 1) -> None:
        super().__init__(dictionary, arity, str(moments) if moments > 1 else "")
        self._kept: deque[ZSet] = deque([self.nothing()] * moments)
        self._given = self.nothing()

    def step(self, changes: Sequence[ZSet], number: int) -> ZSet:  # noqa: ARG002
        """What waits longest."""
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
