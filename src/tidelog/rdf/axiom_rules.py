"""The rules that each kind of axiom means.

What      : one short function per kind of axiom; `OWL_RL` and `RDFS_RULES` list them in the order of the table.
Source    : the rules of the two tables in this folder, with an axiom's classes and properties for the variables.
Invariant : rules whose consequences follow from others (prp-dom of a derived domain, cax-sco of a derived subclass) are
            left out; only scm-svf and scm-avf give subclasses that facts alone would not.
Never     : no ontology is changed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from tidelog.language.rdf_terms import IRI
from tidelog.language.terms import Atom, Constant, Literal, Value, Variable
from tidelog.rdf.axioms import (
    _U,
    _V,
    _X,
    _Y,
    _Z,
    KINDS,
    NOTHING,
    PREDICATES,
    SAME,
    THING,
    Compiler,
    Ontology,
    holds,
    is_of,
    statement,
    typed,
    unequal,
)
from tidelog.rdf.derived_subclasses import derived_subclasses, restrictions_of
from tidelog.rdf.layouts import BeyondRulesError, term_of_name
from tidelog.rdf.quads import Triple
from tidelog.rdf.vocabulary import OWL, RDFS

_SAME = IRI(SAME)


def domains(c: Compiler) -> None:
    """prp-dom (rdfs2)."""
    for p, d in c.ontology.pairs(RDFS.domain):
        c.add("prp-dom", (p, d), is_of(d, _X), [holds(p, _X, _Y)], [statement(p, RDFS.domain, d)])


def ranges(c: Compiler) -> None:
    """prp-rng (rdfs3)."""
    for p, d in c.ontology.pairs(RDFS.range):
        c.add("prp-rng", (p, d), is_of(d, _Y), [holds(p, _X, _Y)], [statement(p, RDFS.range, d)])


def subproperties(c: Compiler) -> None:
    """prp-spo1 (rdfs7)."""
    for p, q in c.ontology.pairs(RDFS.subPropertyOf):
        if p != q:
            c.add("prp-spo1", (p, q), holds(q, _X, _Y), [holds(p, _X, _Y)], [statement(p, RDFS.subPropertyOf, q)])


def subclasses(c: Compiler) -> None:
    """cax-sco (rdfs9)."""
    for d, e in c.ontology.pairs(RDFS.subClassOf):
        if d != e:
            c.add("cax-sco", (d, e), is_of(e, _X), [is_of(d, _X)], [statement(d, RDFS.subClassOf, e)])


def rdfs_classes(c: Compiler) -> None:
    """rdfs8 and rdfs13 with rdfs9: members of classes are resources, those of data types literals."""
    for kind, above in ((RDFS.Class, RDFS.Resource), (RDFS.Datatype, RDFS.Literal)):
        for d in c.ontology.members(kind):
            c.add("rdfs9", (d, IRI(above)), Atom(above, (_X,)), [is_of(d, _X)], [typed(d, kind)])


def rdfs_members(c: Compiler) -> None:
    """rdfs12 with rdfs7."""
    for p in c.ontology.members(RDFS.ContainerMembershipProperty):
        head = Atom(RDFS.member, (_X, _Y))
        c.add("rdfs7", (p, IRI(RDFS.member)), head, [holds(p, _X, _Y)], [typed(p, RDFS.ContainerMembershipProperty)])


def functional(c: Compiler) -> None:
    """prp-fp, prp-ifp."""
    for p in c.ontology.members(OWL.FunctionalProperty):
        body: list[Literal] = [holds(p, _X, _Y), holds(p, _X, _Z), unequal(_Y, _Z)]
        c.add("prp-fp", (p,), holds(_SAME, _Y, _Z), body, [typed(p, OWL.FunctionalProperty)])
    for p in c.ontology.members(OWL.InverseFunctionalProperty):
        body = [holds(p, _X, _Y), holds(p, _Z, _Y), unequal(_X, _Z)]
        c.add("prp-ifp", (p,), holds(_SAME, _X, _Z), body, [typed(p, OWL.InverseFunctionalProperty)])


def characteristics(c: Compiler) -> None:
    """prp-irp, prp-symp, prp-asyp, prp-trp."""
    for p in c.ontology.members(OWL.IrreflexiveProperty):
        axiom = [typed(p, OWL.IrreflexiveProperty)]
        c.false("prp-irp", [p], _X, Constant(p), [holds(p, _X, _X)], axiom)
    for p in c.ontology.members(OWL.SymmetricProperty):
        c.add("prp-symp", (p,), holds(p, _Y, _X), [holds(p, _X, _Y)], [typed(p, OWL.SymmetricProperty)])
    for p in c.ontology.members(OWL.AsymmetricProperty):
        axiom = [typed(p, OWL.AsymmetricProperty)]
        c.false("prp-asyp", [p], _X, _Y, [holds(p, _X, _Y), holds(p, _Y, _X)], axiom)
    for p in c.ontology.members(OWL.TransitiveProperty):
        body = [holds(p, _X, _Y), holds(p, _Y, _Z)]
        c.add("prp-trp", (p,), holds(p, _X, _Z), body, [typed(p, OWL.TransitiveProperty)])


def chains(c: Compiler) -> None:
    """prp-spo2."""
    for p, head in c.ontology.pairs(OWL.propertyChainAxiom):
        steps, links, is_whole = c.ontology.listed(head)
        if not steps or not is_whole:
            continue
        at = [Variable(f"u{number}") for number in range(len(steps) + 1)]
        body = [holds(step, at[number], at[number + 1]) for number, step in enumerate(steps)]
        axiom = [statement(p, OWL.propertyChainAxiom, head), *links]
        c.add("prp-spo2", (p, head), holds(p, at[0], at[-1]), body, axiom)


def equivalent_properties(c: Compiler) -> None:
    """prp-eqp1, prp-eqp2."""
    for p, q in c.ontology.pairs(OWL.equivalentProperty):
        axiom = [statement(p, OWL.equivalentProperty, q)]
        if p != q:
            c.add("prp-eqp1", (p, q), holds(q, _X, _Y), [holds(p, _X, _Y)], axiom)
            c.add("prp-eqp2", (p, q), holds(p, _X, _Y), [holds(q, _X, _Y)], axiom)


def disjoint_properties(c: Compiler) -> None:
    """prp-pdw, prp-adp."""
    for p, q in c.ontology.pairs(OWL.propertyDisjointWith):
        body: list[Literal] = [holds(p, _X, _Y), holds(q, _X, _Y)]
        c.false("prp-pdw", [p, q], _X, _Y, body, [statement(p, OWL.propertyDisjointWith, q)])
    for axiom, (p, q), triples in _listed_pairs(c.ontology, OWL.AllDisjointProperties, OWL.members):
        c.false("prp-adp", [axiom, p, q], _U, _V, [holds(p, _U, _V), holds(q, _U, _V)], triples)


def inverses(c: Compiler) -> None:
    """prp-inv1, prp-inv2."""
    for p, q in c.ontology.pairs(OWL.inverseOf):
        axiom = [statement(p, OWL.inverseOf, q)]
        c.add("prp-inv1", (p, q), holds(q, _Y, _X), [holds(p, _X, _Y)], axiom)
        if p != q:
            c.add("prp-inv2", (p, q), holds(p, _Y, _X), [holds(q, _X, _Y)], axiom)


def keys(c: Compiler) -> None:
    """prp-key."""
    for d, head in c.ontology.pairs(OWL.hasKey):
        properties, links, is_whole = c.ontology.listed(head)
        if not properties or not is_whole:
            continue
        body: list[Literal] = [is_of(d, _X), is_of(d, _Y)]
        for number, p in enumerate(properties):
            value = Variable(f"z{number}")
            body += [holds(p, _X, value), holds(p, _Y, value)]
        axiom = [statement(d, OWL.hasKey, head), *links]
        c.add("prp-key", (d, head), holds(_SAME, _X, _Y), [*body, unequal(_X, _Y)], axiom)


def negative_assertions(c: Compiler) -> None:
    """prp-npa1, prp-npa2."""
    for name, target in (("prp-npa1", OWL.targetIndividual), ("prp-npa2", OWL.targetValue)):
        for axiom, source in c.ontology.pairs(OWL.sourceIndividual):
            for p in c.ontology.of(OWL.assertionProperty, axiom):
                for value in c.ontology.of(target, axiom):
                    triples = [
                        statement(axiom, OWL.sourceIndividual, source),
                        statement(axiom, OWL.assertionProperty, p),
                        statement(axiom, target, value),
                    ]
                    i, j = Constant(source), Constant(value)
                    c.false(name, [axiom, source, p, value], i, j, [holds(p, i, j)], triples)


def top_and_bottom(c: Compiler) -> None:
    """cax-sco over scm-cls: members of declared classes are in owl:Thing, those of owl:Nothing in all of them."""
    thing, nothing = IRI(THING), IRI(NOTHING)
    declared = {*c.ontology.members(OWL.Class), thing, nothing}
    above: dict[Value, Value] = {}
    for d in c.ontology.members(OWL.Class):
        higher = _higher(c.ontology, d, declared, above)
        if higher is not None:
            above[d] = higher
        elif d not in (thing, nothing):
            c.add("cax-sco", (d, thing), is_of(thing, _X), [is_of(d, _X)], [typed(d, OWL.Class)])
    if NOTHING in c.heads():
        for d in declared - {nothing}:
            c.add("cax-sco", (nothing, d), is_of(d, _X), [is_of(nothing, _X)], [typed(d, OWL.Class)])


def _higher(ontology: Ontology, d: Value, declared: set[Value], above: dict[Value, Value]) -> Value | None:
    """A declared superclass through which members of a class are known to be things already; no circle arises."""
    for e in ontology.of(RDFS.subClassOf, d):
        if e == d or e not in declared:
            continue
        at: Value | None = e
        while at is not None and at != d:
            at = above.get(at)
        if at is None:
            return e
    return None


def intersections(c: Compiler) -> None:
    """cls-int1, cls-int2."""
    for d, head in c.ontology.pairs(OWL.intersectionOf):
        parts, links, is_whole = c.ontology.listed(head)
        axiom = [statement(d, OWL.intersectionOf, head), *links]
        if parts and is_whole:
            c.add("cls-int1", (d, head), is_of(d, _Y), [is_of(part, _Y) for part in dict.fromkeys(parts)], axiom)
        for part in parts:
            c.add("cls-int2", (d, part), is_of(part, _Y), [is_of(d, _Y)], axiom)


def unions(c: Compiler) -> None:
    """cls-uni."""
    for d, head in c.ontology.pairs(OWL.unionOf):
        parts, links, _ = c.ontology.listed(head)
        for part in parts:
            axiom = [statement(d, OWL.unionOf, head), *links]
            c.add("cls-uni", (d, part), is_of(d, _Y), [is_of(part, _Y)], axiom)


def enumerations(c: Compiler) -> None:
    """cls-oo."""
    for d, head in c.ontology.pairs(OWL.oneOf):
        things, links, _ = c.ontology.listed(head)
        for thing in things:
            c.add("cls-oo", (d, thing), is_of(d, Constant(thing)), [], [statement(d, OWL.oneOf, head), *links])


def complements(c: Compiler) -> None:
    """cls-nothing2, cls-com, cax-dw, cax-adc."""
    if NOTHING in c.heads():
        c.false("cls-nothing2", [], _X, Constant(IRI(NOTHING)), [Atom(NOTHING, (_X,))], [])
    for name, key in (("cls-com", OWL.complementOf), ("cax-dw", OWL.disjointWith)):
        for d, e in c.ontology.pairs(key):
            c.false(name, [d, e], _X, Constant(d), [is_of(d, _X), is_of(e, _X)], [statement(d, key, e)])
    for axiom, (d, e), triples in _listed_pairs(c.ontology, OWL.AllDisjointClasses, OWL.members):
        c.false("cax-adc", [axiom, d, e], _Z, Constant(d), [is_of(d, _Z), is_of(e, _Z)], triples)


def restrictions(c: Compiler) -> None:
    """cls-svf1, cls-svf2, cls-avf, cls-hv1, cls-hv2."""
    for r, y, p, axiom in restrictions_of(c.ontology, OWL.someValuesFrom):
        if y == IRI(THING):
            c.add("cls-svf2", (r, p), is_of(r, _U), [holds(p, _U, _V)], axiom)
        else:
            c.add("cls-svf1", (r, p, y), is_of(r, _U), [holds(p, _U, _V), is_of(y, _V)], axiom)
    for r, y, p, axiom in restrictions_of(c.ontology, OWL.allValuesFrom):
        c.add("cls-avf", (r, p, y), is_of(y, _V), [is_of(r, _U), holds(p, _U, _V)], axiom)
    for r, y, p, axiom in restrictions_of(c.ontology, OWL.hasValue):
        value = Constant(y)
        c.add("cls-hv1", (r, p, y), holds(p, _U, value), [is_of(r, _U)], axiom)
        c.add("cls-hv2", (r, p, y), is_of(r, _U), [holds(p, _U, value)], axiom)


def cardinalities(c: Compiler) -> None:
    """cls-maxc1, cls-maxc2, cls-maxqc1 to cls-maxqc4."""
    for r, n, p, axiom in restrictions_of(c.ontology, OWL.maxCardinality):
        _cardinality(c, ("cls-maxc1", "cls-maxc2"), r, n, p, None, axiom)
    for r, n, p, axiom in restrictions_of(c.ontology, OWL.maxQualifiedCardinality):
        for d in c.ontology.of(OWL.onClass, r):
            of_class = [*axiom, statement(r, OWL.onClass, d)]
            if d == IRI(THING):
                _cardinality(c, ("cls-maxqc2", "cls-maxqc4"), r, n, p, None, of_class)
            else:
                _cardinality(c, ("cls-maxqc1", "cls-maxqc3"), r, n, p, d, of_class)


def _cardinality(
    c: Compiler, names: tuple[str, str], r: Value, n: Value, p: Value, d: Value | None, axiom: list[Triple]
) -> None:
    first: list[Literal] = [is_of(r, _U), holds(p, _U, _Y), *([] if d is None else [is_of(d, _Y)])]
    about = [r, p] if d is None else [r, p, d]
    if type(n) is int and n == 0:
        c.false(names[0], about, _U, Constant(r), first, axiom)
    elif type(n) is int and n == 1:
        second: list[Literal] = [holds(p, _U, _Z), *([] if d is None else [is_of(d, _Z)])]
        c.add(names[1], about, holds(_SAME, _Y, _Z), [*first, *second, unequal(_Y, _Z)], axiom)


def equivalent_classes(c: Compiler) -> None:
    """cax-eqc1, cax-eqc2."""
    for d, e in c.ontology.pairs(OWL.equivalentClass):
        axiom = [statement(d, OWL.equivalentClass, e)]
        if d != e:
            c.add("cax-eqc1", (d, e), is_of(e, _X), [is_of(d, _X)], axiom)
            c.add("cax-eqc2", (d, e), is_of(d, _X), [is_of(e, _X)], axiom)


def _listed_pairs(ontology: Ontology, kind: str, key: str) -> Iterator[tuple[Value, tuple[Value, Value], list[Triple]]]:
    """The pairs of a list, earlier before later, that an axiom of a kind names."""
    for axiom in ontology.members(kind):
        for head in ontology.of(key, axiom):
            items, links, _ = ontology.listed(head)
            if len(items) > 40:
                raise BeyondRulesError("more than 40 classes or properties are disjoint with each other")
            for pair in combinations(items, 2):
                yield axiom, pair, [typed(axiom, kind), statement(axiom, key, head), *links]


def equality(c: Compiler) -> None:
    """eq-rep-s, eq-rep-o: only where something can be the same as something else."""
    if SAME not in c.heads():
        return
    same = Atom(SAME, (_X, _Z))
    for name, arity in sorted(c.arities().items()):
        if name == SAME or ":" not in name or name in PREDICATES or name in KINDS:
            continue
        about = (term_of_name(name),)
        if arity == 1:
            c.add("eq-rep-s", about, Atom(name, (_Z,)), [same, Atom(name, (_X,))], [])
        else:
            c.add("eq-rep-s", about, Atom(name, (_Z, _Y)), [same, Atom(name, (_X, _Y))], [])
            c.add("eq-rep-o", about, Atom(name, (_Y, _Z)), [same, Atom(name, (_Y, _X))], [])


def ill_typed(c: Compiler) -> None:
    """dt-not-type: only where a literal is known to be ill-typed."""
    if "ill_typed" in c.mentioned:
        for name, arity in c.arities().items():
            if arity == 2 and ":" in name:
                body: list[Literal] = [Atom("ill_typed", (_Y, _Z)), Atom(name, (_X, _Y))]
                c.add(
                    "dt-not-type",
                    (term_of_name(name),),
                    Atom("inconsistency", (Constant("dt-not-type"), _Y, _Z)),
                    body,
                    [],
                )


RDFS_RULES: tuple[Callable[[Compiler], None], ...] = (
    domains,
    ranges,
    subproperties,
    subclasses,
    rdfs_classes,
    rdfs_members,
)
OWL_RL: tuple[Callable[[Compiler], None], ...] = (
    domains,
    ranges,
    functional,
    characteristics,
    subproperties,
    chains,
    equivalent_properties,
    disjoint_properties,
    inverses,
    keys,
    negative_assertions,
    intersections,
    unions,
    restrictions,
    cardinalities,
    enumerations,
    subclasses,
    equivalent_classes,
    derived_subclasses,
    top_and_bottom,
    complements,
    ill_typed,
    equality,
)
