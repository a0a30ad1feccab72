"""Small graphs as Turtle text, for tests."""

import pyoxigraph as ox

from tidelog.rdf import Graph
from tidelog.rdf.literals import from_oxigraph

PREFIXES = """
@prefix : <http://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def triples(text):
    """The triples of Turtle text, blank nodes with the labels that they have in it."""
    found = [quad.triple for quad in ox.parse(PREFIXES + text, format=ox.RdfFormat.TURTLE)]
    values = iter(from_oxigraph([term for triple in found for term in triple]))
    return [(s, p, o) for s, p, o in zip(values, values, values)]


def graph(text, reasoning="owl-rl", **options):
    """A graph of Turtle text."""
    return Graph(triples(text), reasoning=reasoning, **options)
