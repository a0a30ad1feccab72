"""The mirror behind SPARQL, where it is too large for memory: in a folder, in step, and gone with its graph."""

import gc
import threading

import pyoxigraph as ox
import pytest

from tests.rdf.texts import graph, triples
from tidelog.rdf import graph as graphs
from tidelog.rdf.endpoint import Endpoint
from tidelog.rdf.evaluation_process import QueryLimits

EX = "PREFIX : <http://example.org/> "
TEXT = ':C rdfs:subClassOf :D . :a a :C ; :is 1, 1.5, "x", "x"@en, true, 2.0e0 . :b a :D . _:n :knows :a .'
COUNT = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"


@pytest.fixture
def kg():
    """A graph whose mirror does not fit into memory."""
    made = graph(TEXT)
    made.mirror.in_memory = 0
    yield made
    made.close()


def test_a_small_graph_is_mirrored_in_memory():
    """No folder is made unless it is needed."""
    kg = graph(TEXT)
    assert list(kg.query(COUNT)) == [(len(kg),)]
    assert kg.mirror.folder is None


def test_a_mirror_in_a_folder_answers_alike_and_follows(kg):
    """Blank nodes included, and through a change of layout."""
    assert set(kg.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")) == set(kg)
    assert kg.mirror.folder.is_dir()
    for insert, delete in (
        (":c a :C . _:m :knows :c .", ""),
        ("", ":a a :C ."),
        (":p rdfs:subPropertyOf rdfs:subClassOf . :D :p :E .", ""),
    ):
        kg.apply(insert=triples(insert), delete=triples(delete))
        assert set(kg.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")) == set(kg)


def test_the_folder_goes_with_the_graph():
    """When the graph is closed, and when nobody holds it any more."""
    for end in (lambda kg: kg.close(), lambda kg: None):
        kg = graph(TEXT)
        kg.mirror.in_memory = 0
        kg.query(COUNT)
        folder = kg.mirror.folder
        assert folder.is_dir()
        end(kg)
        del kg
        gc.collect()
        assert not folder.exists()


def test_a_snapshot_stays_what_it_was(kg):
    """A process that reads one version is not disturbed by the next, and its folder goes when it has read."""
    with kg.mirror.snapshot() as old:
        before = len(kg)
        kg.apply(insert=triples(":c a :C ."))
        assert len(ox.Store.read_only(str(old))) == before
        with kg.mirror.snapshot() as new:
            assert len(ox.Store.read_only(str(new))) == len(kg) == before + 2
    assert not old.exists()
    kg.apply(delete=triples(":c a :C ."))
    assert not new.exists()


def test_readers_beside_a_writer_in_a_folder(kg):
    """Every answer of the endpoint is one whole version, as it is for a mirror in memory."""
    endpoint = Endpoint(kg, port=0, limits=QueryLimits(20.0))
    stop, seen = threading.Event(), set()
    text = EX + "SELECT ?x WHERE { { ?x a :Left } UNION { ?x a :Right } }"

    def write():
        while not stop.is_set():
            kg.apply(insert=triples(":p a :Left . :q a :Right ."))
            kg.apply(delete=triples(":p a :Left . :q a :Right ."))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            seen.add(endpoint.answer(text, "csv")[1].count(b"\n") - 1)
    finally:
        stop.set()
        writer.join()
        endpoint._server.server_close()
    assert seen <= {0, 2}


@pytest.mark.parametrize("layout", ["auto", "triples"])
def test_lines_come_in_pieces(monkeypatch, layout):
    """A relation is written in parts, whatever types its columns mix, and nothing is lost between them."""
    kg = graph(TEXT, layout=layout)
    whole = b"".join(kg.lines())
    monkeypatch.setattr(graphs, "PIECE", 2)
    parts = list(kg.lines())
    assert all(part.count(b"\n") <= 2 for part in parts)
    assert sorted(b"".join(parts).splitlines()) == sorted(whole.splitlines())
