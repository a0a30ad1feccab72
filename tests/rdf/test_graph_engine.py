"""A graph under the names of an engine: what a pipeline sees is triples, whatever the layout below."""

import json

import pyarrow as pa
import pytest

from tests.rdf.texts import graph, triples
from tidelog.changes.update import read_update
from tidelog.errors import TidelogError
from tidelog.rdf import IRI, XSD, Graph, Literal
from tidelog.rdf.graph_engine import GraphEngine
from tidelog.rdf.layouts import Layout

PEOPLE = ":Chair rdfs:subClassOf :Professor . :ann a :Chair ; :age 41 . :age rdfs:domain :Person ."
NODE = {"@id": "http://example.org/bob"}


def update(**said):
    return read_update(json.dumps(said))


@pytest.mark.parametrize("layout", ["rules", "triples"])
def test_an_update_means_the_same_in_both_layouts(layout):
    """Facts of classes, of properties and of `triple`, rules about them, and facts of relations that are none."""
    kept = GraphEngine(graph(PEOPLE, layout=layout, reasoning="owl-rl"))
    before = set(kept["triple"])
    change = kept.apply_update(
        update(
            insert=[
                ["http://example.org/Chair", NODE],
                ["http://example.org/age", NODE, {"@value": "old", "@type": XSD.integer}],
                ["own", 1],
            ],
            delete=[["triple", *({"@id": one.value} for one in triples(":age rdfs:domain :Person .")[0])]],
            add_rules="@prefix : <http://example.org/> .\n:Boss(x) :- :Chair(x).",
        )
    )
    assert set(change.inserted["triple"]) == set(kept["triple"]) - before
    assert set(change.deleted["triple"]) == before - set(kept["triple"])
    assert triples(":bob a :Professor .")[0] in kept["triple"]
    assert triples(":ann a :Boss .")[0] in change.inserted["triple"]
    assert triples(":ann a :Person .")[0] in change.deleted["triple"]
    assert list(kept["own"]) == [(1,)]
    assert [one for _, one, _ in kept["inconsistency"]] == [Literal("old", XSD.integer)]
    assert kept.size("triple") == len(kept["triple"]) == len(set(kept["triple"]))
    assert not any(":" in name for name in kept.relations)
    kept.verify()
    kept.apply(remove_rules=["@prefix : <http://example.org/> .\n:Boss(x) :- :Chair(x)."])
    assert triples(":ann a :Boss .")[0] not in kept["triple"]


def test_both_layouts_give_one_change_when_a_graph_goes_over():
    """An update that the layout `rules` cannot hold: what goes out are the triples that differ, and nothing else."""
    kept = GraphEngine(graph(PEOPLE, reasoning="owl-rl"))
    before, version = set(kept["triple"]), kept.version
    said = [["triple", *({"@id": one.value} for one in row)] for row in triples(":Chair owl:sameAs :Head .")]
    change = kept.apply_update(update(insert=said))
    assert kept.graph.layout is Layout.TRIPLES
    assert set(change.inserted["triple"]) == set(kept["triple"]) - before
    assert not change.deleted
    assert triples(":ann a :Head .")[0] in kept["triple"]
    assert kept.version > version
    kept.verify()


def test_a_graph_that_went_over_is_saved_where_it_was(tmp_path):
    """It was an engine of its own by then, which did not know the state that it had begun."""
    kg = graph(PEOPLE, reasoning="owl-rl")
    kg.save(tmp_path / "state")
    kg.apply(insert=triples(":Chair owl:sameAs :Head ."))
    assert kg.layout is Layout.TRIPLES
    kg.save(tmp_path / "state")
    assert set(Graph.open(tmp_path / "state")) == set(kg)


@pytest.mark.parametrize("reasoning", ["none", "rdfs", "owl-rl"])
@pytest.mark.parametrize("count", [5, 100])
def test_a_property_that_is_a_class_as_well(reasoning, count):
    """One name with one column and with two: large sources raised a ValueError, small ones E301."""
    pairs = triples("".join(f":a{number} :P :b{number} ." for number in range(count)))
    member = triples(":x a :P .")
    at_once = Graph([*pairs, *member], reasoning=reasoning)
    later = Graph(pairs, reasoning=reasoning)
    assert {*pairs, *member} <= set(at_once)
    assert later.layout is Layout.RULES
    later.apply(insert=member)
    assert set(later) == set(at_once)


def test_an_axiom_that_is_written_among_rules_is_one():
    """Facts of a program went to the engine beside the ontology: in the layout `rules` nobody read them as axioms."""
    text = "@prefix : <http://example.org/> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    rules = text + "rdfs:subClassOf(:Person, :Agent).\n:Professor(:cid)."
    kg = graph(PEOPLE, rules=text + "rdfs:subClassOf(:Professor, :Person).\n:Professor(:bob).", reasoning="rdfs")
    assert kg.layout is Layout.RULES
    assert triples(":bob a :Person .")[0] in kg
    kg.apply(add_rules=rules)
    assert kg.layout is Layout.RULES
    assert triples(":cid a :Agent .")[0] in kg


def test_what_is_no_predicate_is_refused():
    """Of `("a", "b", "c")` the predicate was lost: in the layout `rules` it became a pair."""
    kg = Graph(triples(":a :p :b ."))
    with pytest.raises(TidelogError, match="E332"):
        kg.apply(insert=[("a", "b", "c")])
    assert ("a", "b", "c") not in kg
    assert (IRI("http://example.org/a"), "b", "c") not in GraphEngine(kg)["triple"]


def test_facts_of_other_relations_do_not_choose_the_layout():
    """A table of two columns and three rows was taken for one of three columns; the next fact changed the layout."""
    kept = GraphEngine(graph(PEOPLE, layout="auto", reasoning="rdfs"))
    kept.load(None, {"own": pa.table({"c0": [1, 2, 3], "c1": [4, 5, 6]})})
    kept.apply(insert={"own": [(7, 8)]})
    assert kept.graph.layout is Layout.RULES
    assert len(kept["own"]) == 4
