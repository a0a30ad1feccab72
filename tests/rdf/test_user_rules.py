"""Rules of the user that negate classes, and what is known of literals, in both layouts and when a graph goes over."""

import pytest

from tests.rdf.texts import graph, triples
from tidelog.errors import TidelogError
from tidelog.rdf.layouts import Layout

IDLE = "@prefix : <http://example.org/> .\n:Idle(x) :- :Person(x), !:Busy(x).\n"
PEOPLE = ":a a :Person . :b a :Person , :Busy ."


def test_classes_can_be_negated_where_they_are_relations():
    """The layout `rules` keeps classes apart, so negation is stratified, and follows updates."""
    kg = graph(PEOPLE, rules=IDLE)
    assert triples(":a a :Idle .")[0] in kg
    kg.apply(insert=triples(":a a :Busy ."))
    assert triples(":a a :Idle .")[0] not in kg


def test_over_triples_a_negation_is_refused_with_its_place():
    """All classes are one relation there; a relation of the user's own is above it and may negate."""
    with pytest.raises(TidelogError, match=r":2:\d+  E212  the rule derives .*Idle and negates .*Busy"):
        graph(PEOPLE, rules=IDLE, layout="triples")
    counted = "@prefix : <http://example.org/> .\n:many(x, n) :- :Person(x), n = count : { :knows(x, _) }.\n"
    with pytest.raises(TidelogError, match="E212"):
        graph(PEOPLE, rules=counted, layout="triples")
    kg = graph(PEOPLE, rules=IDLE.replace(":Idle", "idle"), layout="triples")
    assert len(kg.engine["idle"]) == 1


@pytest.mark.parametrize(
    "text",
    [
        ":p rdfs:subPropertyOf rdfs:subClassOf . :Person :p :Agent .",
        ":Person owl:sameAs :Human .",
        ":likes a owl:FunctionalProperty . :a :likes :Person , :Human .",
    ],
)
def test_a_graph_that_cannot_go_over_stays_what_it_was(text):
    """Before or after the engine has applied the update: a refusal changes nothing, and the graph goes on."""
    kg = graph(PEOPLE, rules=IDLE)
    before = set(kg), set(kg.explicit())
    with pytest.raises(TidelogError, match="E212"):
        kg.apply(insert=triples(text))
    assert (set(kg), set(kg.explicit())) == before
    assert kg.layout is Layout.RULES
    kg.apply(insert=triples(":a a :Busy ."))
    assert triples(":a a :Idle .")[0] not in kg
    kg.verify()


def test_a_rule_that_comes_with_an_axiom_that_makes_the_graph_go_over():
    """Both are there afterwards; the rule used to be forgotten by the engine below."""
    kg = graph(":a a :Person .")
    rule = "@prefix : <http://example.org/> .\n:Being(x) :- :Human(x)."
    kg.apply(insert=triples(":Person owl:sameAs :Human ."), add_rules=rule)
    assert kg.layout is Layout.TRIPLES
    assert triples(":a a :Being .")[0] in kg
    kg.apply(remove_rules=[rule])
    assert triples(":a a :Being .")[0] not in kg


@pytest.mark.parametrize("layout", ["rules", "triples"])
def test_a_literal_is_ill_typed_as_long_as_a_triple_has_it(layout):
    """Deleting one of two triples with it used to take the inconsistency away."""
    kg = graph(':a :age "old"^^xsd:integer . :b :age "old"^^xsd:integer .', layout=layout)
    assert [rule for rule, _, _ in kg.inconsistencies] == ["dt-not-type"]
    kg.apply(delete=triples(':a :age "old"^^xsd:integer .'))
    assert [rule for rule, _, _ in kg.inconsistencies] == ["dt-not-type"]
    kg.apply(delete=triples(':b :age "old"^^xsd:integer .'))
    assert kg.inconsistencies == []


def test_properties_that_no_rule_reads_are_no_typing_errors(recwarn):
    """`:age` beside a rule about `:ages`: data of a graph are mostly read by no rule."""
    graph(":a :age 1 . :ages rdfs:domain :Person .")
    assert [str(one.message) for one in recwarn if "W203" in str(one.message)] == []


def test_an_inline_relation_may_be_the_users_own_and_no_class():
    """What is inline has no facts, and the facts of a class are triples."""
    prefix = "@prefix ex: <http://example.org/> .\n"
    own = f"{prefix}.decl pair(x: any, y: any) inline\npair(x, y) :- ex:p(x, y), ex:p(y, x).\nex:Twin(x) :- pair(x, _)."
    for layout in ("rules", "triples"):
        found = graph(":a :p :b . :b :p :a .", "none", rules=own, layout=layout)
        assert sum("Twin" in str(triple) for triple in found) == 2
        assert "pair" not in found.engine.relations
    with pytest.raises(TidelogError, match="E214"):
        graph("", rules=f"{prefix}.decl ex:Twin(x: any) inline\nex:Twin(x) :- ex:p(x, x).")
