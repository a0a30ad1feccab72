"""Random small graphs: axioms of every kind over few names, so that they meet."""

import random

from tests.rdf.texts import triples

CLASSES = [f":C{number}" for number in range(5)] + ["owl:Thing"]
PROPERTIES = [f":p{number}" for number in range(4)]
THINGS = [f":a{number}" for number in range(6)]
VALUES = [*THINGS, "1", "2", '"x"', '"x"@en']


def axiom(chance, plain=False):
    """One axiom as Turtle."""
    c, d, e = (chance.choice(CLASSES) for _ in range(3))
    c = chance.choice(CLASSES[:-1])
    p, q, r = (chance.choice(PROPERTIES) for _ in range(3))
    v = chance.choice(THINGS)
    basic = [
        f"{c} rdfs:subClassOf {d} .",
        f"{p} rdfs:subPropertyOf {q} .",
        f"{p} rdfs:domain {d} .",
        f"{p} rdfs:range {c} .",
        f"{c} owl:equivalentClass {d} .",
        f"{p} owl:equivalentProperty {q} .",
        f"{p} owl:inverseOf {q} .",
        f"{p} a owl:TransitiveProperty .",
        f"{p} a owl:SymmetricProperty .",
        f"{c} a owl:Class .",
        f"{p} a owl:ObjectProperty .",
    ]
    if plain:
        return chance.choice(basic)
    return chance.choice(
        [
            *basic,
            f"{p} a owl:FunctionalProperty .",
            f"{p} a owl:InverseFunctionalProperty .",
            f"{p} a owl:IrreflexiveProperty .",
            f"{p} a owl:AsymmetricProperty .",
            f"{c} owl:disjointWith {d} .",
            f"{c} owl:complementOf {d} .",
            f"{p} owl:propertyDisjointWith {q} .",
            f"{p} owl:propertyChainAxiom ({q} {r}) .",
            f"{c} owl:hasKey ({p}) .",
            f"{c} owl:intersectionOf ({d} {e}) .",
            f"{c} owl:unionOf ({d} {e}) .",
            f"{c} owl:oneOf ({v} :a0) .",
            f"{c} owl:someValuesFrom {d} ; owl:onProperty {p} .",
            f"{c} owl:someValuesFrom owl:Thing ; owl:onProperty {p} .",
            f"{c} owl:allValuesFrom {d} ; owl:onProperty {p} .",
            f"{c} owl:hasValue {v} ; owl:onProperty {p} .",
            f'{c} owl:maxCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty {p} .',
            f'{c} owl:maxCardinality "0"^^xsd:nonNegativeInteger ; owl:onProperty {p} .',
            f'{c} owl:maxQualifiedCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty {p} ; owl:onClass {d} .',
            f"[] a owl:AllDisjointClasses ; owl:members ({c} {d} {e}) .",
            f"[] a owl:AllDifferent ; owl:members ({v} :a1 :a2) .",
            f"[] owl:sourceIndividual {v} ; owl:assertionProperty {p} ; owl:targetIndividual :a1 .",
        ]
    )


def datum(chance, with_same=True):
    """One triple about things."""
    x, y = chance.choice(THINGS), chance.choice(THINGS)
    kinds = [f"{x} {chance.choice(PROPERTIES)} {y} .", f"{x} a {chance.choice(CLASSES[:-1])} ."] * 4
    kinds += [f"{x} {chance.choice(PROPERTIES)} {chance.choice(VALUES)} ."]
    if with_same:
        kinds += [f"{x} owl:sameAs {y} .", f"{x} owl:differentFrom {y} ."]
    return chance.choice(kinds)


def strange(chance):
    """An axiom about the vocabulary itself, or a name that is used in two ways."""
    return chance.choice(
        [
            ":p0 rdfs:subPropertyOf rdfs:subClassOf . :C0 :p0 :C1 .",
            ":p0 rdfs:range owl:TransitiveProperty . :a0 :p0 :p1 .",
            ":C0 owl:sameAs :C1 .",
            ":p0 owl:sameAs :p1 .",
            ":C0 :p0 :C1 . :p0 rdfs:subPropertyOf owl:equivalentClass .",
            ":C2 rdfs:subClassOf owl:SymmetricProperty . :p1 a :C2 .",
        ]
    )


def world(seed, *, axioms=6, data=14, plain=False, oddity=0.0, with_same=True):
    """Triples of one random graph."""
    chance = random.Random(seed)
    lines = [axiom(chance, plain) for _ in range(chance.randint(1, axioms))]
    lines += [datum(chance, with_same) for _ in range(chance.randint(2, data))]
    if chance.random() < oddity:
        lines.append(strange(chance))
    return triples("\n".join(lines))
