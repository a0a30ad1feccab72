"""Terms keep what they are, through every format and through the engine."""

import gzip
import random

import pyoxigraph as ox
import pytest
import rdflib

from tests.rdf.texts import PREFIXES, triples
from tidelog import Engine, rdf
from tidelog.errors import TidelogError, UpdateError
from tidelog.rdf import IRI, XSD, BlankNode, Graph, Literal, literal
from tidelog.rdf.literals import constant, spelled
from tidelog.rdf.read import FORMATS, read_quads

TEXT = """
:a :p 1 , 1.0 , 1.0E0 , true , "1" , "01"^^xsd:integer , "x"@en , "x"@en-GB , "2020-01-01"^^xsd:date .
:a :q "INF"^^xsd:double , "NaN"^^xsd:double , "-0"^^xsd:double , "99999999999999999999999"^^xsd:integer .
:a :q "no"^^xsd:integer , "\\u00e9\\U0001F600" .
:a :r "quote \\" back \\\\ slash \\n line \\t tab" , <http://example.org/1> , "http://example.org/1" .
:a :s "unknown"^^:type , "P1Y"^^xsd:duration , "1.5"^^xsd:float .
"""


@pytest.mark.parametrize("ending", sorted(set(FORMATS) - {".n3", ".turtle", ".xml", ".owl"}))
@pytest.mark.parametrize("packed", ["", ".gz", ".bz2", ".xz"])
def test_every_format_round_trips(tmp_path, ending, packed):
    """What is written and read again is the same graph."""
    given = set(triples(TEXT))
    path = Graph(list(given)).write(tmp_path / f"graph{ending}{packed}")
    assert set(Graph(path)) == given


def test_identity_is_the_canonical_term():
    """Seven ways to write one, and what is one constant and what is not."""
    same = [literal("1", XSD.integer), literal("01", XSD.integer), literal("+1", XSD.int), 1]
    assert {(type(value), value) for value in same} == {(int, 1)}
    different = [1, literal("1.0", XSD.decimal), 1.0, True, "1", literal("1", XSD.float), IRI("http://example.org/1")]
    engine = Engine()
    engine.apply(insert={"p": [(value,) for value in different]})
    assert len(engine["p"]) == len(different)
    assert all((value,) in engine["p"] for value in different)
    assert literal("1.0", XSD.decimal) == Literal("1", XSD.decimal)


def test_our_canonical_form_is_the_stores():
    """Every constant is spelled as Oxigraph's store gives it back, so that the mirror cannot diverge."""
    chance = random.Random(5)
    values = [chance.uniform(-1e6, 1e6) for _ in range(50)] + [10.0 ** chance.randint(-300, 300) for _ in range(50)]
    values += [1, -5, 2**63 - 1, True, "a\nb", literal("1.50", XSD.decimal), literal("1.5e3", XSD.float), 1e21, 5e-324]
    for value in values:
        store = ox.Store()
        store.bulk_load(f"<urn:a> <urn:b> {spelled(value)} .".encode(), format=ox.RdfFormat.N_TRIPLES)
        found = next(iter(store)).object
        assert str(found) == spelled(value)
        assert constant(str(found)) == value


def test_numbers_among_the_terms_compute_and_dates_compare():
    """Decimals are exact, dates and times compare by value, and what has no order is no instance."""
    engine = Engine(
        f"""
        twice(x, y + y) :- p(x, y).
        early(x) :- born(x, d), d < "2000-01-01T00:00:00Z"^^<{XSD.dateTime}>.
        total(n) :- n = sum y : {{ p(_, y) }}.
        """
    )
    engine.apply(
        insert={
            "p": [("a", literal("0.1", XSD.decimal)), ("b", literal("0.2", XSD.decimal))],
            "born": [
                ("old", literal("1999-12-31T23:00:00-02:00", XSD.dateTime)),
                ("older", literal("1999-12-31T23:00:00Z", XSD.dateTime)),
            ],
        }
    )
    assert ("a", literal("0.2", XSD.decimal)) in engine["twice"]
    assert set(engine["early"]) == {("older",)}
    assert list(engine["total"]) == [(literal("0.3", XSD.decimal),)]


def test_terms_are_saved_and_opened(tmp_path):
    """A state keeps terms terms."""
    rows = [(IRI("http://example.org/a"), "<http://example.org/a>"), (BlankNode("b"), literal("1.5", XSD.decimal))]
    engine = Engine("q(y, x) :- p(x, y).")
    engine.apply(insert={"p": rows})
    engine.save(tmp_path / "state")
    opened = Engine.open(tmp_path / "state")
    assert set(opened["q"]) == {(y, x) for x, y in rows}
    opened.verify()


def test_blank_nodes_of_two_files_do_not_meet(tmp_path):
    """The same label in two files is two nodes; the same file twice is the same nodes."""
    for name, text in (("one.nt", "_:x <urn:p> <urn:a> ."), ("two.nt", "_:x <urn:p> <urn:b> .")):
        (tmp_path / name).write_text(text)
    kg = Graph(tmp_path)
    assert len({triple[0] for triple in kg}) == 2
    kg.apply(insert=tmp_path / "one.nt")
    assert len(kg) == 2


def test_deletions_use_the_labels_that_we_gave(tmp_path):
    """By the file that was inserted, by the labels that the graph shows, or not at all."""
    path = tmp_path / "one.nt"
    path.write_text("_:x <urn:p> <urn:a> .\n_:y <urn:p> _:x .")
    kg = Graph(path)
    shown = list(kg)
    with pytest.raises(TidelogError, match="E334"):
        kg.apply(delete=[(BlankNode("x"), IRI("urn:p"), IRI("urn:a"))])
    other = tmp_path / "other.nt"
    other.write_text("_:z <urn:p> <urn:a> .")
    with pytest.raises(TidelogError, match="E334"):
        kg.apply(delete=other)
    kg.apply(delete=shown[:1])
    assert len(kg) == 1
    exported = kg.write(tmp_path / "exported.nt")
    kg.apply(delete=exported)
    assert len(kg) == 0
    kg.apply(insert=path)
    kg.apply(delete=path)
    assert len(kg) == 0


def test_other_libraries_graphs():
    """rdflib's and pyoxigraph's graphs and terms come in as they are."""
    text = PREFIXES + ":a :p :b , 5 , 'x'@en ."
    theirs = rdflib.Graph().parse(data=text, format="turtle")
    store = ox.Store()
    store.load(text.encode(), format=ox.RdfFormat.TURTLE)
    expected = set(triples(":a :p :b , 5 , 'x'@en ."))
    assert set(Graph(theirs)) == set(Graph(store)) == set(Graph(list(theirs))) == expected
    assert set(Graph([quad.triple for quad in store])) == expected


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("bad.nt", "<urn:a> <urn:p> <urn:b> .\n<urn:a> <urn:p .\n", "bad.nt:2"),
        ("bad.ttl", "@prefix : <urn:> .\n:a :p .\n", "bad.ttl:2"),
        ("bad.nt.gz", "not gzip", "E331"),
        ("bad.txt", "<urn:a> <urn:p> <urn:b> .", "E331"),
        ("bad.jsonld", '{"@context": "http://example.org/context", "@id": "urn:a"}', "E331"),
    ],
)
def test_bad_files_are_refused_with_their_place(tmp_path, name, text, code):
    """And nothing has changed."""
    (tmp_path / name).write_text(text)
    kg = Graph()
    with pytest.raises(TidelogError, match=code):
        kg.apply(insert=tmp_path / name)
    assert len(kg) == 0


def test_a_bad_iri_that_only_a_parser_sees(tmp_path):
    """The scanner leaves every IRI that it is not sure of to the parser, which refuses these."""
    for bad in ("http://exa mple.org/", "http://example.org/%zz", "http://[::1/", "http://a#b#c", "no-scheme"):
        (tmp_path / "one.nt").write_text(f"<urn:a> <urn:p> <{bad}> .\n")
        with pytest.raises(TidelogError, match="E331"):
            Graph(tmp_path / "one.nt")


def test_named_graphs_are_never_dropped_silently(tmp_path):
    """Refused by a graph unless their union is asked for; a fourth column for an engine."""
    path = tmp_path / "one.nq"
    path.write_text("<urn:a> <urn:p> <urn:b> <urn:g> .\n")
    with pytest.raises(TidelogError, match="E333"):
        Graph(path)
    assert len(Graph(path, named_graphs="union")) == 1
    engine = Engine()
    (quads,) = read_quads(path)
    engine.apply(insert={"quad": quads.facts()})
    assert list(engine["quad"]) == [tuple(IRI(f"urn:{name}") for name in "apbg")]


def test_the_scanner_reads_what_the_parser_reads(tmp_path):
    """Random N-Triples with escapes, comments, blanks and odd letters: equal to pyoxigraph's own reading."""
    chance = random.Random(7)
    pieces = [
        "<urn:a>",
        "<http://example.org/x%20y#z>",
        "_:b1",
        "_:b.2",
        '"plain"',
        '"é"',
        '"tab\\t"',
        '"\\u0041"@en-gb',
    ]
    pieces += ['"5"^^<http://www.w3.org/2001/XMLSchema#integer>', '""', '"a b"@de', "<http://example.org/é>"]
    for case in range(40):
        lines = []
        for _ in range(chance.randint(0, 8)):
            subject = chance.choice([piece for piece in pieces if piece[0] != '"'])
            blank = chance.choice([" ", "  ", "\t"])
            lines.append(f"{subject}{blank}<urn:p>{blank}{chance.choice(pieces)}{chance.choice(['', ' '])}. # note")
        path = tmp_path / f"case{case}.nt"
        path.write_text(chance.choice(["\n", "\r\n"]).join(lines), encoding="utf-8")
        (quads,) = read_quads(path, keep_labels=True)
        expected = {str(quad.triple) for quad in ox.parse(path=str(path), format=ox.RdfFormat.N_TRIPLES)}
        found = {" ".join(map(spelled, triple)) for triple in quads.triples()}
        assert found == {text.replace("^^<http://www.w3.org/2001/XMLSchema#string>", "") for text in expected}


def test_compressed_and_plain_are_one(tmp_path):
    """A .gz file is read like the file in it."""
    (tmp_path / "a.nt").write_text("<urn:a> <urn:p> <urn:b> .\n")
    (tmp_path / "a.nt.gz").write_bytes(gzip.compress((tmp_path / "a.nt").read_bytes()))
    assert len(Graph(tmp_path)) == 1


def test_an_engine_takes_rdf(tmp_path):
    """Files and graphs of other libraries as facts of one relation: terms, not texts."""
    (tmp_path / "a.ttl").write_text('<urn:a> <urn:p> 1, "1", <urn:b> .')
    known = {(IRI("urn:a"), IRI("urn:p"), value) for value in (1, "1", IRI("urn:b"))}
    other = rdflib.Graph()
    other.parse(tmp_path / "a.ttl")
    for source in (tmp_path / "a.ttl", other, ox.parse(path=str(tmp_path / "a.ttl"))):
        engine = Engine("thing(x) :- triple(x, _, _).")
        engine.apply(insert={"triple": rdf.facts(source)})
        assert set(engine["triple"]) == known
        assert set(engine["thing"]) == {(IRI("urn:a"),)}


@pytest.mark.parametrize("many", [1, 100])
def test_terms_of_rdflib_do_not_become_texts(many):
    """They are texts to Python: an IRI would silently be a string."""
    engine = Engine()
    with pytest.raises(UpdateError, match="column 1 of p has a term of rdflib in row 1"):
        engine.apply(insert={"p": [(rdflib.URIRef(f"urn:{number}"),) for number in range(many)]})
    assert engine.version == 0


def test_literals_that_have_no_value_are_counted(tmp_path):
    """The first of several is shown; terms have no order, so that their texts decide."""
    (tmp_path / "a.ttl").write_text('<urn:a> <urn:p> "x"@en, "y"@en, 1 .')
    kg = Graph(tmp_path / "a.ttl", rules="more(z) :- <urn:p>(_, y), z = y + 1.")
    assert set(kg.engine["more"]) == {(2,)}
    (lacking,) = kg.engine.apply(insert={"q": [(1,)]}).stats.without_value.values()
    assert (lacking.count, '"x"@en' in str(lacking)) == (2, True)
