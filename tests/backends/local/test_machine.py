"""The join machine may stop anywhere and go on as if it had not.

Tables of one to seven rows force a stop between any two matches, inside rings, between steps and between driving rows;
fuel of one candidate forces the machine to give up control before it found anything. Facts must not change.
"""

from __future__ import annotations

from itertools import product

import pytest

from tests.differential.engines import engines_under_test
from tests.differential.harness import agree
from tests.differential.updates import draw_case
from tidelog.backends.local.joins import executable, machine, single_join
from tidelog.engine import Engine

PROGRAM = """
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
loop(x) :- path(x, x).
pair(x, y) :- node(x), node(y), x != y, !path(x, y).
triangle(x, y, z) :- edge(x, y), edge(y, z), edge(z, x).
busy() :- loop(_).
idle(x) :- node(x), !busy().
next(y) :- node(x), y = x + 1, !loop(y).
both(x, y, 7) :- edge(x, y), edge(y, x).
degree(x, n) :- node(x), n = count : { edge(x, _) }.
"""
EDGES = [(x, (x * 3 + y) % 9) for x, y in product(range(9), range(3))]
FACTS = {"edge": EDGES, "node": [(x,) for x in range(12)]}


def everything(engine):
    return {name: sorted(engine[name]) for name in engine.relations}


def run():
    """Three versions of the program's facts: inserted, partly deleted, partly inserted again."""
    engine = Engine(PROGRAM, strategy="dred")
    versions = []
    engine.apply(insert=FACTS)
    versions.append(everything(engine))
    engine.apply(delete={"edge": EDGES[::2]})
    versions.append(everything(engine))
    engine.apply(insert={"edge": EDGES[::4]}, delete={"node": [(3,), (4,)]})
    versions.append(everything(engine))
    engine.verify()
    return versions


@pytest.fixture(scope="module")
def expected():
    """What comes out with tables of the usual size."""
    return run()


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 7])
def test_a_full_table_interrupts_nothing(rows, expected, monkeypatch):
    """Resumption with tables of a few rows; `room` starts at what the chunk allows."""
    monkeypatch.setattr(executable, "CHUNK", rows)
    assert run() == expected


def test_the_general_machine_equals_the_special_one(expected, monkeypatch):
    """Plans of one look-up have a loop of their own; the general machine runs them just as well."""
    monkeypatch.setattr(single_join, "looked_up_column", lambda *_: -1)
    assert run() == expected


@pytest.mark.parametrize("fuel", [1, 2, 5])
@pytest.mark.parametrize("is_general", [True, False])
def test_a_machine_that_stops_after_every_candidate(fuel, is_general, expected, monkeypatch):
    """Fuel bounds the time between two questions to the budget, in both machines."""
    if is_general:
        monkeypatch.setattr(single_join, "looked_up_column", lambda *_: -1)
    monkeypatch.setattr(machine, "FUEL", fuel)
    assert run() == expected


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_random_programs_with_tables_of_three_rows(seed, monkeypatch):
    """The random world, with every strategy, under constant interruption."""
    monkeypatch.setattr(executable, "CHUNK", 3)
    local = {name: factory for name, factory in engines_under_test().items() if "reference" not in name}
    agree(draw_case(seed), local)


def test_repeated_variables_and_constants_in_atoms():
    """Columns that must be equal, to each other or to a constant, wherever the atom stands."""
    engine = Engine("a(x) :- e(x, x, 1), f(x).\nb(x) :- f(x), e(x, x, 1).\nc(y) :- e(1, y, y).\nd(x) :- e(x, _, x).\n")
    engine.apply(insert={"e": [(1, 1, 1), (2, 2, 2), (1, 2, 2), (1, 2, 1), (3, 3, 1)], "f": [(1,), (2,), (3,)]})
    assert {name: sorted(engine[name]) for name in "abcd"} == {
        "a": [(1,), (3,)],
        "b": [(1,), (3,)],
        "c": [(1,), (2,)],
        "d": [(1,), (2,)],
    }


def test_rules_over_empty_relations_make_no_index():
    """A rule that cannot fire costs nothing: no index on what it would have looked up."""
    engine = Engine("p(x, y) :- e(x, y).\np(x, z) :- e(x, y), p(y, z).\nq(x) :- p(x, y), nobody(y).\n")
    engine.apply(insert={"e": [(1, 2), (2, 3)]})
    relations = engine._backend.store.relations
    assert not relations["p"].has_index((0,))
    assert sorted(engine["p"]) == [(1, 2), (1, 3), (2, 3)]
    engine.apply(insert={"e": [(3, 4)], "nobody": [(4,)]})
    assert sorted(engine["q"]) == [(1,), (2,), (3,)]
