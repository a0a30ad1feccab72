"""The SPARQL protocol, with a real client, beside a writer, and with limits that stop."""

import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from SPARQLWrapper import CSV, JSON, POST, SPARQLWrapper

from tests.house.sources import ROOT
from tests.rdf.texts import graph, triples
from tidelog.errors import TidelogError
from tidelog.rdf.endpoint import Endpoint
from tidelog.rdf.evaluation_process import QueryLimits

EX = "PREFIX : <http://example.org/> "
TEXT = ":C rdfs:subClassOf :D . :a a :C . :b a :D ."
SLOW = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h . ?i ?t ?j }"


@pytest.fixture
def endpoint():
    made = Endpoint(graph(TEXT), port=0, writable=True, limits=QueryLimits(5.0))
    made.start()
    yield made
    made.close()


def client(endpoint, text, form=JSON):
    wrapper = SPARQLWrapper(endpoint.url)
    wrapper.setQuery(text)
    wrapper.setReturnFormat(form)
    return wrapper


def status(endpoint, *, path="/sparql?query=ASK%20%7B%7D", data=None, **headers):
    request = urllib.request.Request(endpoint.url.replace("/sparql", path), data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_real_client_asks(endpoint):
    """SELECT, ASK and CONSTRUCT through SPARQLWrapper, by GET and POST."""
    found = client(endpoint, EX + "SELECT ?x WHERE { ?x a :D } ORDER BY ?x").queryAndConvert()
    assert [row["x"]["value"][-1] for row in found["results"]["bindings"]] == ["a", "b"]
    assert client(endpoint, EX + "ASK { :a a :D }").queryAndConvert()["boolean"] is True
    assert client(endpoint, EX + "SELECT ?x WHERE { ?x a :C }", CSV).queryAndConvert().splitlines()[0] == b"x"
    posted = client(endpoint, EX + "SELECT ?x WHERE { ?x a :D }")
    posted.setMethod(POST)
    assert len(posted.queryAndConvert()["results"]["bindings"]) == 2
    query = urllib.parse.quote(EX + "CONSTRUCT { ?x :is :y } WHERE { ?x a :C }")
    with urllib.request.urlopen(f"{endpoint.url}?query={query}", timeout=20) as answer:
        assert answer.headers["Content-Type"] == "application/n-triples"
        assert b"<http://example.org/is>" in answer.read()


def test_a_real_client_updates(endpoint):
    """And reasoning follows."""
    changed = client(endpoint, EX + "INSERT DATA { :c a :C }")
    changed.setMethod(POST)
    changed.query()
    assert client(endpoint, EX + "ASK { :c a :D }").queryAndConvert()["boolean"] is True


def test_read_only_unless_asked():
    """Updates are refused, and so are addresses that others could reach."""
    kg = graph(TEXT)
    made = Endpoint(kg, port=0)
    made.start()
    data = EX.encode() + b"INSERT DATA { :c a :C }"
    assert status(made, path="/update", data=data, **{"Content-Type": "application/sparql-update"}) == 403
    made.close()
    assert triples(":c a :C .")[0] not in kg
    with pytest.raises(TidelogError, match="E837"):
        Endpoint(kg, host="0.0.0.0")


def test_host_and_origin_are_checked(endpoint):
    """A web page, or a name that leads here, gets nothing."""
    assert status(endpoint) == 200
    assert status(endpoint, Host="evil.example") == 403
    assert status(endpoint, Origin="http://evil.example") == 403
    assert status(endpoint, Origin=f"http://localhost:{endpoint.port}") == 200
    assert status(endpoint, path="/secrets") == 404


@pytest.mark.parametrize("text", ["SELECT * WHERE { SERVICE <http://127.0.0.1:1/> { } }", "SELECT nonsense", ""])
def test_bad_queries_are_answered(endpoint, text):
    """With a status, not with silence; nothing is fetched."""
    assert status(endpoint, path=f"/sparql?query={urllib.parse.quote(text)}") == 400


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (QueryLimits(seconds=0.5), SLOW),
        (
            QueryLimits(seconds=20, memory=8 << 20),
            "SELECT DISTINCT * WHERE { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f . ?g ?s ?h }",
        ),
        (QueryLimits(seconds=20, result=10_000), "SELECT * WHERE { ?a ?p ?b . ?c ?q ?d }"),
    ],
)
def test_limits_stop_a_query(limits, text):
    """Time, memory and size; the endpoint answers the next question."""
    made = Endpoint(graph(TEXT), port=0, limits=limits)
    made.start()
    started = time.monotonic()
    assert status(made, path=f"/sparql?query={urllib.parse.quote(text)}") == 503
    assert time.monotonic() - started < 60
    assert status(made) == 200
    made.close()


def test_readers_beside_a_writer(endpoint):
    """Every answer is one whole version: a pair of triples that come and go together is seen together."""
    stop, seen, wrong = threading.Event(), [], []
    text = EX + "SELECT ?x WHERE { { ?x a :Left } UNION { ?x a :Right } }"

    def write():
        while not stop.is_set():
            endpoint.graph.apply(insert=triples(":p a :Left . :q a :Right ."))
            endpoint.graph.apply(delete=triples(":p a :Left . :q a :Right ."))

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(10):
        rows = client(endpoint, text).queryAndConvert()["results"]["bindings"]
        (seen if len(rows) in (0, 2) else wrong).append(len(rows))
    stop.set()
    writer.join()
    assert not wrong
    assert seen


def test_the_command(tmp_path):
    """`tidelog serve` says where it is, and answers."""
    (tmp_path / "data.ttl").write_text("@prefix : <http://example.org/> . :a a :C .")
    command = [sys.executable, "-m", "tidelog", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        line = process.stdout.readline()
        assert "1 triples at http://127.0.0.1:" in line
        url = line.split(" at ")[1].split()[0]
        with urllib.request.urlopen(url + "?query=ASK%20%7B%20%3Fs%20%3Fp%20%3Fo%20%7D", timeout=20) as answer:
            assert b"true" in answer.read()
        process.terminate()
