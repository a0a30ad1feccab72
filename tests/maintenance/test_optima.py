"""Recursion through `min` and `max`: shortest paths are SciPy's, whatever comes and goes.

A best value that stands on itself is the trap: with weights of zero two nodes of a cycle can hold each other up after
their way to the source is gone. tests/differential/test_optima.py has programs that nobody chose.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

import tidelog as tl
from tests.differential.harness import agree
from tests.differential.optima import draw_optimum_case
from tests.maintenance.engines import factory
from tests.maintenance.stores import STORES
from tests.maintenance.supplied_store import SuppliedStore
from tidelog.maintenance.registry import STRATEGIES
from tidelog.provenance.checker import check_proof

RULES = """
dist(y, m) :- node(y), m = min c : { step(y, c) }.
step(y, c + w) :- dist(x, c), e(x, y, w).
step(x, 0) :- source(x).
"""
NODES = 40


def shortest(edges):
    """SciPy's distances from node 0; its matrices hold no zeros, so every weight is one more and taken back by hops."""
    least = {}
    for start, end, weight in edges:
        least[start, end] = min(weight, least.get((start, end), weight))
    scale = 10_000
    keys = list(least)
    data = np.array([least[key] * scale + 1 for key in keys], float)
    starts, ends = np.array(keys).T if keys else (np.empty(0, int), np.empty(0, int))
    found = dijkstra(csr_matrix((data, (starts, ends)), shape=(NODES, NODES)), indices=0)
    return [(node, int(found[node]) // scale) for node in range(NODES) if np.isfinite(found[node])]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_shortest_paths_are_those_of_scipy(strategy):
    """Random graphs with weights of zero, edges that come and go, a source that goes and comes back."""
    rng = random.Random(strategy)
    engine = tl.Engine(RULES, strategy=strategy)
    engine.apply(insert={"node": [(node,) for node in range(NODES)], "source": [(0,)]})
    edges = set()
    for step in range(12):
        come = {(rng.randrange(NODES), rng.randrange(NODES), rng.choice((0, 0, 1, 3))) for _ in range(25)}
        gone = set(rng.sample(sorted(edges), min(len(edges), 12)))
        edges = (edges - gone) | come
        engine.apply(insert={"e": list(come)}, delete={"e": list(gone)})
        assert sorted(engine["dist"]) == shortest(edges)
        if step % 4 == 3:
            engine.verify()
            engine.apply(delete={"source": [(0,)]})
            assert not len(engine["dist"])
            engine.apply(insert={"source": [(0,)]})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_cycle_of_weight_zero_does_not_hold_itself(strategy):
    """b and c are at distance 1 from each other's point of view; without a they are nowhere."""
    engine = tl.Engine(RULES, strategy=strategy)
    edges = [("a", "b", 1), ("b", "c", 0), ("c", "b", 0)]
    engine.apply(insert={"node": [("a",), ("b",), ("c",)], "source": [("a",)], "e": edges})
    assert sorted(engine["dist"]) == [("a", 0), ("b", 1), ("c", 1)]
    change = engine.apply(delete={"e": [("a", "b", 1)]})
    assert sorted(change.deleted["dist"]) == [("b", 1), ("c", 1)]
    engine.verify()


@pytest.mark.parametrize("store", {**STORES, "supplied": SuppliedStore})
def test_every_store_agrees(store):
    """The naive twin, the compiled store, and one whose facts are elsewhere."""
    stores = {**STORES, "supplied": SuppliedStore}
    for seed in range(8):
        case = draw_optimum_case(seed)
        agree(case, {name: factory(name, stores[store], case.updates) for name in ("dred", "dred-mark", "counting")})


def test_a_value_that_a_better_one_hid_holds_nothing_up():
    """In a component that is not strict, best values may stand on values that were replaced.

    x is 10 from its source; that makes z 0, and z makes x 1, which makes z 0 again. Without the source there is
    neither, though each of the two best values has the other one for support.
    """
    rules = """
        best(g, m) :- n(g), m = min c : { way(g, c) }.
        way(g, c) :- given(g, c).
        way("z", c / 1000) :- best("x", c).
        way("x", c + 1) :- best("z", c).
    """
    engine = tl.Engine(rules)
    engine.apply(insert={"n": [("x",), ("z",)], "given": [("x", 10)]})
    assert sorted(engine["best"]) == [("x", 1), ("z", 0)]
    engine.apply(delete={"given": [("x", 10)]})
    assert not len(engine["best"])
    engine.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_value_elsewhere_gets_better_when_two_are_lost_that_overflow(strategy):
    """y has no sum with -9e18; without that y is better than its own 5, though y is none of the groups that lost."""
    most = 9 * 10**18
    engine = tl.Engine("""
        best(g, m) :- n(g), m = min c : { way(g, c) }.
        way(g, c) :- given(g, c).
        way(y, c + w) :- best(x, c), e(x, y, w).
    """, strategy=strategy)  # fmt: skip
    places, roads = [("x",), ("y",), ("z",)] + [(n,) for n in range(99)], [("x", "z", 0), ("z", "y", -most)]
    engine.apply(insert={"n": places, "given": [("x", -1), ("x", -most), ("y", 5)], "e": roads})
    assert sorted(engine["best"]) == [("x", -most), ("y", 5), ("z", -most)]
    engine.apply(delete={"given": [("x", -most)]})
    assert sorted(engine["best"]) == [("x", -1), ("y", -most - 1), ("z", -1)]
    engine.verify()


def test_a_negative_cycle_ends_and_changes_nothing():
    """Without any limit that a user sets; the last version stays."""
    engine = tl.Engine(RULES)
    engine.apply(insert={"node": [(0,), (1,), (2,)], "source": [(0,)], "e": [(0, 1, 5), (1, 2, 1)]})
    with pytest.raises(tl.BudgetError, match="E409  values of dist, step get better for ever"):
        engine.apply(insert={"e": [(2, 1, -2)]})
    assert sorted(engine["dist"]) == [(0, 0), (1, 5), (2, 6)]
    engine.apply(insert={"e": [(2, 1, -1)]})
    engine.verify()


@pytest.mark.parametrize("bound", ["c < 50", "c + w <= 50", "w < 9, 20 >= c"])
def test_a_negative_cycle_ends_though_costs_are_bounded(bound):
    """A bound makes a component not strict, and its rounds went on for ever."""
    engine = tl.Engine(RULES.replace("e(x, y, w).", f"e(x, y, w), {bound}."))
    engine.apply(insert={"node": [(0,), (1,), (2,)], "source": [(0,)], "e": [(0, 1, 5), (1, 2, 1)]})
    with pytest.raises(tl.BudgetError, match="E409  values of dist, step get better for ever"):
        engine.apply(insert={"e": [(2, 1, -2)]})
    assert sorted(engine["dist"]) == [(0, 0), (1, 5), (2, 6)]
    engine.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_better_value_without_a_sum_leaves_what_else_there_is(strategy):
    """Of -1 and the road there is a sum, of the better -9e18 there is none: y keeps its other way, or has none."""
    most = 9 * 10**18
    engine = tl.Engine("""
        best(g, m) :- n(g), m = min c : { way(g, c) }.
        way(g, c) :- given(g, c).
        way(y, c + w) :- best(x, c), e(x, y, w).
    """, strategy=strategy)  # fmt: skip
    roads = [("x", "y", -most), ("y", "z", 1)]
    engine.apply(insert={"n": [("x",), ("y",), ("z",)], "given": [("x", -1)], "e": roads})
    assert sorted(engine["best"]) == [("x", -1), ("y", -most - 1), ("z", -most)]
    engine.apply(insert={"given": [("x", -most)]})
    assert sorted(engine["best"]) == [("x", -most)]
    engine.verify()
    engine.apply(insert={"given": [("y", 5)]})
    engine.apply(delete={"given": [("x", -most)]})
    assert sorted(engine["best"]) == [("x", -1), ("y", -most - 1), ("z", -most)]
    engine.apply(insert={"given": [("x", -most)]})
    assert sorted(engine["best"]) == [("x", -most), ("y", 5), ("z", 6)]
    engine.verify()
    engine.apply(delete={"given": [("x", -1), ("x", -most), ("y", 5)]})
    engine.apply(insert={"n": [("s",)], "given": [("s", 0), ("x", -1), ("y", 5)], "e": [("s", "x", -most)]})
    assert sorted(engine["best"]) == [("s", 0), ("x", -most), ("y", 5), ("z", 6)]
    engine.verify()


def test_values_without_order_are_refused():
    """A number and a symbol have no least; a recursion cannot go on without."""
    engine = tl.Engine("""
        best(y, m) :- n(y), m = min c : { way(y, c) }.
        way(y, c) :- best(x, c), e(x, y).
        way(x, c) :- s(x, c).
    """)
    engine.apply(insert={"n": [(1,), (2,)], "s": [(1, "a")], "e": [(1, 2)]})
    with pytest.raises(tl.EvaluationError, match="E503"):
        engine.apply(insert={"s": [(2, 7)]})
    assert sorted(engine["best"]) == [(1, "a"), (2, "a")]
    engine.verify()


def test_rules_come_and_go(tmp_path):
    """A rule that closes the recursion, one that opens it again, and a state in between."""
    engine = tl.Engine("dist(y, m) :- node(y), m = min c : { step(y, c) }. step(x, 0) :- source(x).")
    engine.apply(insert={"node": [(0,), (1,), (2,)], "source": [(0,)], "e": [(0, 1, 5), (1, 2, 1)]})
    assert sorted(engine["dist"]) == [(0, 0)]
    engine.apply(add_rules="go: step(y, c + w) :- dist(x, c), e(x, y, w).")
    assert sorted(engine["dist"]) == [(0, 0), (1, 5), (2, 6)]
    engine.save(str(tmp_path))
    engine.apply(remove_rules=["go"])
    assert sorted(engine["dist"]) == [(0, 0)]
    engine.verify()
    opened = tl.Engine.open(str(tmp_path))
    opened.apply(insert={"e": [(0, 2, 4)]})
    assert sorted(opened["dist"]) == [(0, 0), (1, 5), (2, 4)]
    opened.verify()


def test_a_proof_goes_down_to_the_source():
    """The step that gives the minimum is proved below it, round no cycle of weight zero; no step is less."""
    engine = tl.Engine(RULES)
    edges = [("a", "b", 0), ("b", "a", 0), ("b", "c", 2), ("a", "c", 7), ("a", "c", 9), ("b", "c", 8)]
    engine.apply(insert={"node": [("a",), ("b",), ("c",)], "source": [("a",)], "e": edges})
    for relation, fact in (("dist", ("c", 2)), ("dist", ("b", 0)), ("step", ("c", 9)), ("step", ("a", 0))):
        proof = engine.explain(relation, fact)
        leaves = [line.strip() for line in str(proof).splitlines() if "is explicit" in line]
        assert 'source("a")  is explicit' in leaves
        rules, explicit = engine.program.rules, lambda name, values: name in engine and values in engine.explicit(name)
        assert check_proof(proof, rules, lambda name: list(engine[name]), explicit) == []
    shown = str(engine.explain("dist", ("c", 2)))
    told = 'step("c", 2); step("c", 7); step("c", 8); ... 1 more, none less than these'
    assert f"2 is the min of 4: {told}" in shown
    assert 'step("c", 2)  by step(y, c + w) :- dist(x, c), e(x, y, w).' in shown
    assert "7" in str(engine.explain_absence("dist", ("c", 7)))


def test_a_proof_without_its_best_member_is_refused():
    """By the checker, which also refuses a member that gives another value."""
    engine = tl.Engine(RULES)
    engine.apply(insert={"node": [("a",), ("b",)], "source": [("a",)], "e": [("a", "b", 1), ("a", "b", 4)]})
    proof, worse = engine.explain("dist", ("b", 1)), engine.explain("step", ("b", 4))
    for premises in (proof.premises[:1], (proof.premises[0], worse)):
        wrong = replace(proof, premises=premises)
        faults = check_proof(wrong, engine.program.rules, lambda name: list(engine[name]), lambda *_: True)
        assert faults


def drawn(rng):
    """An edge anywhere."""
    return rng.randrange(NODES), rng.randrange(NODES), rng.choice((0, 1, 2, 9))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("strategy", ["auto", "dred", "bf", "counting", "circuit"])
def test_many_shortest_paths_are_those_of_scipy(strategy, seed):
    """Larger graphs, of which large parts are cut off and joined again."""
    rng = random.Random(f"{strategy} {seed}")
    engine = tl.Engine(RULES, strategy=strategy)
    edges = {
        (rng.randrange(NODES), rng.randrange(NODES), rng.choice((0, 1, 2, 9))) for _ in range(rng.choice((60, 200)))
    }
    engine.apply(insert={"node": [(node,) for node in range(NODES)], "source": [(0,)], "e": sorted(edges)})
    for _ in range(10):
        cut = rng.randrange(NODES)
        gone = {edge for edge in edges if cut in edge[:2]} | set(rng.sample(sorted(edges), len(edges) // 8))
        come = {drawn(rng) for _ in gone}
        edges = (edges - gone) | come
        engine.apply(insert={"e": sorted(come)}, delete={"e": sorted(gone)})
        assert sorted(engine["dist"]) == shortest(edges)
    engine.verify()
