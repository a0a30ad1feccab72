"""SPARQL over the materialisation, in step with every update, and without a way out."""

import pytest

from tests.rdf.texts import graph, triples
from tidelog.errors import TidelogError
from tidelog.rdf import IRI

TEXT = """
:Chair rdfs:subClassOf :Professor . :ann a :Chair ; :age 50 ; :name "Ann"@en . :bob a :Professor ; :age 40.5 .
"""
EX = "PREFIX : <http://example.org/> "


@pytest.fixture
def kg():
    return graph(TEXT)


def test_the_four_forms(kg):
    """SELECT gives rows, ASK yes or no, CONSTRUCT and DESCRIBE triples."""
    answer = kg.query(EX + "SELECT ?x ?age WHERE { ?x a :Professor ; :age ?age } ORDER BY ?age")
    assert answer.columns == ("x", "age")
    assert [row[0] for row in answer] == [IRI("http://example.org/bob"), IRI("http://example.org/ann")]
    assert answer.to_arrow().num_rows == 2
    assert list(answer.to_pandas()["x"])[1] == IRI("http://example.org/ann")
    assert kg.query(EX + "ASK { :ann a :Professor }")
    assert not kg.query(EX + "ASK { :bob a :Chair }")
    assert set(kg.query(EX + "CONSTRUCT { ?x :is 1 } WHERE { ?x a :Chair }")) == set(triples(":ann :is 1 ."))
    assert len(kg.query(EX + "DESCRIBE :bob")) == 2


def test_the_mirror_follows_every_update(kg):
    """Blank nodes included, and a graph that goes over to another layout."""
    count = EX + "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"
    for insert, delete in (
        (":cid a :Chair . _:b :knows :cid .", ""),
        ("", ":ann a :Chair ."),
        (":p rdfs:subPropertyOf rdfs:subClassOf . :Professor :p :Person .", ""),
        ("", ":Chair rdfs:subClassOf :Professor ."),
    ):
        kg.apply(insert=triples(insert), delete=triples(delete))
        assert list(kg.query(count)) == [(len(kg),)]
    shown = [triple for triple in kg if triple[1] == IRI("http://example.org/knows")]
    kg.apply(delete=shown)
    assert list(kg.query(count)) == [(len(kg),)]


def test_parameters_are_values_and_never_text(kg):
    """A parameter binds a variable; what it holds is not parsed."""
    answer = kg.query(EX + "SELECT ?x WHERE { ?x a :Professor . ?x :age ?age }", parameters={"age": 50})
    assert list(answer) == [(IRI("http://example.org/ann"),)]
    assert not kg.query(EX + "SELECT ?x WHERE { ?x :name ?n }", parameters={"n": '" } SERVICE <urn:x> {'})


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * WHERE { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
        "SELECT * FROM <http://127.0.0.1:1/> WHERE { ?s ?p ?o }",
        "SELECT * WHERE { \\u0053ERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
        "SELECT * WHERE { # \n service\n<http://127.0.0.1:1/> { ?s ?p ?o } }",
    ],
)
def test_nothing_is_fetched(kg, text):
    """However it is spelled."""
    with pytest.raises(TidelogError, match=r"E832|E831"):
        kg.query(text)


@pytest.mark.parametrize("word", ['"SERVICE"', "<http://example.org/FROM>", ":LOAD", '"""FROM x"""'])
def test_words_in_strings_and_names_are_no_fetching(kg, word):
    """Only keywords are refused."""
    assert len(kg.query(EX + f"SELECT * WHERE {{ ?s ?p {word} }}")) == 0


def test_bad_queries_say_what_is_wrong(kg):
    """With the parser's own words."""
    with pytest.raises(TidelogError, match="E831"):
        kg.query("SELECT nonsense")


def test_updates(kg):
    """Ground data, and DELETE/INSERT WHERE, whose pattern sees what is derived."""
    change = kg.update(EX + "INSERT DATA { :dan a :Chair ; :age 60 }")
    assert set(triples(":dan a :Professor .")) <= set(change.inserted)
    kg.update(EX + "DELETE { ?x :age ?n } INSERT { ?x :years ?n } WHERE { ?x a :Professor ; :age ?n FILTER(?n >= 50) }")
    assert len(kg.query(EX + "SELECT ?x WHERE { ?x :years ?n }")) == 2
    kg.update(EX + "DELETE DATA { :dan a :Chair }")
    assert not kg.query(EX + "ASK { :dan a :Professor }")
    kg.update(EX + "DELETE WHERE { ?x :years ?n }")
    assert not kg.query(EX + "ASK { ?x :years ?n }")
    kg.verify()


def test_several_operations_are_one_update(kg):
    """The last one that names a triple decides; the first may have a WHERE."""
    version = kg.version
    kg.update(
        EX + "DELETE { ?x :age ?n } INSERT { ?x :years ?n } WHERE { ?x :age ?n } ;\n"
        "INSERT DATA { :eve a :Chair . :fay a :Chair } ; DELETE DATA { :eve a :Chair } ;"
    )
    assert kg.version == version + 1
    assert kg.query(EX + "ASK { :fay a :Professor }")
    assert not kg.query(EX + "ASK { :eve a :Chair }")
    assert not kg.query(EX + "ASK { ?x :age ?n }")
    kg.verify()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("LOAD <http://127.0.0.1:1/>", "E832"),
        ("CLEAR ALL", "E833"),
        ("INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> <urn:c> } }", "E833"),
        ("INSERT DATA { <urn:a> <urn:b> <urn:c> } ; DELETE WHERE { <urn:a> ?p ?o }", "E833"),
        ("INSERT nonsense", "E831"),
    ],
)
def test_other_updates_are_refused(kg, text, code):
    """And change nothing."""
    before = set(kg)
    with pytest.raises(TidelogError, match=code):
        kg.update(text)
    assert set(kg) == before
