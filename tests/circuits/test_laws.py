"""The algebra of circuits: groups, linearity, inverses, and incremental = D . lift . I for every operator."""

import random
import sys

import numpy as np
import pyarrow.compute as pc
import pytest

from tests.circuits.streams import VALUES, total, zset
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.circuits import Circuit, ZSet
from tidelog.circuits.groups import FUNCTIONS
from tidelog.circuits.operators import Where
from tidelog.circuits.zset import LOOSE, SUMMED
from tidelog.errors import UsageError

SEEDS = range(25)


@pytest.mark.parametrize("seed", SEEDS)
def test_z_sets_are_a_group(seed):
    circuit, rng = Circuit(), random.Random(seed)
    a, b, c = (zset(circuit, rng, 2) for _ in range(3))
    zero = ZSet.nothing(circuit.dictionary, 2)
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + zero == a
    assert a - a == zero
    assert zero - (zero - a) == a
    assert -a == zero - a


@pytest.mark.parametrize("seed", SEEDS)
def test_selections_are_linear_and_joins_bilinear(seed):
    circuit, rng = Circuit(), random.Random(seed)
    a, b, c = (zset(circuit, rng, 2) for _ in range(3))
    on = [(1, 0)]
    assert (a + b).select([1]) == a.select([1]) + b.select([1])
    assert (a + b).join(c, on) == a.join(c, on) + b.join(c, on)
    assert c.join(a + b, on) == c.join(a, on) + c.join(b, on)
    assert (-a).join(c, on) == -(a.join(c, on))
    assert a.distinct().distinct() == a.distinct()


def closure(a, _):
    """The least table over the distinct rows of a, round by round from nothing."""
    found = a.distinct()
    while True:
        more = (a + a.join(found, [(1, 0)]).select([0, 3])).distinct()
        if more == found:
            return found
        found = more


def value_of(function, members):
    """An aggregate of values with weights; None without members."""
    if function in ("count", "sum", "mean"):
        count, total = sum(weight for _, weight in members), sum(value * weight for value, weight in members)
        return None if count <= 0 else {"count": count, "sum": total, "mean": total / count}[function]
    spread = sorted(value for value, weight in members for _ in range(weight))
    if not spread:
        return None
    if function == "median":
        return (spread[len(spread) // 2] + spread[(len(spread) - 1) // 2]) / 2
    return min(spread) if function == "min" else max(spread)


def aggregated(function):
    """The aggregate of the second column by the first, read from a whole Z-set."""

    def of(a, _):
        groups = {}
        for (key, value), weight in a:
            groups.setdefault(key, []).append((value, weight))
        found = [(key, value_of(function, members)) for key, members in groups.items()]
        return ZSet.of(a.dictionary, [row for row in found if row[1] is not None], 1, arity=2)

    return of


NUMBERS = (1, 2, 3, 4)
OPERATORS = {
    "map": (
        lambda a, _: a.map(1, lambda table: [pc.add(table["c1"], table["c2"])]),
        lambda a, _: sum(
            (ZSet.of(a.dictionary, [(x + y,)], weight, arity=1) for (x, y), weight in a),
            ZSet.nothing(a.dictionary, 1),
        ),
    ),
    "filter": (
        lambda a, _: a.filter(lambda table: pc.greater(table["c1"], table["c2"])),
        lambda a, _: a.where([x > y for (x, y), _ in a]) if len(a) else a,
    ),
    "where": (
        lambda a, _: a.where(1, 2),
        lambda a, _: a.where([row[1] == 2 for row, _ in a]) if len(a) else a,
    ),
    "fixpoint": (
        lambda a, _: a._circuit.fixpoint(2, lambda x: a.distinct() + a.distinct().join(x, on=[(1, 0)]).select(0, 3)),
        lambda a, _: closure(a.distinct(), None),
    ),
    **{name: (lambda a, _, name=name: a.aggregate(name, 1, by=[0]), aggregated(name)) for name in FUNCTIONS},
    "plus": (lambda a, b: a + b, lambda a, b: a + b),
    "minus": (lambda a, b: a - b, lambda a, b: a - b),
    "select": (lambda a, _: a.select(1, 0), lambda a, _: a.select([1, 0])),
    "join": (lambda a, b: a.join(b, on=[(1, 0)]), lambda a, b: a.join(b, [(1, 0)])),
    "join on two": (lambda a, b: a.join(b, on=[(1, 0), (0, 1)]), lambda a, b: a.join(b, [(1, 0), (0, 1)])),
    "product": (lambda a, b: a.join(b, on=[]), lambda a, b: a.join(b, [])),
    "distinct": (lambda a, _: a.distinct(), lambda a, _: a.distinct()),
    "chain": (
        lambda a, b: a.join(b.distinct(), on=[(1, 0)]).select(0, 3).distinct(),
        lambda a, b: a.join(b.distinct(), [(1, 0)]).select([0, 3]).distinct(),
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_incremental_is_differentiate_lift_integrate(name):
    """For chains of operators as well: the incremental form of a chain is the chain of incremental forms."""
    on_wires, on_z_sets = OPERATORS[name]
    values = NUMBERS if name in ("map", "filter", "where", *FUNCTIONS) else VALUES
    for seed in SEEDS:
        circuit, rng = Circuit(), random.Random(seed)
        a, b = circuit.input("a", 2), circuit.input("b", 2)
        made = on_wires(a, b)
        circuit.output("incremental", made)
        whole = a.integrate().lift(made.arity, on_z_sets, b.integrate())
        circuit.output("by definition", whole.differentiate())
        for _ in range(6):
            found = circuit.push(a=zset(circuit, rng, 2, values), b=zset(circuit, rng, 2, values))
            assert found["incremental"] == found["by definition"], seed


def test_integrate_and_differentiate_are_inverses():
    circuit, rng = Circuit(), random.Random(0)
    a = circuit.input("a", 2)
    circuit.output("there and back", a.integrate().differentiate())
    circuit.output("back and there", a.differentiate().integrate())
    circuit.output("late", a.delay())
    before = ZSet.nothing(circuit.dictionary, 2)
    for _ in range(10):
        change = zset(circuit, rng, 2)
        found = circuit.push(a=change)
        assert found["there and back"] == found["back and there"] == change
        assert found["late"] == before
        before = change


def test_maps_and_filters_are_linear():
    circuit, rng = Circuit(), random.Random(1)
    a = circuit.input("a", 2)
    numbers = (1, 2, 3, 4)
    circuit.output("map", a.map(1, lambda table: [pc.add(table["c1"], table["c2"])]))
    circuit.output("filter", a.filter(lambda table: pc.greater(table["c1"], table["c2"])))
    for _ in range(20):
        change = zset(circuit, rng, 2, numbers)
        found = circuit.push(a=change)
        wanted = [((x + y,), weight) for (x, y), weight in change]
        assert total([found["map"]]) == total([wanted])
        assert total([found["filter"]]) == total([[(row, w) for row, w in change if row[0] > row[1]]])


def test_weights_beyond_64_bits_are_refused_and_change_nothing():
    """In a sum, in a product and in what was there before."""
    circuit = Circuit()
    a, b = circuit.input("a", 1), circuit.input("b", 1)
    circuit.output("both", a.join(b, on=[(0, 0)]))
    circuit.output("known", a.distinct())
    half = ZSet.of(circuit.dictionary, [(1,)], 2**62, arity=1)
    circuit.push(a=half)
    with pytest.raises(UsageError, match="E874"):
        circuit.push(a=half + half.distinct(), b=ZSet.of(circuit.dictionary, [(1,)], 4, arity=1))
    with pytest.raises(UsageError, match="E874"):
        circuit.push(a=half)
    assert circuit.moment == 1
    found = circuit.push(b=ZSet.of(circuit.dictionary, [(1,)], 1, arity=1))
    assert found["both"].weights.tolist() == [2**62]
    with pytest.raises(UsageError, match="E874"):
        half + half


def test_sums_that_leave_64_bits_on_the_way_are_right():
    """Between operators nothing is added up, so that a sum may be beyond 64 bits before its last part comes."""
    circuit = Circuit()
    a, b = circuit.input("a", 1), circuit.input("b", 1)
    circuit.output("sum", a + a - b)
    circuit.output("known", (a + a - b).distinct())
    half = ZSet.of(circuit.dictionary, [(1,)], 2**62, arity=1)
    found = circuit.push(a=half, b=half)
    assert found["sum"].weights.tolist() == [2**62]
    assert found["known"].weights.tolist() == [1]
    with pytest.raises(UsageError, match="E874"):
        circuit.push(a=half)
    assert circuit.moment == 1


def test_windows_and_delays_are_linear():
    """A window of moments and a delay of a sum are the sums of windows and of delays."""
    circuit, rng = Circuit(), random.Random(3)
    a, b = circuit.input("a", 2), circuit.input("b", 2)
    for name, operator in {"window": lambda wire: wire.window(3), "delay": lambda wire: wire.delay()}.items():
        circuit.output(f"{name} of the sum", operator(a + b))
        circuit.output(f"sum of {name}s", operator(a) + operator(b))
    for _ in range(12):
        found = circuit.push(a=zset(circuit, rng, 2), b=zset(circuit, rng, 2))
        assert found["window of the sum"] == found["sum of windows"]
        assert found["delay of the sum"] == found["sum of delays"]


def test_the_chain_rule():
    """The incremental form of two operators, one after the other, is that of each, one after the other."""
    circuit, rng = Circuit(), random.Random(4)
    a = circuit.input("a", 2)
    circuit.output("each", a.distinct().join(a.distinct(), on=[(1, 0)]).select(0, 3).distinct())

    def both(whole):
        once = whole.distinct()
        return once.join(once, [(1, 0)]).select([0, 3]).distinct()

    circuit.output("both", a.integrate().lift(2, both).differentiate())
    for _ in range(12):
        found = circuit.push(a=zset(circuit, rng, 2))
        assert found["each"] == found["both"]


@pytest.mark.parametrize("read", [lambda one: one, lambda one: -one, lambda one: where_two(one)])
@pytest.mark.parametrize("state", [LOOSE, SUMMED])
def test_a_z_set_is_whole_for_a_thread_that_reads_it_while_another_adds_it_up(read, state):
    """Rows of before were taken for those that had been added up, or put in order, since."""
    words = Dictionary()
    numbers = words.encode(list(range(6)))
    rows, weights = numbers[[3, 2, 2, 1] if state == LOOSE else [3, 2, 4, 1]].reshape(-1, 1), np.array([1, 2, 3, 4])
    wanted, at, goes_on = read(ZSet(words, rows, weights, state)).to_dict(), 0, True
    while goes_on:
        one = ZSet(words, rows, weights, state)
        (found, held), goes_on = beside(lambda: parts(read(one)), lambda: one.rows, at)  # noqa: B023
        assert found == sorted(found)
        assert dict(zip(words.decode(np.array(found)), held)) == {value: weight for (value,), weight in wanted.items()}
        at += 1
    assert at > 5


def parts(one):
    """The rows of one column, and their weights."""
    return one.rows[:, 0].tolist(), one.weights.tolist()


def where_two(one):
    """What `where` makes of a change."""
    operator = Where(one.dictionary, 1, 0, 2)
    return operator.step([one], 0)


def beside(work, other, at):
    """Do some work, and another's before the n-th bytecode in modules of circuits; whether it came to that."""
    left = at

    def look(frame, event, _):
        nonlocal left
        if "circuits" not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        left -= event == "opcode"
        if left == -1:
            sys.settrace(None)
            other()
            sys.settrace(look)
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        found = work()
    finally:
        sys.settrace(before)
    return found, left < 0
