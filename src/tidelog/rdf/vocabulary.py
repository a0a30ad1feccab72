"""The names that RDF, RDFS and OWL give a meaning.

What      : IRIs as texts, by short names: `RDF.type` and the like.
Never     : no rules.
"""

from __future__ import annotations

from tidelog.language.rdf_terms import XSD as _XSD

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"


class Namespace:
    """IRIs that begin alike: `Namespace("http://example.org/").thing` is `http://example.org/thing`."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.prefix + name

    def __getitem__(self, name: str) -> str:
        return self.prefix + name


RDF, RDFS, OWL, XSD = Namespace(_RDF), Namespace(_RDFS), Namespace(_OWL), Namespace(_XSD)
TYPE = RDF.type

PREFIXES = {"rdf": _RDF, "rdfs": _RDFS, "owl": _OWL, "xsd": _XSD}

_DATATYPES = """
string normalizedString token language Name NCName NMTOKEN boolean decimal float double integer nonNegativeInteger
nonPositiveInteger positiveInteger negativeInteger long int short byte unsignedLong unsignedInt unsignedShort
unsignedByte dateTime dateTimeStamp hexBinary base64Binary anyURI
"""

DATATYPES = (
    *(_XSD + name for name in _DATATYPES.split()),
    _RDF + "XMLLiteral",
    _RDF + "PlainLiteral",
    _RDFS + "Literal",
)
"""The data types of OWL 2 RL (profile, section 4.2)."""

ANNOTATIONS = tuple(
    [_RDFS + name for name in ("label", "comment", "seeAlso", "isDefinedBy")]
    + [
        _OWL + name
        for name in ("deprecated", "versionInfo", "priorVersion", "backwardCompatibleWith", "incompatibleWith")
    ]
)
"""The built-in annotation properties of OWL 2 (rule prp-ap)."""


def shortened(iri: str, prefixes: dict[str, str] | None = None) -> str:
    """An IRI for people: a prefixed name where a prefix is known, else in brackets."""
    for prefix, begin in {**PREFIXES, **(prefixes or {})}.items():
        if iri.startswith(begin) and iri[len(begin) :].replace("-", "").replace("_", "").isalnum():
            return f"{prefix}:{iri[len(begin) :]}"
    return f"<{iri}>"
