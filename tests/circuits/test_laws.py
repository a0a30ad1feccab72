"""The algebra of circuits: groups, linearity, inverses, and incremental = D . lift . I for every operator."""

import random

import pyarrow.compute as pc
import pytest

from tests.circuits.streams import total, zset
from tidelog.circuits import Circuit, ZSet
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


OPERATORS = {
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
    for seed in SEEDS:
        circuit, rng = Circuit(), random.Random(seed)
        a, b = circuit.input("a", 2), circuit.input("b", 2)
        made = on_wires(a, b)
        circuit.output("incremental", made)
        whole = a.integrate().lift(made.arity, on_z_sets, b.integrate())
        circuit.output("by definition", whole.differentiate())
        for _ in range(6):
            found = circuit.push(a=zset(circuit, rng, 2), b=zset(circuit, rng, 2))
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
