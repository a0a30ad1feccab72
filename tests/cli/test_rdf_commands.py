"""RDF on the command line: files beside CSV, ontologies as programs, reasoning by option."""

import io
import json

import pytest

from tidelog.cli import main

ONTOLOGY = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Chair rdfs:subClassOf :Professor .
"""
DATA = "@prefix : <http://example.org/> . :ann a :Chair ; :age 50 . :bob a :Professor ; :age 40 ."
RULES = "@prefix : <http://example.org/> .\nsenior(x) :- :Chair(x), :age(x, n), n > 45.\n:Old(x) :- senior(x).\n"
EX = "http://example.org/"
SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"


@pytest.fixture
def world(tmp_path):
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "data.ttl").write_text(DATA)
    (tmp_path / "ontology.ttl").write_text(ONTOLOGY)
    (tmp_path / "rules.dl").write_text(RULES)
    return tmp_path


def run(*words):
    return main([str(word) for word in words])


def test_materialize_an_ontology(world, capsys):
    """An ontology is a program; the graph is written whole."""
    options = ("--facts", world / "facts", "--reasoning", "owl-rl", "--out", world / "out")
    assert run("materialize", world / "ontology.ttl", *options) == 0
    assert "5 triples read" in capsys.readouterr().out
    assert (
        f"<{EX}ann> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}Professor>"
        in (world / "out" / "graph.nt").read_text()
    )


def test_materialize_rules_over_rdf(world, capsys):
    """RDF files in the folder are facts of classes and properties; terms survive JSON lines."""
    options = ("--facts", world / "facts", "--out", world / "out", "--format", "jsonl")
    assert run("materialize", world / "rules.dl", *options) == 0
    assert "4 facts read" in capsys.readouterr().out
    assert json.loads((world / "out" / "senior.jsonl").read_text()) == [{"@id": f"{EX}ann"}]
    (written,) = (world / "out").glob("*Old.nt")
    assert f"<{EX}ann>" in written.read_text()


def test_maintain_data_and_axioms(world, capsys):
    """An update file names classes and properties by their IRIs; axioms are data like any other."""
    update = {
        "insert": [[f"{EX}Chair", {"@id": f"{EX}cid"}], [SUBCLASS, {"@id": f"{EX}Professor"}, {"@id": f"{EX}Person"}]]
    }
    (world / "updates.jsonl").write_text(json.dumps(update) + "\n")
    options = ("--facts", world / "facts", "--reasoning", "owl-rl", "--updates", world / "updates.jsonl", "--verify")
    assert run("maintain", world / "ontology.ttl", *options, "--json") == 0
    line = json.loads(capsys.readouterr().out)
    assert line["counts"]["inserted"][f"{EX}Person"] == 3


def test_maintain_reads_standard_input(world, capsys, monkeypatch):
    """`-`, as without RDF."""
    update = {"insert": [[f"{EX}Chair", {"@id": f"{EX}cid"}]]}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(update).encode())))
    options = ("--facts", world / "facts", "--reasoning", "rdfs", "--updates", "-", "--json")
    assert run("maintain", world / "ontology.ttl", *options) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["inserted"][f"{EX}Professor"] == 1


def test_a_file_of_which_no_rule_speaks_is_named(world, capsys):
    """RDF beside rules about something else is a mistake that nothing else would show."""
    (world / "rules.dl").write_text("path(x, y) :- edge(x, y).\n")
    assert run("materialize", world / "rules.dl", "--facts", world / "facts", "--out", world / "out") == 0
    said = capsys.readouterr().err
    assert "W301" in said
    assert "data.ttl is not used" in said


def test_explain_a_triple(world, capsys):
    """With the axiom that it rests on."""
    options = ("--facts", world / "facts", "--reasoning", "rdfs")
    assert run("explain", world / "ontology.ttl", *options, f"<{EX}ann> a <{EX}Professor>") == 0
    assert "is an axiom" in capsys.readouterr().out
    assert run("explain", world / "ontology.ttl", *options, f"<{EX}bob> a <{EX}Chair>") == 1


def test_bad_rdf_is_refused_with_its_line(world, capsys):
    """As elsewhere."""
    (world / "facts" / "bad.nt").write_text("<urn:a> <urn:b> .\n")
    assert run("materialize", world / "rules.dl", "--facts", world / "facts", "--out", world / "out") == 1
    assert "bad.nt:1" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["table", "csv", "tsv", "json"])
def test_ask_in_sparql(world, capsys, form):
    """Over an ontology and data, in every format of answers; a query may stand in a file."""
    (world / "query.rq").write_text(
        "PREFIX : <http://example.org/> SELECT ?x ?age WHERE { ?x a :Professor ; :age ?age }"
    )
    options = ("--facts", world / "facts", "--reasoning", "rdfs", "--sparql", "--format", form)
    assert run("query", world / "ontology.ttl", world / "query.rq", *options) == 0
    said = capsys.readouterr().out
    assert "http://example.org/ann" in said
    assert "50" in said


def test_ask_yes_or_no(world, capsys):
    """ASK says yes or no; what is no SPARQL is refused."""
    options = ("--facts", world / "facts", "--sparql")
    assert run("query", f"ASK {{ <{EX}ann> a <{EX}Chair> }}", *options) == 0
    assert capsys.readouterr().out == "yes\n"
    assert run("query", "SELECT nonsense", *options) == 1


def test_named_graphs_are_a_fourth_column(world):
    """The default graph is the empty string there; its triples used to be given to some named graph."""
    (world / "facts" / "data.ttl").unlink()
    (world / "facts" / "g.trig").write_text("@prefix : <http://example.org/> . :a :p :b . :g { :c :p :d . }")
    (world / "rules.dl").write_text("all(s, g) :- quad(s, p, o, g).\n")
    options = ("--facts", world / "facts", "--out", world / "out", "--format", "jsonl")
    assert run("materialize", world / "rules.dl", *options) == 0
    found = {json.dumps(json.loads(line)) for line in (world / "out" / "all.jsonl").read_text().splitlines()}
    assert found == {json.dumps([{"@id": f"{EX}a"}, ""]), json.dumps([{"@id": f"{EX}c"}, {"@id": f"{EX}g"}])}
