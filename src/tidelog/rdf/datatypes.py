"""What the rules about data types have to know of literals.

What      : facts about the literals of a source: which are ill-typed, and, if asked for, all types and values.
Idea      : a rule cannot look into a literal, so what table 8 of the profile says of lexical and value spaces comes as
            facts; the rules tie them to the triples in which the literals stand.
Source    : OWL 2 Profiles, section 4.3, table 8 (dt-type2, dt-eq, dt-diff, dt-not-type).
Invariant : a literal has one value; literals of integer, decimal and double types with equal numbers have equal values
            only inside integer and decimal, as XML Schema has it.
Never     : no triples.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa

from tidelog.changes.term_arrays import is_term_type
from tidelog.language.rdf_terms import IRI, XSD, Literal, RdfTerm
from tidelog.language.rdf_values import DECIMAL, INTEGER, moment, number
from tidelog.language.terms import Value
from tidelog.rdf.quads import ListedQuads, Quads

_PATTERNS = {
    f"{XSD}boolean": r"true|false",
    f"{XSD}duration": r"-?P.*",
    f"{XSD}hexBinary": r"(?:[0-9A-Fa-f]{2})*",
    f"{XSD}base64Binary": r"[A-Za-z0-9+/=\s]*",
    f"{XSD}language": r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*",
}
_NUMERIC = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "float", "double"))
_TIMES = frozenset(f"{XSD}{name}" for name in ("dateTime", "date", "time"))


def literal_facts(quads: Quads, *, everything: bool) -> Mapping[str, list[tuple[Value, ...]]]:
    """Facts about the literals of a source, by relation."""
    values = quads.values() if everything else _typed_terms(quads)
    literals = [value for value in values if not isinstance(value, RdfTerm) or isinstance(value, Literal)]
    found: dict[str, list[tuple[Value, ...]]] = {"ill_typed": [], "literal_type": [], "literal_value": []}
    for value in literals:
        if isinstance(value, Literal) and is_ill_typed(value):
            found["ill_typed"].append((value, IRI(value.datatype)))
        elif everything:
            found["literal_type"] += [(value, IRI(kind)) for kind in _types(value)]
            found["literal_value"].append((value, value_of(value)))
    return {relation: facts for relation, facts in found.items() if facts}


def is_ill_typed(literal: Literal) -> bool:
    """Whether the lexical form does not belong to its data type, as far as the type is known."""
    datatype = literal.datatype
    if datatype in _NUMERIC:
        return number(literal) is None
    if datatype in _TIMES:
        return moment(literal) is None
    pattern = _PATTERNS.get(datatype)
    return pattern is not None and re.fullmatch(pattern, literal.value) is None


def value_of(value: Value) -> str:
    """A text that is equal for literals with equal values."""
    if isinstance(value, bool):
        return f"boolean {value}"
    if isinstance(value, int):
        return f"decimal {value}"
    if isinstance(value, float):
        return f"double {value}"
    if isinstance(value, Literal):
        found = number(value)
        if found is not None and found[0] in (INTEGER, DECIMAL):
            return f"decimal {found[1]}"
        time = moment(value)
        return value.text if time is None else f"{time[0]} {time[1]}"
    return f"string {value}"


def _types(value: Value) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (f"{XSD}boolean",)
    if isinstance(value, int):
        return f"{XSD}integer", f"{XSD}decimal"
    if isinstance(value, float):
        return (f"{XSD}double",)
    return (f"{XSD}string",) if isinstance(value, str) else (value.datatype,) if isinstance(value, Literal) else ()


def _typed_terms(quads: Quads) -> list[Value]:
    """The literals among the terms, without making Python values of the rest."""
    if isinstance(quads, ListedQuads):
        return quads.values()
    values = quads.constants.values
    arrays = [values] if not pa.types.is_union(values.type) else map(values.field, range(values.type.num_fields))
    found: list[Value] = []
    for array in arrays:
        if is_term_type(array.type):
            found += array.filter(pa.compute.starts_with(array.storage, '"')).to_pylist()
    return found
