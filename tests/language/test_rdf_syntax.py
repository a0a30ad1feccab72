"""IRIs, prefixes and literals in rules, and RDFox's dialect."""

import pytest

from tidelog import Engine
from tidelog.errors import TidelogError
from tidelog.language.parser import parse
from tidelog.language.printer import print_program, print_rule
from tidelog.language.rdf_terms import IRI, BlankNode, Literal
from tidelog.language.read import read_rules

UB = "@prefix ub: <http://example.org/ub#> .\n"
XSD = "http://www.w3.org/2001/XMLSchema#"


def only(text):
    (rule,) = parse(text).rules
    return rule


def test_prefixed_names_are_relations_and_constants():
    """The relation's name is the IRI itself."""
    rule = only(UB + "ub:Boss(?x) :- ub:headOf(?x, ub:Sales), !<http://example.org/Shy>(?x).")
    assert rule.head.relation == "http://example.org/ub#Boss"
    assert rule.body[0].terms[1].value == IRI("http://example.org/ub#Sales")
    assert rule.body[1].atom.relation == "http://example.org/Shy"


@pytest.mark.parametrize(
    "text",
    [
        "r1:p(x) :- q(x).",
        "n(k) :- k = count:{ p(x) }.",
        "n(k) :- k = sum x:p(x).",
        "p(x) :- q(x, y), x <y, y> 3.",
        ".decl p(x:number)\np(x) :- q(x).",
    ],
)
def test_texts_without_prefixes_read_as_before(text):
    """A colon without a declared prefix is what it always was."""
    assert print_program(parse(text)) == print_program(parse(text.replace(":p(", ": p(").replace("x:", "x: ")))


def test_a_rule_name_is_no_prefix():
    """`ub: p(x)` is a rule with a name; if `ub` is a prefix, that is a mistake."""
    with pytest.raises(TidelogError, match="E131"):
        parse(UB + "ub: p(x) :- q(x).")
    assert only("ub: p(x) :- q(x).").name == "ub"


def test_literals():
    """Typed literals become what they are; others stay terms."""
    text = f'"01"^^xsd:integer, "1.50"^^xsd:decimal, "x"@EN, "1.0"^^<{XSD}double>, _:b, "a"^^<urn:t>'
    terms = parse(f"@prefix xsd: <{XSD}> .\np({text}).").facts[0]
    assert [constant.value for constant in terms.values] == [
        1, Literal("1.5", f"{XSD}decimal"), Literal("x", language="en"), 1.0, BlankNode("b"), Literal("a", "urn:t"),
    ]  # fmt: skip


def test_what_is_printed_is_read_again():
    """IRIs as relations, constants and rule names, blank nodes and literals."""
    text = UB + 'r: ub:p(x, "a\\n"@en) :- ub:q(x, _:b, "1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>).'
    program = parse(text)
    assert parse(print_program(program)) == program
    named = parse("`http://example.org/a.1`: p(x) :- q(x).")
    assert parse(print_program(named)) == named


RDFOX = """
@prefix : <http://example.org/> .
[?x, a, :Person] :- [?x, :worksFor, ?y] .
[?x, :knows, ?y], [?y, :knows, ?x] :- [?x, :meets, ?y], NOT [?x, a, :Shy], FILTER(?x != ?y) .
[?x, a, :Lonely] :- [?x, a, :Person], NOT EXISTS ?y IN [?x, :knows, ?y] .
[?x, :friends, ?n] :- AGGREGATE([?x, :knows, ?y] ON ?x BIND COUNT(?y) AS ?n) .
[?s, ?q, ?o] :- [?s, ?p, ?o], [?p, :below, ?q] .
"""


def test_rdfox_rules():
    """Triples with named classes and properties are atoms of one and two columns."""
    rules = [print_rule(rule) for rule in read_rules(RDFOX, "rdfox").rules]
    e = "http://example.org/"
    assert rules == [
        f"<{e}Person>(x) :- <{e}worksFor>(x, y).",
        f"<{e}knows>(x, y) :- <{e}meets>(x, y), !<{e}Shy>(x), x != y.",
        f"<{e}knows>(y, x) :- <{e}meets>(x, y), !<{e}Shy>(x), x != y.",
        f"<{e}Lonely>(x) :- <{e}Person>(x), !<{e}knows>(x, y).",
        f"<{e}friends>(x, n) :- <{e}knows>(x, y), n = count : {{ <{e}knows>(x, y1) }}.",
        f"triple(s, q, o) :- triple(s, p, o), <{e}below>(p, q).",
    ]


def test_dialects_at_run_time():
    """Rules of every dialect come and go, by name or by any text that means them."""
    engine = Engine()
    engine.apply(add_rules="@prefix : <urn:> .\n[?x, a, :P] :- [?x, :q, ?y] .", dialect="rdfox")
    engine.apply(add_rules="s(?X) :- t(?X, ?Y) .", dialect="zodiacedge")
    engine.apply(add_rules="u(x) :- v(x, y), y > 2.")
    assert len(engine.rules) == 3
    engine.apply(add_rules="u(a) :- v(a,b), b>2.")
    assert len(engine.rules) == 3, "a renamed variant is the same rule"
    engine.apply(remove_rules=["@prefix z: <urn:> .\n[?k, a, z:P] :- [?k, z:q, ?l] ."], dialect="rdfox")
    engine.apply(remove_rules=["s(?A):-t(?A,?B)."], dialect="zodiacedge")
    engine.apply(remove_rules=["u(  z ) :- v(z,w) , w>2 ."])
    assert engine.rules == ()
    with pytest.raises(TidelogError, match="E803"):
        engine.apply(remove_rules=["u(z) :- v(z, w), w > 3."])
