"""Literals in their canonical form, and constants as N-Triples.

What      : `literal` makes a constant of a lexical form; `constant` one of an N-Triples text; `spelled` is the other
            way.
Idea      : the canonical form is what Oxigraph's store gives back, so it is asked: each distinct literal whose type has
            values goes through a store once.
Invariant : `constant(spelled(value)) == value` for every constant; two literals that Oxigraph's store holds as one are
            one constant.
Never     : no files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
import pyoxigraph as ox

from tidelog.errors import UsageError
from tidelog.language.rdf_terms import XSD, Literal, RdfTerm, escaped, is_iri, term_of, unescaped
from tidelog.language.terms import Value

_STRING, _INTEGER, _DOUBLE, _BOOLEAN = (XSD + name for name in ("string", "integer", "double", "boolean"))
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_PARTS = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\^\^<([^>]*)>|@([\w-]+))?', re.DOTALL)


def literal(lexical: str, datatype: str = _STRING, language: str | None = None) -> Value:
    """The constant of a literal, in canonical form: `literal("01", XSD.integer)` is 1."""
    if language is not None:
        return Literal(lexical, language=language)
    if not is_iri(datatype):
        raise UsageError.of("E830", f"{datatype!r} is no data type", remedy="give its IRI")
    return constants([(lexical, datatype, "")])[0]


def constant(text: str) -> Value:
    """The constant of an N-Triples text."""
    return of_texts([text])[0]


def of_texts(texts: Sequence[str]) -> list[Value]:
    """The constants of N-Triples texts that a parser has accepted."""
    found: list[Value | None] = [None] * len(texts)
    literals: list[tuple[int, tuple[str, str, str]]] = []
    for at, text in enumerate(texts):
        parts = _PARTS.fullmatch(text) if text.startswith('"') else None
        if parts is None:
            found[at] = term_of(text) if "\\" not in text else term_of(unescaped(text))
        else:
            literals.append((at, (unescaped(parts[1]), parts[2] or _STRING, parts[3] or "")))
    for (at, _), value in zip(literals, constants([parts for _, parts in literals])):
        found[at] = value
    return found  # type: ignore[return-value]


def constants(literals: Sequence[tuple[str, str, str]]) -> list[Value]:
    """The constants of literals, each a lexical form, data type and language tag."""
    found: list[Value | None] = []
    asked: dict[int, tuple[str, str]] = {}
    for at, (lexical, datatype, language) in enumerate(literals):
        value: Value | None = None
        if language:
            value = Literal(lexical, language=language)
        elif datatype == _STRING:
            value = lexical
        elif datatype == _INTEGER and _PLAIN_INTEGER.fullmatch(lexical):
            value = int(lexical)
        elif datatype == _BOOLEAN and lexical in ("true", "false"):
            value = lexical == "true"
        elif datatype.startswith(XSD):
            asked[at] = lexical, datatype
        else:
            value = Literal(lexical, datatype)
        found.append(value)
    for at, (lexical, datatype) in _canonical(asked).items():
        found[at] = _valued(lexical, datatype)
    return found  # type: ignore[return-value]


def spelled(value: Value) -> str:
    """A constant as canonical N-Triples."""
    if isinstance(value, RdfTerm):
        return value.text
    if isinstance(value, bool):
        return f'"{str(value).lower()}"^^<{_BOOLEAN}>'
    if isinstance(value, int):
        return f'"{value}"^^<{_INTEGER}>'
    if isinstance(value, float):
        return f'"{np.format_float_positional(value, unique=True, trim="-")}"^^<{_DOUBLE}>'
    return f'"{escaped(value)}"'


def from_oxigraph(terms: Iterable[object]) -> list[Value]:
    """pyoxigraph's terms as constants."""
    return of_texts([str(term) for term in terms])


def to_oxigraph(value: Value) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    """A constant as pyoxigraph's term."""
    if isinstance(value, RdfTerm):
        if isinstance(value, Literal):
            language = value.language
            if language is not None:
                return ox.Literal(value.value, language=language)
            return ox.Literal(value.value, datatype=ox.NamedNode(value.datatype))
        text = value.text
        return ox.NamedNode(text[1:-1]) if text[0] == "<" else ox.BlankNode(text[2:])
    if isinstance(value, str):
        return ox.Literal(value)
    lexical, _, datatype = spelled(value)[1:].partition('"^^<')
    return ox.Literal(lexical, datatype=ox.NamedNode(datatype[:-1]))


def _canonical(asked: dict[int, tuple[str, str]]) -> dict[int, tuple[str, str]]:
    """The canonical lexical forms and data types, as Oxigraph's store has them."""
    if not asked:
        return {}
    store, about = ox.Store(), ox.NamedNode("urn:p")
    store.bulk_extend(
        ox.Quad(ox.NamedNode(f"urn:{at}"), about, ox.Literal(lexical, datatype=ox.NamedNode(datatype)))
        for at, (lexical, datatype) in asked.items()
    )
    found = {}
    for quad in store:
        assert isinstance(quad.object, ox.Literal)
        assert isinstance(quad.subject, ox.NamedNode)
        found[int(quad.subject.value[4:])] = quad.object.value, quad.object.datatype.value
    return found


def _valued(lexical: str, datatype: str) -> Value:
    """A canonical literal as the Python value that it is, or as a term."""
    if datatype == _INTEGER and re.fullmatch(r"-?[0-9]+", lexical) and -(2**63) <= int(lexical[:24]) < 2**63:
        return int(lexical)
    if datatype == _BOOLEAN and lexical in ("true", "false"):
        return lexical == "true"
    if datatype == _DOUBLE and re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", lexical) and lexical != "-0":
        number = float(lexical)
        if math.isfinite(number):
            return number
    return lexical if datatype == _STRING else Literal(lexical, datatype)
