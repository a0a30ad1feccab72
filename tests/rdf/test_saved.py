"""A graph that was saved goes on where it stopped: data, axioms, rules, labels, in both layouts."""

import pytest

from tests.rdf.worlds import world
from tidelog import Engine
from tidelog.errors import StateError
from tidelog.rdf import Graph
from tidelog.rdf.layouts import Layout

A = "https://example.org/"
RULE = "<https://example.org/near>(x, y) :- <https://example.org/knows>(x, y)."
TURTLE = """
@prefix : <https://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Chair rdfs:subClassOf :Professor . :Professor rdfs:subClassOf :Person .
:ann a :Chair ; :knows _:b . _:b a :Person .
"""


@pytest.fixture
def graph(tmp_path):
    (tmp_path / "g.ttl").write_text(TURTLE)
    return Graph(tmp_path / "g.ttl", reasoning="owl-rl", rules=RULE)


def test_a_graph_is_opened_as_it_was(graph, tmp_path):
    graph.save(tmp_path / "state")
    opened = Graph.open(tmp_path / "state")
    assert set(opened) == set(graph)
    assert (opened.reasoning, opened.layout, opened.version) == (graph.reasoning, graph.layout, graph.version)
    asked = f"SELECT ?x WHERE {{ ?x a <{A}Person> }}"
    assert len(opened.query(asked)) == len(graph.query(asked)) == 2
    opened.verify()


def test_axioms_and_blank_nodes_go_after_opening(graph, tmp_path):
    """What was compiled from axioms is known again: an axiom that goes takes its rule along."""
    graph.save(tmp_path / "state")
    opened = Graph.open(tmp_path / "state")
    sub = next(triple for triple in graph.explicit() if str(triple[0]).endswith("Professor>"))
    blank = next(triple for triple in graph.explicit() if str(triple[0]).startswith("_:"))
    for one in (graph, opened):
        change = one.apply(delete=[sub, blank])
        assert len(change.deleted) >= 3
        one.verify()
    assert set(opened) == set(graph)
    opened.save(tmp_path / "state")
    assert set(Graph.open(tmp_path / "state")) == set(graph)
    assert len(list((tmp_path / "state" / "_graph").iterdir())) == 1


@pytest.mark.parametrize("layout", ["auto", "triples"])
@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_go_on_after_opening(layout, seed, tmp_path):
    kept = Graph(world(seed), reasoning="owl-rl", layout=layout)
    kept.save(tmp_path / "state")
    opened = Graph.open(tmp_path / "state")
    assert opened.layout in (Layout.RULES, Layout.TRIPLES)
    gone, come = sorted(kept.explicit(), key=str)[::3], world(seed + 100, axioms=2, data=3)
    for one in (kept, opened):
        one.apply(insert=come, delete=gone)
    assert set(opened) == set(kept)
    assert set(opened.inconsistencies) == set(kept.inconsistencies)


def test_the_state_of_an_engine_is_no_graph(tmp_path):
    Engine("p(1).").save(tmp_path / "state")
    with pytest.raises(StateError, match="E613"):
        Graph.open(tmp_path / "state")


def test_a_save_that_is_killed_leaves_the_graph_before(graph, tmp_path, monkeypatch):
    """The note of the next version is there already, and that of the last one still."""
    graph.save(tmp_path / "state")
    before = set(graph)
    graph.apply(delete=[next(graph.explicit())])
    monkeypatch.setattr(Engine, "save", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        graph.save(tmp_path / "state")
    monkeypatch.undo()
    assert set(Graph.open(tmp_path / "state")) == before
