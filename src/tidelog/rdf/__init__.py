"""Triples in, triples out: RDF terms and files, reasoning that is kept true, and SPARQL."""

from __future__ import annotations

from tidelog.errors import UsageError
from tidelog.language.rdf_terms import IRI, BlankNode, Literal

try:
    import pyoxigraph  # noqa: F401
except ImportError as missing:  # pragma: no cover - the development environment has it
    raise UsageError.of(
        "E834", "tidelog.rdf needs pyoxigraph", remedy='install it: pip install "tidelog[rdf]"'
    ) from missing

from tidelog.rdf.graph import Graph
from tidelog.rdf.graph_change import GraphChange
from tidelog.rdf.literals import literal
from tidelog.rdf.read import facts, read_quads
from tidelog.rdf.vocabulary import OWL, RDF, RDFS, XSD, Namespace

__all__ = [
    "IRI",
    "OWL",
    "RDF",
    "RDFS",
    "XSD",
    "BlankNode",
    "Graph",
    "GraphChange",
    "Literal",
    "Namespace",
    "facts",
    "literal",
    "read_quads",
]
