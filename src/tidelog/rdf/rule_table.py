"""The rule table of OWL 2 RL/RDF, and the rules of RDFS.

What      : `rule_table` gives the rules of a kind of reasoning over `triple(s, p, o)`, each under the name that the W3C
            gives it.
Idea      : the table is a file, one rule a line, so that it can be held beside the Recommendation. A rule about lists
            walks them with relations of its own (for members, what comes before, all of a list, chains and keys).
Source    : OWL 2 Web Ontology Language Profiles, W3C Recommendation, section 4.3, tables 4 to 9; RDF 1.1 Semantics,
            section 9.2 (rdfs2 to rdfs13).
Departures: `eq-ref`, `dt-type2`, `dt-eq` and `dt-diff` are in force only if asked for. Rules that conclude
            `owl:sameAs` ask for two different things, because the rest is what eq-ref would say. A rule that concludes
            `false` derives inconsistency(name, x, y). RDFS is without rdfs1, rdfs4 and the axiomatic triples.
Invariant : every line is a rule that the engine accepts; there is no other text.
Never     : no ontology: that is data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

from tidelog.language.rdf_terms import IRI
from tidelog.language.terms import Atom, Comparison, Constant, Rule, Term, Variable
from tidelog.rdf.vocabulary import ANNOTATIONS, DATATYPES, PREFIXES, RDF, RDFS, TYPE

TRIPLE, INCONSISTENCY = "triple", "inconsistency"
OPTIONAL = frozenset({"eq-ref", "dt-type2", "dt-eq", "dt-diff"})

_FILES = {"rdfs": "rdfs.table", "owl-rl": "owl_rl.table"}
_HELPER = re.compile(r"(\w+)\((.*)\)")

REASONINGS = ("none", "rdfs", "owl-rl")


@cache
def rule_table(reasoning: str, options: frozenset[str] = frozenset()) -> tuple[tuple[str, Rule], ...]:
    """The names and rules of a kind of reasoning, over `triple`; `options` are optional rules that are in force."""
    if reasoning == "none":
        return ()
    left_out = OPTIONAL - options
    text = resources.files("tidelog.rdf").joinpath(_FILES[reasoning]).read_text(encoding="utf-8")
    found = [(name, rule) for name, rule in _rules(text) if name not in left_out]
    if reasoning == "owl-rl":
        found += [("prp-ap", _typed(one, "http://www.w3.org/2002/07/owl#AnnotationProperty")) for one in ANNOTATIONS]
        found += [("dt-type1", _typed(one, RDFS.Datatype)) for one in DATATYPES]
    return tuple(_numbered(found))


def is_triple(atom: Atom) -> bool:
    """Whether an atom of the table is about a triple."""
    return atom.relation == TRIPLE


def _rules(text: str) -> Iterator[tuple[str, Rule]]:
    for line in text.strip().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, head, body = (part.strip() for part in line.split("|"))
        literals = tuple(_literal(part.strip(), name) for part in body.split(" . ") if part.strip())
        yield name, Rule(_atom(head, name), literals)


def _numbered(found: list[tuple[str, Rule]]) -> Iterator[tuple[str, Rule]]:
    """The rules with names of their own: several rules of one line of the W3C's table are told apart by a number."""
    seen: dict[str, int] = {}
    for name, rule in found:
        seen[name] = seen.get(name, 0) + 1
        label = name if seen[name] == 1 else f"{name} ({seen[name]})"
        yield name, Rule(rule.head, rule.body, label)


def _literal(text: str, name: str) -> Atom | Comparison:
    if " != " in text:
        left, right = text.split(" != ")
        return Comparison("!=", _term(left), _term(right))
    return _atom(text, name)


def _atom(text: str, name: str) -> Atom:
    helper = _HELPER.fullmatch(text)
    if helper is None:
        return Atom(TRIPLE, tuple(_term(part) for part in text.split()))
    terms = tuple(_term(part.strip()) for part in helper[2].split(","))
    return Atom(INCONSISTENCY, (Constant(name), *terms)) if helper[1] == "false" else Atom(helper[1], terms)


def _term(text: str) -> Term:
    if text[0] == "?":
        return Variable(text[1:])
    if text == "a":
        return Constant(IRI(TYPE))
    if text.isdigit():
        return Constant(int(text))
    prefix, _, local = text.partition(":")
    return Constant(IRI(PREFIXES[prefix] + local))


def _typed(subject: str, kind: str) -> Rule:
    """The rule that derives a type of something from nothing."""
    return Rule(Atom(TRIPLE, (Constant(IRI(subject)), Constant(IRI(RDF.type)), Constant(IRI(kind)))), ())
