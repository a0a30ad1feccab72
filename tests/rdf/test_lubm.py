"""The papers' benchmark: LUBM(1) as published, and its fourteen queries."""

from pathlib import Path

import pytest

from benchmarks.lubm.bodies import bodies
from tests.house.sources import ROOT
from tidelog.rdf import IRI, RDF, RDFS, Graph, Namespace

DATA = ROOT / "tests" / "data" / "lubm"
QUERIES = sorted((ROOT / "benchmarks" / "lubm" / "queries").glob("*.rq"))
EXPECTED = (4, 0, 6, 34, 719, 7_790, 67, 7_790, 208, 4, 224, 15, 1, 5_916)
UB = Namespace("http://swat.cse.lehigh.edu/onto/univ-bench.owl#")


@pytest.fixture(scope="module")
def lubm():
    return Graph(DATA / "univ-bench.nt", DATA / "lubm1.nt.gz", reasoning="owl-rl")


def test_the_fourteen_queries(lubm):
    """Every answer has as many rows as the benchmark says under OWL 2 RL."""
    assert [Path(path).stem for path in QUERIES] == [f"q{number:02}" for number in range(1, 15)]
    assert tuple(len(lubm.query(path.read_text(encoding="utf-8"))) for path in QUERIES) == EXPECTED


def test_the_fourteen_queries_as_bodies_of_rules(lubm):
    """A large graph on Spark is asked so: classes and properties are relations, and no mirror is filled."""
    assert tuple(len(lubm.engine.query(question)) for question in bodies().values()) == EXPECTED


def test_an_axiom_comes_and_goes(lubm):
    """Adding a subclass to a running graph is a rule that comes; retracting it leaves what was there."""
    before = set(lubm)
    axiom = (IRI(UB.Chair), IRI(RDFS.subClassOf), IRI(UB.Manager))
    rules = len(lubm.engine.rules)
    preview = lubm.preview(insert=[axiom])
    assert UB.Manager in str(preview)
    change = lubm.apply(insert=[axiom])
    assert len(lubm.engine.rules) == rules + 1
    managers = [triple for triple in change.inserted if triple[1] == IRI(RDF.type)]
    assert len(managers) == 15
    assert axiom in lubm.explain(managers[0]).axioms
    assert len(lubm.query(f"SELECT ?x WHERE {{ ?x a <{UB.Manager}> }}")) == 15
    lubm.apply(delete=[axiom])
    assert len(lubm.engine.rules) == rules
    assert set(lubm) == before
    assert len(lubm.query(f"SELECT ?x WHERE {{ ?x a <{UB.Manager}> }}")) == 0


def test_an_axiom_falls_with_any_of_its_triples(lubm):
    """`Chair` is an intersection over a list: without one link of the list nobody is derived to be a chair."""
    link = next(triple for triple in lubm.explicit() if triple[1] == IRI(RDF.rest) and triple[2] == IRI(RDF.nil))
    before = set(lubm)
    gone = lubm.apply(delete=[link])
    assert len(gone.deleted) > 1
    lubm.apply(insert=[link])
    assert set(lubm) == before
