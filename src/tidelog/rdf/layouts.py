"""Where a triple is a fact: the two layouts.

What      : `Layout.RULES` gives a class a relation of one column and a property one of two; `Layout.TRIPLES` has one
            relation `triple`. Statements become facts by relation, facts become triples again, and a rule over `triple`
            becomes one over the layout's relations.
Idea      : the name of a relation is the IRI of its class or property (`_:b` for a blank one), so nothing has to be
            looked up on the way back. A name without a colon is no triple.
Invariant : `triples_of(facts_of(quads)) == quads`, whatever the layout.
Never     : no axioms (see axioms.py).

Code: E332 a triple whose predicate is a literal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidelog.changes.shared import SharedFacts
from tidelog.changes.term_arrays import is_term_type
from tidelog.errors import UpdateError
from tidelog.language.rdf_terms import IRI, BlankNode, RdfTerm, term_of
from tidelog.language.terms import Atom, Comparison, Constant, Rule, Value
from tidelog.rdf.quads import Quads, Rows, Triple
from tidelog.rdf.rule_table import TRIPLE
from tidelog.rdf.vocabulary import TYPE

RDF_TYPE = IRI(TYPE)
Places = npt.NDArray[np.intp]


class BeyondRulesError(Exception):
    """The graph reasons about its own vocabulary, which takes the general rules."""


class Layout(Enum):
    """How triples are kept: by class and property, with axioms as rules; or all in one, with axioms as facts."""

    RULES = "rules"
    TRIPLES = "triples"


def name_of(term: Value) -> str | None:
    """The relation of a class or property; None for a literal, which can be neither."""
    if isinstance(term, IRI):
        return term.value
    return term.text if isinstance(term, BlankNode) else None


def term_of_name(relation: str) -> RdfTerm:
    """The class or property of a relation."""
    return term_of(relation if relation.startswith("_:") else f"<{relation}>")


def is_statement(relation: str) -> bool:
    """Whether the facts of a relation are triples."""
    return ":" in relation or relation == TRIPLE


def is_shown(triple: Triple) -> bool:
    """Whether a triple is one of RDF: no literal before the object, an IRI as predicate."""
    return isinstance(triple[0], IRI | BlankNode) and isinstance(triple[1], IRI)


def fact_of(triple: Triple, layout: Layout) -> tuple[str, tuple[Value, ...]]:
    """The relation and fact of one triple."""
    subject, predicate, target = triple
    if layout is Layout.TRIPLES:
        return TRIPLE, (subject, predicate, target)
    if predicate == RDF_TYPE:
        name = name_of(target)
        return (TYPE, (subject, target)) if name is None else (name, (subject,))
    relation = name_of(predicate)
    if relation is None:
        raise _no_predicate(predicate)
    return relation, (subject, target)


def _no_predicate(term: object) -> UpdateError:
    return UpdateError.of("E332", f"{term!r} is no predicate of a triple", remedy="give an IRI")


def triple_of(relation: str, fact: Sequence[Value]) -> Triple:
    """The triple of one fact."""
    if relation == TRIPLE:
        return fact[0], fact[1], fact[2]
    if len(fact) == 1:
        return fact[0], RDF_TYPE, term_of_name(relation)
    return fact[0], term_of_name(relation), fact[1]


def relation_terms(relation: str, arity: int) -> tuple[RdfTerm, RdfTerm | None]:
    """The predicate of a relation's triples, and their object if it is a class."""
    named = term_of_name(relation)
    return (RDF_TYPE, named) if arity == 1 else (named, None)


def triples_of(relation: str, facts: Iterable[Sequence[Value]]) -> Iterator[Triple]:
    """The triples of facts of one relation."""
    if relation == TRIPLE:
        return ((s, p, o) for s, p, o in facts)
    named = term_of_name(relation)
    return ((fact[0], RDF_TYPE, named) if len(fact) == 1 else (fact[0], named, fact[1]) for fact in facts)


def facts_of(quads: Quads, layout: Layout) -> dict[str, SharedFacts]:
    """Statements as facts by relation, without a Python object per statement."""
    if layout is Layout.TRIPLES or not len(quads):
        return {TRIPLE: SharedFacts(quads.constants, quads.rows[:, :3])} if len(quads) else {}
    found = rows_of(quads.rows, lambda numbers: _texts(quads, numbers))
    return {name: SharedFacts(quads.constants, rows) for (name, _), rows in one_arity(found).items()}


def rows_of(rows: Rows, texts: Callable[[Rows], Mapping[int, str]]) -> dict[tuple[str, int], Rows]:
    """Rows of subject, predicate and object by relation and number of columns.

    `texts` gives the N-Triples texts of those of the numbered constants that are terms.
    """
    predicates = np.unique(rows[:, 1])
    names = _names(texts(predicates))
    if len(names) < len(predicates):
        raise _no_predicate("a literal")
    kinds = [number for number, name in names.items() if name == TYPE]
    is_type = np.isin(rows[:, 1], kinds) if len(kinds) != 1 else rows[:, 1] == kinds[0]
    found: dict[tuple[str, int], list[Rows]] = {}
    others, typed = np.flatnonzero(~is_type), np.flatnonzero(is_type)
    _split(rows, others, 1, [0, 2], names, found)
    numbers = np.unique(rows[typed, 2])
    classes = _names(texts(numbers))
    if len(classes) < len(numbers):  # a literal as class: kept as a pair
        is_named = np.isin(rows[typed, 2], list(classes))
        found.setdefault((TYPE, 2), []).append(rows[typed[~is_named]][:, [0, 2]])
        typed = typed[is_named]
    _split(rows, typed, 2, [0], classes, found)
    return {key: np.ascontiguousarray(np.concatenate(parts)) for key, parts in found.items()}


T = TypeVar("T")


def one_arity(found: Mapping[tuple[str, int], T]) -> Mapping[tuple[str, int], T]:
    """What was found by relation and number of columns, if no relation has two numbers."""
    if len({name for name, _ in found}) < len(found):
        seen: set[str] = set()
        both = next(name for name, _ in found if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise BeyondRulesError(f"{both} is a class and a property")
    return found


def _split(
    rows: Rows,
    chosen: Places,
    key: int,
    kept: list[int],
    names: Mapping[int, str],
    found: dict[tuple[str, int], list[Rows]],
) -> None:
    """Chosen rows by the name of one of their constants, which sources may number in several ways.

    Names are few: rows are sorted by small numbers for them, which takes one pass over the rows.
    """
    if not chosen.size:
        return
    listed = list(names)
    ranks = np.zeros(max(listed) + 1, np.uint16 if len(listed) < 1 << 16 else np.uint32)
    ranks[listed] = np.arange(len(listed))
    own = ranks[rows[chosen, key]]
    order = chosen[np.argsort(own, kind="stable")]
    columns = [rows[order, at] for at in kept]
    stop = 0
    for number, count in zip(listed, np.bincount(own, minlength=len(listed)).tolist()):
        start, stop = stop, stop + count
        if count:
            part = np.column_stack([column[start:stop] for column in columns])
            found.setdefault((names[number], len(kept)), []).append(part)


def in_layout(rule: Rule, layout: Layout) -> Rule | None:
    """A rule over `triple` in the words of a layout; None if a predicate or class of it is not known."""
    if layout is Layout.TRIPLES:
        return rule
    head = atom_of(rule.head)
    body = [literal if isinstance(literal, Comparison) else atom_of(literal) for literal in rule.body]  # type: ignore[arg-type]
    if head is None or any(literal is None for literal in body):
        return None
    return Rule(head, tuple(literal for literal in body if literal is not None), rule.name, rule.place)


def atom_of(atom: Atom) -> Atom | None:
    """An atom over `triple` as one of a class or property; None if it does not say which."""
    if atom.relation != TRIPLE:
        return atom
    subject, predicate, target = atom.terms
    if not isinstance(predicate, Constant):
        return None
    if predicate.value != RDF_TYPE:
        return Atom(name_of(predicate.value) or TRIPLE, (subject, target), atom.place)
    name = name_of(target.value) if isinstance(target, Constant) else None
    return None if name is None else Atom(name, (subject,), atom.place)


def _names(texts: Mapping[int, str]) -> dict[int, str]:
    """The relations of the constants that may be a class or property, by number."""
    return {number: text[1:-1] if text[0] == "<" else text for number, text in texts.items() if text[0] in "<_"}


def _texts(quads: Quads, numbers: Rows) -> dict[int, str]:
    """The texts of constants that are terms, by number."""
    values, wanted = quads.constants.values, numbers
    if is_term_type(values.type):
        return dict(zip(wanted.tolist(), values.storage.take(pa.array(wanted)).to_pylist()))
    if not pa.types.is_union(values.type):
        return {}
    code = next((at for at in range(values.type.num_fields) if is_term_type(values.field(at).type)), None)
    if code is None:
        return {}
    chosen = wanted[values.type_codes.to_numpy()[wanted] == code]
    at = values.offsets.to_numpy()[chosen]
    return dict(zip(chosen.tolist(), values.field(code).storage.take(pa.array(at)).to_pylist()))
