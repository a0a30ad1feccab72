"""Large groups in order: `min`, `max` and `median` of them as of groups that are read."""

import random
from collections import Counter

import pytest

from tests.circuits.streams import total
from tests.circuits.test_laws import aggregated
from tidelog.circuits import Circuit, ZSet
from tidelog.circuits.groups import ORDERED, Aggregate
from tidelog.errors import UsageError


def group(function, members):
    """A circuit with one aggregate of three columns, and what it has given."""
    circuit = Circuit()
    circuit.output("found", circuit.input("m", 3).aggregate(function, 1, by=[0]))
    return circuit, [circuit.push(m=members)["found"]]


def of(circuit, function, weights):
    """The aggregate, read from a whole Z-set; the third column keeps members of one value apart."""
    members = Counter()
    for (key, value, _), weight in weights.items():
        members[key, value] += max(weight, 0)
    parts = [ZSet.of(circuit.dictionary, [row], weight, arity=2) for row, weight in members.items() if weight]
    return aggregated(function)(sum(parts, ZSet.nothing(circuit.dictionary, 2)), None)


@pytest.mark.parametrize("function", ORDERED)
@pytest.mark.parametrize("seed", range(4))
def test_large_groups_are_kept_true(function, seed, tmp_path):
    """Rows of any weight come and go, the extremes among them; groups shrink, fail and are opened again."""
    rng = random.Random(f"{function} {seed}")
    weights = Counter({(key, rng.choice([at, at + 0.25]), at): 1 for key in "ab" for at in range(90)})
    circuit, changes = group(function, list(weights))
    for moment in range(60):
        change = Counter()
        for _ in range(rng.randrange(1, 4)):
            change[rng.choice("ab"), rng.choice([-moment, 45, 200 + moment, 44.5]), rng.randrange(3)] += rng.choice(
                [-2, -1, 1, 2, 200]
            )
        gone = [row for row, weight in weights.items() if weight > 0]
        change.subtract(rng.sample(gone, min(len(gone), 3 if moment < 40 else 1)))
        parts = [ZSet.of(circuit.dictionary, [row], weight, arity=3) for row, weight in change.items() if weight]
        changes.append(circuit.push(m=sum(parts, ZSet.nothing(circuit.dictionary, 3)))["found"])
        weights.update(change)
        assert total(changes) == total([of(circuit, function, weights)])
        if moment % 9 == 4:
            with pytest.raises(UsageError, match="E873"):
                circuit.push(m=[("a", "no number", 0), ("b", 45, 1)])
        if moment == 30:
            circuit.save(tmp_path / "state")
            circuit = group(function, [])[0].open(tmp_path / "state")


@pytest.mark.parametrize("function", ORDERED)
def test_a_changed_row_of_a_large_group_does_not_read_it_again(function, monkeypatch):
    circuit, changes = group(function, [("a", at, at) for at in range(1000)])
    changes.append(circuit.push(m=[("a", 2000, 0)])["found"])
    monkeypatch.setattr(Aggregate, "_read", None)
    changes.append(circuit.push(m=circuit.change("m", [("a", -7, 0), ("a", 3000, 1)], [("a", 2000, 0)]))["found"])
    assert sum(changes[1:], changes[0]).to_dict() == {("a", {"min": -7, "max": 3000, "median": 499.5}[function]): 1}


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_median_of_large_floats_is_found(size):
    """The sum of both middle values is no float; their mean is, if they are equal."""
    circuit, changes = group("median", [("a", 1e308, at) for at in range(size)])
    for at in range(3):
        changes.append(circuit.push(m=[("a", 1e308, size + at)])["found"])
        assert total(changes) == {(("str", "a"), ("float", 1e308)): 1}
    with pytest.raises(UsageError, match="E873"):
        circuit.push(m=[("a", 1.5e308, at) for at in range(size + 3)])
    changes.append(circuit.push(m=[("a", 1.0, at) for at in range(size + 4)])["found"])
    assert total(changes) == {(("str", "a"), ("float", 1.0)): 1}


@pytest.mark.parametrize("function", ORDERED)
def test_a_row_that_is_no_member_takes_no_room(function):
    """A weight that goes from 0 to -1 and back gave the tree of its group a node that stayed."""
    circuit, changes = group(function, [("a", at, at) for at in range(100)])
    changes.append(circuit.push(m=[("a", 50, 0)])["found"])
    orders = circuit.outputs["found"].operator._orders
    before, rows = orders.nbytes, [("a", 1000 + at, 0) for at in range(500)]
    changes += [circuit.push(m=circuit.change("m", (), rows))["found"], circuit.push(m=rows)["found"]]
    assert 0 < orders.nbytes == before
    assert sum(changes[1:], changes[0]).to_dict() == {("a", {"min": 0, "max": 99, "median": 50}[function]): 1}
