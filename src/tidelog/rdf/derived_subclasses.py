"""Subclasses that follow from restrictions.

What      : cax-sco over scm-svf1, scm-svf2, scm-avf1 and scm-avf2: the only derived subclasses whose rules
            would give members that no other rule gives.
Idea      : what the schema rules would derive is found by walking up the hierarchies; only restrictions that share a
            property or a value are compared.
Source    : OWL 2 Profiles, section 4.3, table 9.
Never     : no rule of another kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tidelog.language.rdf_terms import IRI
from tidelog.language.terms import Value
from tidelog.rdf.axioms import _X, NOTHING, THING, Compiler, Ontology, is_of, statement
from tidelog.rdf.layouts import BeyondRulesError
from tidelog.rdf.quads import Triple
from tidelog.rdf.vocabulary import OWL, RDFS


def derived_subclasses(c: Compiler) -> None:
    """cax-sco over scm-svf1, scm-svf2, scm-avf1, scm-avf2: subclasses that no rule over members gives otherwise."""
    for key, turned in ((OWL.someValuesFrom, False), (OWL.allValuesFrom, True)):
        known = list(restrictions_of(c.ontology, key))
        if len(known) < 2:
            continue
        if len(known) > 300:
            raise BeyondRulesError("there are more than 300 restrictions of one kind to compare")
        classes, properties = _above(c.ontology, is_class=True), _above(c.ontology, is_class=False)
        for r, y, p, axiom in known:
            for s, z, q, other in known:
                if r == s:
                    continue
                names = ("scm-avf1", "scm-avf2") if turned else ("scm-svf1", "scm-svf2")
                if p == q and (z in classes(y)):
                    c.add("cax-sco", (r, s), is_of(s, _X), [is_of(r, _X)], [*axiom, *other])
                if y == z and (q in properties(p)):
                    low, high = (s, r) if turned else (r, s)
                    c.add(f"cax-sco {names[1]}", (low, high), is_of(high, _X), [is_of(low, _X)], [*axiom, *other])


def _above(ontology: Ontology, *, is_class: bool) -> Callable[[Value], set[Value]]:
    """The classes or properties above a given one, by the schema rules: itself only if it is declared."""
    up: dict[Value, set[Value]] = {}
    names = (RDFS.subClassOf, OWL.equivalentClass) if is_class else (RDFS.subPropertyOf, OWL.equivalentProperty)
    declared = (OWL.Class,) if is_class else (OWL.ObjectProperty, OWL.DatatypeProperty)
    for d, e in ontology.pairs(names[0]):
        up.setdefault(d, set()).add(e)
    for d, e in ontology.pairs(names[1]):
        up.setdefault(d, set()).add(e)
        up.setdefault(e, set()).add(d)
    if is_class:
        for key, is_turned in ((OWL.intersectionOf, False), (OWL.unionOf, True)):
            for d, head in ontology.pairs(key):
                for part in ontology.listed(head)[0]:
                    low, high = (part, d) if is_turned else (d, part)
                    up.setdefault(low, set()).add(high)
    for kind in declared:
        for d in ontology.members(kind):
            up.setdefault(d, set()).update({d, IRI(THING)} if is_class else {d})
    if is_class:
        for d in (IRI(THING), IRI(NOTHING)):
            up.setdefault(d, set()).update({d, IRI(THING)})
        for d in ontology.members(OWL.Class):
            up[IRI(NOTHING)].add(d)
    if is_class and any(ontology.by_property[key] for key in (OWL.hasValue, OWL.someValuesFrom, OWL.allValuesFrom)):
        _restriction_steps(ontology, up)

    def reached(start: Value) -> set[Value]:
        found: set[Value] = set()
        frontier = [start]
        while frontier:
            for each in up.get(frontier.pop(), ()):
                if each not in found:
                    found.add(each)
                    frontier.append(each)
        return found

    return reached


def _restriction_steps(ontology: Ontology, up: dict[Value, set[Value]]) -> None:
    """Add the steps that scm-hv, scm-svf and scm-avf give, until there are no more."""
    properties = _above(ontology, is_class=False)
    changed = True
    while changed:
        changed = False
        for key in (OWL.hasValue, OWL.someValuesFrom, OWL.allValuesFrom):
            known = list(restrictions_of(ontology, key))
            for r, y, p, _ in known:
                for s, z, q, _ in known:
                    by_property = y == z and q in properties(p)
                    by_class = key != OWL.hasValue and p == q and z in _reach(up, y)
                    pairs = [(s, r) if key == OWL.allValuesFrom else (r, s)] * by_property + [(r, s)] * by_class
                    for low, high in pairs:
                        if high not in up.setdefault(low, set()):
                            up[low].add(high)
                            changed = True


def _reach(up: dict[Value, set[Value]], start: Value) -> set[Value]:
    found: set[Value] = set()
    frontier = [start]
    while frontier:
        for each in up.get(frontier.pop(), ()):
            if each not in found:
                found.add(each)
                frontier.append(each)
    return found


def restrictions_of(ontology: Ontology, key: str) -> Iterator[tuple[Value, Value, Value, list[Triple]]]:
    """Restriction, value, property and triples."""
    for r, y in ontology.pairs(key):
        for p in ontology.of(OWL.onProperty, r):
            yield r, y, p, [statement(r, key, y), statement(r, OWL.onProperty, p)]
