"""Axioms become rules.

What      : `Ontology` holds the explicit triples that the rules of the table read as axioms; `compiled` gives the rules
            that they mean over classes and properties, each with the triples that it comes from.
Idea      : every rule of the table that mentions a class or property by a variable is written here once for all axioms
            of its kind, with the axiom's own classes and properties in the place of the variables.
Invariant : over the same facts the compiled rules derive what the table derives over `triple`, unless the ontology is
            beyond this form, and then the compiler says why (tests/rdf/test_layouts.py).
Never     : no data: an ontology does not know which classes have members.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tidelog.language.rdf_terms import IRI, RdfTerm
from tidelog.language.terms import Atom, Comparison, Constant, Literal, Rule, Value, Variable
from tidelog.rdf.layouts import RDF_TYPE, BeyondRulesError, name_of
from tidelog.rdf.quads import Triple
from tidelog.rdf.rule_table import INCONSISTENCY
from tidelog.rdf.vocabulary import OWL, RDF, RDFS, TYPE, shortened

_PREDICATES = """
equivalentClass equivalentProperty inverseOf disjointWith complementOf intersectionOf unionOf oneOf someValuesFrom
allValuesFrom hasValue onProperty onClass maxCardinality maxQualifiedCardinality propertyChainAxiom hasKey
propertyDisjointWith members distinctMembers sourceIndividual assertionProperty targetIndividual targetValue
"""
_KINDS = """
Class ObjectProperty DatatypeProperty FunctionalProperty InverseFunctionalProperty IrreflexiveProperty SymmetricProperty
AsymmetricProperty TransitiveProperty AllDifferent AllDisjointProperties AllDisjointClasses
"""

PREDICATES = frozenset(
    [OWL[name] for name in _PREDICATES.split()]
    + [RDFS[name] for name in ("subClassOf", "subPropertyOf", "domain", "range")]
    + [RDF.first, RDF.rest]
)
"""The properties whose triples are read as axioms or as parts of them."""

KINDS = frozenset(OWL[name] for name in _KINDS.split()) | {
    RDFS.Class,
    RDFS.Datatype,
    RDFS.ContainerMembershipProperty,
    RDF.Property,
}
"""The classes whose members are declared or characterised by being their members."""

SAME, DIFFERENT, THING, NOTHING = OWL.sameAs, OWL.differentFrom, OWL.Thing, OWL.Nothing
_X, _Y, _Z, _U, _V = (Variable(name) for name in "xyzuv")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A rule and the explicit triples that it comes from."""

    rule: Rule
    axioms: tuple[Triple, ...]


class Listed(NamedTuple):
    """A list: the members that can be reached, its triples, and whether it has all that it takes up to `rdf:nil`."""

    items: list[Value]
    links: list[Triple]
    is_whole: bool


def is_axiom(triple: Triple) -> bool:
    """Whether a triple is read as an axiom or a part of one."""
    _, predicate, target = triple
    if predicate == RDF_TYPE:
        return name_of(target) in KINDS
    return name_of(predicate) in PREDICATES


@dataclass
class Ontology:
    """Explicit axioms, by property; types under the name of their class."""

    by_property: dict[str, dict[Value, dict[Value, None]]] = field(default_factory=lambda: defaultdict(dict))
    size: int = 0
    """Triples other than the links of lists."""

    def changed(self, inserted: Iterable[Triple], deleted: Iterable[Triple]) -> Ontology:
        """The ontology after an update."""
        copy = Ontology(defaultdict(dict, {key: dict(part) for key, part in self.by_property.items()}), self.size)
        for triple in deleted:
            copy._remove(*_keyed(triple))
        for triple in inserted:
            copy._add(*_keyed(triple))
        return copy

    def _add(self, key: str, subject: Value, target: Value) -> None:
        known = self.by_property[key].get(subject, {})
        if target not in known:
            self.by_property[key][subject] = {**known, target: None}
            self.size += key not in (RDF.first, RDF.rest)

    def _remove(self, key: str, subject: Value, target: Value) -> None:
        known = self.by_property[key].get(subject, {})
        if target in known:
            self.by_property[key][subject] = {other: None for other in known if other != target}
            self.size -= key not in (RDF.first, RDF.rest)

    def pairs(self, key: str) -> Iterator[tuple[Value, Value]]:
        """Subjects and objects of a property."""
        for subject, targets in self.by_property[key].items():
            for target in targets:
                yield subject, target

    def of(self, key: str, subject: Value) -> tuple[Value, ...]:
        """The objects of a property for one subject."""
        return tuple(self.by_property[key].get(subject, ()))

    def members(self, kind: str) -> tuple[Value, ...]:
        """The explicit members of a class of the vocabulary."""
        return tuple(subject for subject, targets in self.by_property[kind].items() if targets)

    def listed(self, head: Value) -> Listed:
        """The members of a list and its triples; a list that forks or runs in a circle is beyond rules."""
        items: list[Value] = []
        links: list[Triple] = []
        seen: set[Value] = set()
        is_whole = True
        while head != IRI(RDF.nil):
            first, rest = self.of(RDF.first, head), self.of(RDF.rest, head)
            if len(first) > 1 or len(rest) > 1 or head in seen:
                raise BeyondRulesError("a list forks or runs in a circle")
            seen.add(head)
            is_whole = is_whole and bool(first) and bool(rest)
            items += first
            links += [(head, IRI(RDF.first), item) for item in first] + [(head, IRI(RDF.rest), tail) for tail in rest]
            if not rest:
                break
            head = rest[0]
        return Listed(items, links, is_whole)

    def terms(self) -> set[Value]:
        """Everything that an axiom mentions."""
        found: set[Value] = set()
        for part in self.by_property.values():
            for subject, targets in part.items():
                if targets:
                    found.add(subject)
                    found.update(targets)
        return found


def _keyed(triple: Triple) -> tuple[str, Value, Value]:
    subject, predicate, target = triple
    if predicate == RDF_TYPE:
        return name_of(target) or "", subject, RDF_TYPE
    return name_of(predicate) or "", subject, target


def _relation(term: Value) -> str:
    name = name_of(term)
    if name is None:
        raise BeyondRulesError(f"the literal {term} stands for a class or property")
    return name


def is_of(term: Value, variable: Variable | Constant) -> Atom:
    """`variable` is a member of a class."""
    return Atom(_relation(term), (variable,))


def holds(term: Value, left: Variable | Constant, right: Variable | Constant) -> Atom:
    """Two things are related by a property."""
    return Atom(_relation(term), (left, right))


class Compiler:
    """Collects the rules of one ontology."""

    def __init__(self, ontology: Ontology, mentioned: Mapping[str, int]) -> None:
        self.ontology = ontology
        self.mentioned = mentioned
        self.found: dict[str, Compiled] = {}

    def arities(self) -> dict[str, int]:
        """The relations that facts or rules name, and how many columns they have."""
        return {**self.mentioned, **{atom.relation: len(atom.terms) for atom in _atoms(self.found.values())}}

    def heads(self) -> set[str]:
        """The relations that have facts, or rules that derive some."""
        return {*self.mentioned, *(one.rule.head.relation for one in self.found.values())}

    def add(
        self, name: str, about: Iterable[Value], head: Atom, body: Iterable[Literal], axioms: Iterable[Triple]
    ) -> None:
        """One rule; its name says which rule of the table it is an instance of, and of what."""
        label = f"{name}({', '.join(_shown(term) for term in about)})"
        body = tuple(body)
        if head in body:
            return
        number = 2
        unique = label
        while unique in self.found and self.found[unique].rule.body != body:
            unique, number = f"{label} #{number}", number + 1
        self.found[unique] = Compiled(Rule(head, body, unique), tuple(axioms))

    def false(
        self,
        name: str,
        about: list[Value],
        x: Variable | Constant,
        y: Variable | Constant,
        body: list[Literal],
        axioms: list[Triple],
    ) -> None:
        """A rule that derives an inconsistency."""
        self.add(name, about, Atom(INCONSISTENCY, (Constant(name), x, y)), body, axioms)


def _shown(term: Value) -> str:
    return shortened(term.value) if isinstance(term, IRI) else str(term)


def compiled(ontology: Ontology, reasoning: str, mentioned: Mapping[str, int]) -> dict[str, Compiled]:
    """The rules that an ontology means, by name; `mentioned` are the relations with facts or rules, and their columns.

    Raises BeyondRulesError if the general rules are needed.
    """
    from tidelog.rdf.axiom_rules import OWL_RL, RDFS_RULES

    compiler = Compiler(ontology, mentioned)
    steps: tuple[Callable[[Compiler], None], ...] = OWL_RL if reasoning == "owl-rl" else RDFS_RULES
    for step in steps:
        step(compiler)
    for one in compiler.found.values():
        if one.rule.head.relation in PREDICATES or one.rule.head.relation in KINDS or one.rule.head.relation == TYPE:
            raise BeyondRulesError(f"{one.rule.name} derives axioms")
    arities = compiler.arities()
    for atom in _atoms(compiler.found.values()):
        if arities[atom.relation] != len(atom.terms) or mentioned.get(atom.relation, len(atom.terms)) != len(
            atom.terms
        ):
            raise BeyondRulesError(f"{atom.relation} is a class and a property")
    return compiler.found


def _atoms(rules: Iterable[Compiled]) -> Iterator[Atom]:
    for one in rules:
        yield one.rule.head
        yield from (literal for literal in one.rule.body if isinstance(literal, Atom))


def unequal(left: Variable, right: Variable) -> Comparison:
    """Two variables stand for two things."""
    return Comparison("!=", left, right)


def statement(subject: Value, predicate: str, target: Value) -> Triple:
    """A triple with a predicate of the vocabulary."""
    return subject, IRI(predicate), target


def typed(subject: Value, kind: str) -> Triple:
    """The triple that gives something a type of the vocabulary."""
    return subject, RDF_TYPE, IRI(kind)


def is_resource(term: Value) -> bool:
    """Whether a term is no literal."""
    return isinstance(term, RdfTerm) and term.text[0] != '"'
