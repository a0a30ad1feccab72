"""Recursion, groups, windows and states of circuits, against doing it from scratch."""

import random
import statistics
import threading
from collections import Counter

import numpy as np
import pyarrow.compute as pc
import pytest

from tests.circuits.streams import total, zset
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.circuits import Circuit, ZSet
from tidelog.circuits.keeping import Distinct
from tidelog.errors import BudgetError, TidelogError, UsageError
from tidelog.limits import Limits


def closure(edges):
    known = set(edges)
    while True:
        more = {(x, z) for x, y in known for w, z in edges if y == w} - known
        if not more:
            return known
        known |= more


def paths(limits=None):
    circuit = Circuit(limits)
    edge = circuit.input("edge", 2)
    path = circuit.fixpoint(2, lambda path: edge + edge.join(path, on=[(1, 0)]).select(0, 3))
    circuit.output("path", path)
    return circuit


@pytest.mark.parametrize("seed", range(15))
def test_a_recursion_is_kept_true(seed):
    """Insertions and deletions on graphs with cycles: after every push the paths are those of the edges."""
    circuit, rng = paths(), random.Random(seed)
    edges, changes = Counter(), []
    for _ in range(25):
        insert = [(rng.randrange(7), rng.randrange(7)) for _ in range(rng.randrange(4))]
        present = [edge for edge, weight in edges.items() for _ in range(weight)]
        delete = rng.sample(present, min(len(present), rng.randrange(4)))
        edges.update(insert)
        edges.subtract(delete)
        found = circuit.push(edge=circuit.change("edge", insert, delete))
        changes.append(found["path"])
        wanted = closure([edge for edge, weight in edges.items() if weight > 0])
        assert total(changes) == total([[(path, 1) for path in wanted]])


@pytest.mark.parametrize("seed", range(10))
def test_mutual_recursion_through_two_joins(seed):
    """Nodes of one generation: up, flat, down; two joins inside the loop, and what is pushed has weights above one."""
    circuit, rng = Circuit(), random.Random(seed)
    up, flat = circuit.input("up", 2), circuit.input("flat", 2)

    def body(same):
        return flat + up.join(same, on=[(1, 0)]).select(0, 3).join(up, on=[(1, 1)]).select(0, 2)

    circuit.output("same", circuit.fixpoint(2, body))
    ups, flats, changes = Counter(), Counter(), []
    for _ in range(15):
        given = {}
        for name, kept in (("up", ups), ("flat", flats)):
            insert = [(rng.randrange(6), rng.randrange(6)) for _ in range(rng.randrange(3))]
            delete = rng.sample(sorted(kept.elements()), min(kept.total(), rng.randrange(3)))
            kept.update(insert)
            kept.subtract(delete)
            given[name] = circuit.change(name, insert, delete)
        changes.append(circuit.push(**given)["same"])
        known = {pair for pair, weight in flats.items() if weight > 0}
        above = [pair for pair, weight in ups.items() if weight > 0]
        while True:
            more = {(x, w) for x, y in above for a, z in known if a == y for w, b in above if b == z} - known
            if not more:
                break
            known |= more
        assert total(changes) == total([[(pair, 1) for pair in known]])


def test_an_endless_recursion_is_stopped_and_changes_nothing():
    circuit = Circuit(Limits(rounds=50))
    start = circuit.input("start", 1)
    counted = circuit.fixpoint(1, lambda n: start + n.map(1, lambda table: [pc.add(table["c1"], 1)]))
    circuit.output("n", counted.filter(lambda table: pc.less(table["c1"], 1000)))
    with pytest.raises(BudgetError, match="E402"):
        circuit.push(start=[(1,)])
    assert circuit.moment == 0
    assert circuit.push(start=[])["n"] == ZSet.nothing(circuit.dictionary, 1)


def test_an_interrupt_in_the_middle_of_a_push_changes_nothing():
    """What a moment adds is kept apart until all of it is there."""
    circuit, hits = Circuit(), iter([None, KeyboardInterrupt, None])

    def interrupted(table):
        if (hit := next(hits)) is not None:
            raise hit
        return [table["c1"]]

    edge = circuit.input("edge", 2)
    circuit.output("known", edge.distinct().map(1, interrupted))
    circuit.push(edge=[(1, 2)])
    with pytest.raises(KeyboardInterrupt):
        circuit.push(edge=[(3, 4)])
    assert circuit.moment == 1
    assert list(circuit.push(edge=[(3, 4)])["known"]) == [((3,), 1)]


def test_an_interrupt_while_a_push_is_committed_is_not_passed_over(monkeypatch, tmp_path):
    circuit = paths()
    circuit.save(tmp_path / "state")
    monkeypatch.setattr(circuit.wires[-1].operator, "commit", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        circuit.push(edge=[(1, 2)])
    monkeypatch.undo()
    with pytest.raises(UsageError, match="E876"):
        circuit.push(edge=[(1, 2)])
    assert list(circuit.open(tmp_path / "state").push(edge=[(1, 2)])["path"]) == [((1, 2), 1)]


@pytest.mark.parametrize("is_half_swapped", [False, True])
def test_a_state_that_is_opened_after_an_interrupt_forgets_the_rows_of_that_moment(
    is_half_swapped, monkeypatch, tmp_path
):
    """Rows that the interrupted moment brought met those of the next one; a trace may have been both old and new."""
    circuit = Circuit()
    circuit.output("both", circuit.input("a", 1).join(circuit.input("b", 1), on=[(0, 0)]))
    circuit.push(a=[(1,)], b=[] if is_half_swapped else [(9,)])
    circuit.save(tmp_path / "state")
    join = circuit.outputs["both"].operator
    monkeypatch.setattr(join, "finish", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        circuit.push(a=[(2,)])
    monkeypatch.undo()
    if is_half_swapped:
        join.old[1] = join.new[1]
    circuit.open(tmp_path / "state")
    assert circuit.push(b=[(1,), (2,)])["both"].to_dict() == {(1, 1): 1}
    assert circuit.push(a=[(2,)])["both"].to_dict() == {(2, 2): 1}


def test_a_state_that_is_opened_after_an_interrupt_forgets_the_totals_of_that_moment(monkeypatch, tmp_path):
    circuit = Circuit()
    circuit.output("count", circuit.input("m", 1).aggregate("count"))
    circuit.push(m=[(1,)])
    circuit.save(tmp_path / "state")
    monkeypatch.setattr(circuit.wires[-1].operator, "finish", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        circuit.push(m=[(2,), (3,)])
    monkeypatch.undo()
    circuit.open(tmp_path / "state").push()
    assert circuit.push(m=[(4,)])["count"].to_dict() == {(1,): -1, (2,): 1}


def test_a_circuit_that_an_interrupt_left_half_changed_is_not_saved(monkeypatch, tmp_path):
    """It took the place of the last good state: opened again, a join had only one of its sides."""
    circuit = paths()
    circuit.push(edge=[(1, 2)])
    circuit.save(tmp_path / "state")
    before = sorted((tmp_path / "state").iterdir())
    monkeypatch.setattr(circuit.wires[-1].operator, "commit", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        circuit.push(edge=[(2, 3)])
    monkeypatch.undo()
    with pytest.raises(UsageError, match="E876"):
        circuit.save(tmp_path / "state")
    assert sorted((tmp_path / "state").iterdir()) == before
    assert len(circuit.open(tmp_path / "state").push(edge=[(2, 3)])["path"]) == 2


def test_an_interrupt_while_a_state_is_opened_is_not_passed_over(monkeypatch, tmp_path):
    """Some operators had the state that was opened, and others the one before."""
    circuit = paths()
    circuit.push(edge=[(1, 2)])
    paths().save(tmp_path / "state")
    monkeypatch.setattr(circuit.wires[-1].operator, "load", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        circuit.open(tmp_path / "state")
    monkeypatch.undo()
    with pytest.raises(UsageError, match="E876"):
        circuit.push(edge=[(2, 3)])
    assert circuit.open(tmp_path / "state").push(edge=[(2, 3)])["path"].to_dict() == {(2, 3): 1}


def test_an_interrupt_while_a_push_is_undone_leaves_nothing_of_it(monkeypatch):
    """What operators had taken in of the push met the next one."""
    circuit = Circuit()
    a, b = circuit.input("a", 1), circuit.input("b", 1)
    circuit.output("both", a.join(b, on=[(0, 0)]))
    circuit.output("sum", a.aggregate("sum"))
    monkeypatch.setattr(a.operator, "undo", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        circuit.push(a=[("no number",), (1,)])
    monkeypatch.undo()
    assert circuit.push(b=[(1,)])["both"].to_dict() == {}


def test_a_join_without_pairs_has_the_columns_that_its_reader_selects():
    """An empty change had all columns of the join."""
    circuit = Circuit()
    a, b = circuit.input("a", 1), circuit.input("b", 1)
    circuit.output("few", a.join(b, on=[(0, 0)]).select(0))
    circuit.output("many", a.join(b, on=[(0, 0)]).select(0, 1, 0).where(2, 7))
    for change, wanted in (({"a": [(7,)]}, {}), ({"b": [(8,)]}, {}), ({"b": [(7,)]}, {(7, 7, 7): 1})):
        found = circuit.push(**change)
        assert (found["few"].arity, found["many"].arity) == (1, 3)
        assert found["many"].to_dict() == wanted


def test_a_row_waits_once_for_each_later_round():
    """A row that waited was noted again for every round after."""
    words, rounds = Dictionary(), range(20)
    distinct, row = Distinct(words, 1), ZSet.of(words, [(1,)], arity=1)
    for number in rounds:
        distinct.step([row], number)
    distinct.commit()
    distinct.finish()
    noted = []
    for number in rounds:
        distinct.step([-row if number == 0 else distinct.nothing()], number)
        noted.append(sum(len(one.given[1]) for one in distinct.later.get(rounds[-1], ())))
    assert noted == [1] * (len(rounds) - 1) + [0]


@pytest.mark.parametrize("weight", [2**62, 2**63 - 1])
def test_weights_of_several_rounds_that_leave_64_bits_together_do_not_turn_a_row_away(weight):
    """Their sum was below zero: a row was taken back in the round in which it came once more."""
    circuit = Circuit(Limits(rounds=50))
    start, edge = circuit.input("start", 1), circuit.input("edge", 2)
    circuit.output("x", circuit.fixpoint(1, lambda x: start + x.join(edge, on=[(0, 0)]).select(2)))
    change = circuit.change("start", [(1,), (2,)])
    heavy = ZSet(circuit.dictionary, change.rows, np.array([1, weight]))
    edges = ZSet(circuit.dictionary, circuit.change("edge", [(1, 2)]).rows, np.array([2**62]))
    assert circuit.push(start=heavy, edge=edges)["x"].to_dict() == {(1,): 1, (2,): 1}
    assert circuit.push(start=-circuit.change("start", [(1,)]))["x"].to_dict() == {(1,): -1}
    assert circuit.push(start=-ZSet(circuit.dictionary, change.rows[1:], np.array([weight])))["x"].to_dict() == {
        (2,): -1
    }


def test_two_threads_take_turns():
    circuit, changes = paths(), []

    def push(start):
        changes.extend(circuit.push(edge=[(at, at + 1)])["path"] for at in range(start, start + 30))

    threads = [threading.Thread(target=push, args=(start,)) for start in (0, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert circuit.moment == 60
    assert len(total(changes)) == 2 * (30 * 31 // 2)


VALUES = {
    "count": len,
    "sum": sum,
    "min": min,
    "max": max,
    "mean": lambda values: sum(values) / len(values),
    "median": lambda values: float(statistics.median(values)),
}


@pytest.mark.parametrize("function", VALUES)
def test_aggregates_are_kept_true(function):
    rng = random.Random(function)
    circuit = Circuit()
    circuit.output("found", circuit.input("m", 2).aggregate(function, 1, by=[0]))
    members, changes = Counter(), []
    for _ in range(40):
        insert = [(rng.choice("ab"), rng.randrange(5)) for _ in range(rng.randrange(4))]
        delete = rng.sample(sorted(members.elements()), min(members.total(), rng.randrange(3)))
        members.update(insert)
        members.subtract(delete)
        changes.append(circuit.push(m=circuit.change("m", insert, delete))["found"])
        groups = {}
        for group, value in members.elements():
            groups.setdefault(group, []).append(value)
        wanted = [((group, VALUES[function](values)), 1) for group, values in groups.items()]
        assert total(changes) == total([wanted])


def test_sums_of_floats_are_exact():
    """What was inserted and deleted leaves no trace, however large it was."""
    circuit = Circuit()
    circuit.output("sum", circuit.input("m", 1).aggregate("sum"))
    first = circuit.push(m=[(0.1,), (0.2,), (0.3,)])["sum"]
    circuit.push(m=[(1e300,)])
    last = circuit.push(m=circuit.change("m", delete=[(1e300,)]))["sum"]
    assert list(first) == [((0.6,), 1)]
    assert ((0.6,), 1) in list(last)


def test_a_window_of_moments():
    circuit, rng = Circuit(), random.Random(3)
    circuit.output("recent", circuit.input("a", 2).window(3))
    given, changes = [], []
    for _ in range(20):
        given.append(zset(circuit, rng, 2))
        changes.append(circuit.push(a=given[-1])["recent"])
        assert total(changes) == total(given[-3:])


@pytest.mark.parametrize("seed", range(6))
def test_a_window_of_time(seed):
    """Rows leave when time moves on; late rows come in only if they are recent; deletions reach what is inside."""
    circuit, rng = Circuit(), random.Random(seed)
    circuit.output("recent", circuit.input("a", 2).window(column=1, width=10))
    rows, changes, clock = Counter(), [], 0
    for number in range(120):
        clock += rng.randrange(4)
        insert = [(number, max(0, clock - rng.randrange(15))) for _ in range(rng.randrange(3))]
        present = sorted(rows.elements())
        delete = rng.sample(present, min(len(present), rng.randrange(2)))
        newest = max([-1, *(time for _, time in rows), *(time for _, time in insert)])
        rows.update(insert)
        rows.subtract(delete)
        changes.append(circuit.push(a=circuit.change("a", insert, delete))["recent"])
        for row in [row for row in rows if row[1] <= newest - 10]:
            del rows[row]
        assert total(changes) == total([rows.items()])


def test_a_state_is_saved_and_opened(tmp_path):
    """A circuit of the same build goes on where the other stopped; another build is refused."""

    def build():
        circuit = paths()
        path = circuit.outputs["path"]
        circuit.output("reach", path.aggregate("count", by=[0]))
        circuit.output("total", path.aggregate("max", 1))
        circuit.output("recent", circuit.inputs["edge"].window(2))
        circuit.output("timed", circuit.inputs["edge"].window(column=0, width=5))
        return circuit

    circuit, twin, rng = build(), build(), random.Random(5)
    for number in range(12):
        if number in (4, 8):
            circuit.save(tmp_path / "state")
            circuit = build().open(tmp_path / "state")
            assert circuit.moment == number
        edge = [(rng.randrange(6), rng.randrange(6))]
        found, wanted = circuit.push(edge=edge), twin.push(edge=edge)
        assert {name: total([change]) for name, change in found.items()} == {
            name: total([change]) for name, change in wanted.items()
        }
    assert sorted(path.suffix for path in (tmp_path / "state").iterdir()) == [".arrow", ".json", ".npz"]
    with pytest.raises(TidelogError, match="E877"):
        paths().open(tmp_path / "state")
    with pytest.raises(TidelogError, match="E601"):
        build().open(tmp_path / "nowhere")


def test_an_opened_circuit_gives_the_same_changes(tmp_path):
    kept, rng, edges = paths(), random.Random(6), []
    for _ in range(30):
        kept.save(tmp_path / "s")
        opened = paths().open(tmp_path / "s")
        insert = [(rng.randrange(6), rng.randrange(6))]
        delete = [edges.pop(rng.randrange(len(edges)))] if len(edges) > 5 else []
        edges += insert
        both = [one.push(edge=one.change("edge", insert, delete))["path"] for one in (kept, opened)]
        assert total(both[:1]) == total(both[1:])


def test_state_stays_as_large_as_what_it_stands_for():
    circuit = paths()
    sizes = []
    for number in range(700):
        edge = [(number % 17, 17 + number % 13)]
        circuit.push(edge=circuit.change("edge", insert=edge))
        circuit.push(edge=circuit.change("edge", delete=edge))
        if number in (150, 699):
            sizes.append(circuit.nbytes)
    assert sizes[1] <= 2 * sizes[0]


def test_rows_that_are_gone_are_forgotten():
    """Always other rows: those of weight zero were counted wrongly, and all of them were kept for ever."""
    circuit, sizes = Circuit(), []
    known = circuit.input("edge", 2)
    circuit.output("known", known.join(known.distinct(), on=[(0, 0)]))
    for number in range(24):
        edges = [(1000 * number + at, at) for at in range(1000)]
        circuit.push(edge=circuit.change("edge", insert=edges))
        circuit.push(edge=circuit.change("edge", delete=edges))
        sizes.append(circuit.nbytes - circuit.dictionary.nbytes)
    assert max(sizes[12:]) <= max(sizes[:12])


def test_a_circuit_draws_itself():
    circuit = paths()
    assert circuit.draw().startswith("flowchart LR\n")
    assert "join 1 = 0" in circuit.draw()
    picture = circuit.to_svg()
    assert picture.startswith("<svg")
    assert "output path" in picture
    assert paths().draw() == circuit.draw()


@pytest.mark.parametrize(
    ("function", "values"), [("min", (1, "a")), ("max", (True, 1)), ("median", ("a", "b")), ("median", (True, False))]
)
def test_values_without_a_common_order_are_refused(function, values):
    """Nothing is changed by that; a value that is taken away is no member any more."""
    circuit = Circuit()
    circuit.output("found", circuit.input("m", 1).aggregate(function))
    with pytest.raises(UsageError, match="E873"):
        circuit.push(m=[(value,) for value in values])
    circuit.push(m=[(7,)])
    change = circuit.push(m=circuit.change("m", [(3,)], [(7,)]))
    assert dict(change["found"]) == {(7,): -1, (3,): 1}


WRONG = {
    "E870": lambda circuit, edge: edge.select(2),
    "E871": lambda circuit, edge: circuit.push(egde=[(1, 2)]),
    "E872": lambda circuit, edge: circuit.fixpoint(1, lambda x: x.aggregate("count")),
    "E873": lambda circuit, edge: circuit.push(edge=[("x", "y")]),
    "E875": lambda circuit, edge: edge.window(),
}


@pytest.mark.parametrize("code", WRONG)
def test_mistakes_have_codes(code):
    circuit = Circuit()
    edge = circuit.input("edge", 2)
    circuit.output("sum", edge.aggregate("sum", 1))
    with pytest.raises(UsageError, match=code):
        WRONG[code](circuit, edge)
    assert list(circuit.push(edge=[(1, 2)])["sum"]) == [((2,), 1)]


def test_constants_of_several_kinds_keep_their_numbers_in_a_saved_state(tmp_path):
    """Numbered kind by kind when they were read, strings and numbers changed places: rows meant others."""
    circuit, again = Circuit(), Circuit()
    for one in (circuit, again):
        one.output("found", one.input("m", 2).aggregate("min", 1, by=[0]))
    circuit.push(m=[("a", 1), ("b", 2.5), ("c", 3)])
    circuit.save(tmp_path / "state")
    again.open(tmp_path / "state")
    assert again.push(m=[("a", 0)])["found"].to_dict() == {("a", 1): -1, ("a", 0): 1}
