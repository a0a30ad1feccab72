"""RDF terms in JSON, as JSON-LD writes them.

What      : `{"@id": "http://..."}` is an IRI, `{"@id": "_:b0"}` a blank node, `{"@value": "...", "@type": "..."}` and
            `{"@value": "...", "@language": "en"}` are literals; every other value stands for itself.
Invariant : `from_json(to_json(value)) == value` for every constant.
Never     : no JSON-LD contexts.
"""

from __future__ import annotations

from typing import Any

from tidelog.language.rdf_terms import IRI, BlankNode, Literal, RdfTerm
from tidelog.language.rdf_values import canonical
from tidelog.language.terms import Value


def from_json(value: Any) -> Any:  # noqa: ANN401 - what json.loads gives; what is no term is checked by the caller
    """A term for an object that describes one; everything else as it is."""
    if not isinstance(value, dict):
        return value
    match value:
        case {"@id": str(name)} if len(value) == 1:
            return BlankNode(name[2:]) if name.startswith("_:") else IRI(name)
        case {"@value": str(lexical), "@language": str(language)} if len(value) == 2:
            return Literal(lexical, language=language)
        case {"@value": str(lexical), "@type": str(datatype)} if len(value) == 2:
            return canonical(lexical, datatype) if Literal(lexical, datatype) else lexical
    return value


def to_json(value: Value) -> Any:  # noqa: ANN401 - what json.dumps takes
    """A constant as JSON."""
    if not isinstance(value, RdfTerm):
        return value
    if isinstance(value, Literal):
        if value.language is not None:
            return {"@value": value.value, "@language": value.language}
        return {"@value": value.value, "@type": value.datatype}
    return {"@id": value.value if isinstance(value, IRI) else value.text}
