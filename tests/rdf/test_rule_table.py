"""Every rule of the OWL 2 RL/RDF table, alone.

A case is the smallest graph in which one rule has something to say, and what it says. With only that rule (and the list
relations) in force the conclusion is there; without a premise it is not. With the whole table in force both layouts
have it too, so that the compiled form of a rule is tested beside the literal one.
"""

import pytest

from tests.rdf.texts import graph, triples
from tidelog import Engine
from tidelog.language.parser import parse
from tidelog.language.terms import Program
from tidelog.rdf.rule_table import INCONSISTENCY, OPTIONAL, TRIPLE, rule_table
from tidelog.rdf.user_rules import HELPERS

CASES = {
    "eq-ref": (":a :p :b .", ":a owl:sameAs :a ."),
    "eq-sym": (":a owl:sameAs :b .", ":b owl:sameAs :a ."),
    "eq-trans": (":a owl:sameAs :b . :b owl:sameAs :c .", ":a owl:sameAs :c ."),
    "eq-rep-s": (":a owl:sameAs :b . :a :p :c .", ":b :p :c ."),
    "eq-rep-p": (":p owl:sameAs :q . :a :p :c .", ":a :q :c ."),
    "eq-rep-o": (":a owl:sameAs :b . :c :p :a .", ":c :p :b ."),
    "eq-diff1": (":a owl:sameAs :b . :a owl:differentFrom :b .", None),
    "eq-diff2": ("[] a owl:AllDifferent ; owl:members (:a :b :c) . :a owl:sameAs :c .", None),
    "eq-diff3": ("[] a owl:AllDifferent ; owl:distinctMembers (:a :b) . :a owl:sameAs :b .", None),
    "prp-ap": ("", "rdfs:label a owl:AnnotationProperty ."),
    "prp-dom": (":p rdfs:domain :C . :a :p :b .", ":a a :C ."),
    "prp-rng": (":p rdfs:range :C . :a :p :b .", ":b a :C ."),
    "prp-fp": (":p a owl:FunctionalProperty . :a :p :b , :c .", ":b owl:sameAs :c ."),
    "prp-ifp": (":p a owl:InverseFunctionalProperty . :a :p :c . :b :p :c .", ":a owl:sameAs :b ."),
    "prp-irp": (":p a owl:IrreflexiveProperty . :a :p :a .", None),
    "prp-symp": (":p a owl:SymmetricProperty . :a :p :b .", ":b :p :a ."),
    "prp-asyp": (":p a owl:AsymmetricProperty . :a :p :b . :b :p :a .", None),
    "prp-trp": (":p a owl:TransitiveProperty . :a :p :b . :b :p :c .", ":a :p :c ."),
    "prp-spo1": (":p rdfs:subPropertyOf :q . :a :p :b .", ":a :q :b ."),
    "prp-spo2": (":q owl:propertyChainAxiom (:p :r :s) . :a :p :b . :b :r :c . :c :s :d .", ":a :q :d ."),
    "prp-eqp1": (":p owl:equivalentProperty :q . :a :p :b .", ":a :q :b ."),
    "prp-eqp2": (":p owl:equivalentProperty :q . :a :q :b .", ":a :p :b ."),
    "prp-pdw": (":p owl:propertyDisjointWith :q . :a :p :b ; :q :b .", None),
    "prp-adp": ("[] a owl:AllDisjointProperties ; owl:members (:p :q :r) . :a :p :b ; :r :b .", None),
    "prp-inv1": (":p owl:inverseOf :q . :a :p :b .", ":b :q :a ."),
    "prp-inv2": (":p owl:inverseOf :q . :a :q :b .", ":b :p :a ."),
    "prp-key": (":C owl:hasKey (:p :q) . :a a :C ; :p 1 ; :q 2 . :b a :C ; :p 1 ; :q 2 .", ":a owl:sameAs :b ."),
    "prp-npa1": (
        "[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetIndividual :b . :a :p :b .",
        None,
    ),
    "prp-npa2": ("[] owl:sourceIndividual :a ; owl:assertionProperty :p ; owl:targetValue 5 . :a :p 5 .", None),
    "cls-thing": ("", "owl:Thing a owl:Class ."),
    "cls-nothing1": ("", "owl:Nothing a owl:Class ."),
    "cls-nothing2": (":a a owl:Nothing .", None),
    "cls-int1": (":C owl:intersectionOf (:D :E :F) . :a a :D , :E , :F .", ":a a :C ."),
    "cls-int2": (":C owl:intersectionOf (:D :E) . :a a :C .", ":a a :E ."),
    "cls-uni": (":C owl:unionOf (:D :E) . :a a :E .", ":a a :C ."),
    "cls-com": (":C owl:complementOf :D . :a a :C , :D .", None),
    "cls-svf1": (":R owl:someValuesFrom :C ; owl:onProperty :p . :a :p :b . :b a :C .", ":a a :R ."),
    "cls-svf2": (":R owl:someValuesFrom owl:Thing ; owl:onProperty :p . :a :p :b .", ":a a :R ."),
    "cls-avf": (":R owl:allValuesFrom :C ; owl:onProperty :p . :a a :R ; :p :b .", ":b a :C ."),
    "cls-hv1": (":R owl:hasValue :v ; owl:onProperty :p . :a a :R .", ":a :p :v ."),
    "cls-hv2": (":R owl:hasValue :v ; owl:onProperty :p . :a :p :v .", ":a a :R ."),
    "cls-maxc1": (
        ':R owl:maxCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty :p . :a a :R ; :p :b .',
        None,
    ),
    "cls-maxc2": (
        ':R owl:maxCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty :p . :a a :R ; :p :b , :c .',
        ":b owl:sameAs :c .",
    ),
    "cls-maxqc1": (
        ':R owl:maxQualifiedCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty :p ; owl:onClass :C .'
        ":a a :R ; :p :b . :b a :C .",
        None,
    ),
    "cls-maxqc2": (
        ':R owl:maxQualifiedCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty :p ; owl:onClass owl:Thing .'
        ":a a :R ; :p :b .",
        None,
    ),
    "cls-maxqc3": (
        ':R owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty :p ; owl:onClass :C .'
        ":a a :R ; :p :b , :c . :b a :C . :c a :C .",
        ":b owl:sameAs :c .",
    ),
    "cls-maxqc4": (
        ':R owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty :p ; owl:onClass owl:Thing .'
        ":a a :R ; :p :b , :c .",
        ":b owl:sameAs :c .",
    ),
    "cls-oo": (":C owl:oneOf (:a :b) .", ":b a :C ."),
    "cax-sco": (":C rdfs:subClassOf :D . :a a :C .", ":a a :D ."),
    "cax-eqc1": (":C owl:equivalentClass :D . :a a :C .", ":a a :D ."),
    "cax-eqc2": (":C owl:equivalentClass :D . :a a :D .", ":a a :C ."),
    "cax-dw": (":C owl:disjointWith :D . :a a :C , :D .", None),
    "cax-adc": ("[] a owl:AllDisjointClasses ; owl:members (:C :D :E) . :a a :C , :E .", None),
    "dt-type1": ("", "xsd:integer a rdfs:Datatype ."),
    "scm-cls": (":C a owl:Class .", ":C rdfs:subClassOf :C , owl:Thing ; owl:equivalentClass :C ."),
    "scm-sco": (":C rdfs:subClassOf :D . :D rdfs:subClassOf :E .", ":C rdfs:subClassOf :E ."),
    "scm-eqc1": (":C owl:equivalentClass :D .", ":C rdfs:subClassOf :D . :D rdfs:subClassOf :C ."),
    "scm-eqc2": (":C rdfs:subClassOf :D . :D rdfs:subClassOf :C .", ":C owl:equivalentClass :D ."),
    "scm-op": (":p a owl:ObjectProperty .", ":p rdfs:subPropertyOf :p ; owl:equivalentProperty :p ."),
    "scm-dp": (":p a owl:DatatypeProperty .", ":p rdfs:subPropertyOf :p ; owl:equivalentProperty :p ."),
    "scm-spo": (":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r .", ":p rdfs:subPropertyOf :r ."),
    "scm-eqp1": (":p owl:equivalentProperty :q .", ":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p ."),
    "scm-eqp2": (":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :p .", ":p owl:equivalentProperty :q ."),
    "scm-dom1": (":p rdfs:domain :C . :C rdfs:subClassOf :D .", ":p rdfs:domain :D ."),
    "scm-dom2": (":q rdfs:domain :C . :p rdfs:subPropertyOf :q .", ":p rdfs:domain :C ."),
    "scm-rng1": (":p rdfs:range :C . :C rdfs:subClassOf :D .", ":p rdfs:range :D ."),
    "scm-rng2": (":q rdfs:range :C . :p rdfs:subPropertyOf :q .", ":p rdfs:range :C ."),
    "scm-hv": (
        ":C owl:hasValue :i ; owl:onProperty :p . :D owl:hasValue :i ; owl:onProperty :q . :p rdfs:subPropertyOf :q .",
        ":C rdfs:subClassOf :D .",
    ),
    "scm-svf1": (
        ":C owl:someValuesFrom :Y ; owl:onProperty :p . :D owl:someValuesFrom :Z ; owl:onProperty :p ."
        ":Y rdfs:subClassOf :Z .",
        ":C rdfs:subClassOf :D .",
    ),
    "scm-svf2": (
        ":C owl:someValuesFrom :Y ; owl:onProperty :p . :D owl:someValuesFrom :Y ; owl:onProperty :q ."
        ":p rdfs:subPropertyOf :q .",
        ":C rdfs:subClassOf :D .",
    ),
    "scm-avf1": (
        ":C owl:allValuesFrom :Y ; owl:onProperty :p . :D owl:allValuesFrom :Z ; owl:onProperty :p ."
        ":Y rdfs:subClassOf :Z .",
        ":C rdfs:subClassOf :D .",
    ),
    "scm-avf2": (
        ":C owl:allValuesFrom :Y ; owl:onProperty :p . :D owl:allValuesFrom :Y ; owl:onProperty :q ."
        ":p rdfs:subPropertyOf :q .",
        ":D rdfs:subClassOf :C .",
    ),
    "scm-int": (":C owl:intersectionOf (:D :E) .", ":C rdfs:subClassOf :D , :E ."),
    "scm-uni": (":C owl:unionOf (:D :E) .", ":D rdfs:subClassOf :C . :E rdfs:subClassOf :C ."),
    "dt-not-type": (':a :p "x"^^xsd:integer .', None),
    "dt-type2": (":a :p 5 .", None),
    "dt-eq": (':a :p 5 . :b :p "5.0"^^xsd:decimal .', None),
    "dt-diff": (":a :p 5 . :b :p 6 .", None),
}
OF_LITERALS = ("dt-not-type", "dt-type2", "dt-eq", "dt-diff")


def alone(name, given):
    """What one rule of the table derives, with the relations of lists beside it."""
    table = rule_table("owl-rl", OPTIONAL)
    rules = tuple(rule for known, rule in table if known in (name, "list-member", "list-before"))
    engine = Engine(Program(rules, (), parse(HELPERS).declarations))
    engine.apply(insert={TRIPLE: given} if given else {})
    return engine


def test_the_table_is_whole():
    """Every rule of tables 4 to 9 of the Recommendation is there, and every rule that is there has a case."""
    names = {name for name, _ in rule_table("owl-rl", OPTIONAL)} - {"list-member", "list-before"}
    assert names == set(CASES)
    assert len(names) == 9 + 20 + 19 + 5 + 5 + 20


@pytest.mark.parametrize("name", [name for name in CASES if name not in OF_LITERALS])
def test_a_rule_alone(name):
    """The rule concludes what the table says, and nothing if a premise is missing."""
    text, conclusion = CASES[name]
    given = triples(text)
    engine = alone(name, given)
    if conclusion is None:
        assert {rule for rule, _, _ in engine[INCONSISTENCY]} == {name}
    else:
        assert all(triple in engine[TRIPLE] for triple in triples(conclusion))
    for left_out in given if "rdf-syntax-ns#nil" not in str(given) else []:
        less = alone(name, [triple for triple in given if triple != left_out])
        if conclusion is None:
            assert len(less[INCONSISTENCY]) == 0
        else:
            expected = [triple for triple in triples(conclusion) if triple != left_out]
            assert not all(triple in less[TRIPLE] for triple in expected)


@pytest.mark.parametrize("layout", ["auto", "triples"])
@pytest.mark.parametrize("name", [name for name in CASES if name not in OPTIONAL])
def test_a_rule_among_all(name, layout):
    """With the whole table in force both layouts have the conclusion, and it has a proof."""
    text, conclusion = CASES[name]
    kg = graph(text, layout=layout)
    if conclusion is None:
        found = [one for one in kg.inconsistencies if one[0] == name]
        assert found
        assert str(kg.explain_inconsistency(found[0]))
    else:
        for triple in triples(conclusion):
            assert triple in kg
            assert str(kg.explain(triple))
    kg.verify()


def test_optional_rules_are_off_and_can_be_asked_for():
    """eq-ref, dt-type2, dt-eq and dt-diff."""
    plain = graph(CASES["eq-ref"][0])
    assert triples(":a owl:sameAs :a .")[0] not in plain
    assert triples(":a owl:sameAs :a .")[0] in graph(CASES["eq-ref"][0], options=["eq-ref"])
    typed = graph(CASES["dt-type2"][0], options=["dt-type2"])
    five = triples(":a :p 5 .")[0][2]
    (integer, kind, _) = triples("xsd:integer a :x .")[0]
    assert (five, kind, integer) in typed.engine[TRIPLE]
    equal = graph(CASES["dt-eq"][0], options=["dt-eq"])
    same = triples(":x owl:sameAs :y .")[0][1]
    assert [row for row in equal.engine[TRIPLE] if row[1] == same]
    different = graph(CASES["dt-diff"][0], options=["dt-diff"])
    other = triples(":x owl:differentFrom :y .")[0][1]
    assert len([row for row in different.engine[TRIPLE] if row[1] == other]) == 2
    assert not [row for row in different if row[1] == other], "a literal as subject is not shown"


RDFS_CASES = {
    "rdfs2": (":p rdfs:domain :C . :a :p :b .", ":a a :C ."),
    "rdfs3": (":p rdfs:range :C . :a :p :b .", ":b a :C ."),
    "rdfs5": (":p rdfs:subPropertyOf :q . :q rdfs:subPropertyOf :r .", ":p rdfs:subPropertyOf :r ."),
    "rdfs6": (":p a rdf:Property .", ":p rdfs:subPropertyOf :p ."),
    "rdfs7": (":p rdfs:subPropertyOf :q . :a :p :b .", ":a :q :b ."),
    "rdfs8": (":C a rdfs:Class . :a a :C .", ":C rdfs:subClassOf rdfs:Resource . :a a rdfs:Resource ."),
    "rdfs9": (":C rdfs:subClassOf :D . :a a :C .", ":a a :D ."),
    "rdfs10": (":C a rdfs:Class .", ":C rdfs:subClassOf :C ."),
    "rdfs11": (":C rdfs:subClassOf :D . :D rdfs:subClassOf :E .", ":C rdfs:subClassOf :E ."),
    "rdfs12": (
        ":p a rdfs:ContainerMembershipProperty . :a :p :b .",
        ":p rdfs:subPropertyOf rdfs:member . :a rdfs:member :b .",
    ),
    "rdfs13": (":D a rdfs:Datatype . :a a :D .", ":D rdfs:subClassOf rdfs:Literal . :a a rdfs:Literal ."),
}


@pytest.mark.parametrize("layout", ["auto", "triples"])
@pytest.mark.parametrize("name", RDFS_CASES)
def test_rdfs(name, layout):
    """Every pattern of RDFS that we take over, in both layouts."""
    text, conclusion = RDFS_CASES[name]
    kg = graph(text, reasoning="rdfs", layout=layout)
    assert all(triple in kg for triple in triples(conclusion))
