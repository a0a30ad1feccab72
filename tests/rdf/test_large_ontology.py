"""Large ontologies: their axioms are facts, and a change of one costs what it changes, not what there is."""

import pytest

from tests.rdf.texts import triples
from tidelog.rdf import IRI, RDF, RDFS, Graph
from tidelog.rdf.layouts import Layout

EX = "http://example.org/"
SUB = IRI(RDFS.subClassOf)


def named(number):
    return IRI(f"{EX}C{number}")


def above(number):
    """The numbers of the classes above one, in a tree of seven children each."""
    found = []
    while number:
        number = (number - 1) // 7
        found.append(number)
    return found


@pytest.mark.parametrize("count", [3_200, pytest.param(50_000, marks=pytest.mark.long)])
def test_a_large_hierarchy_loads_and_changes_in_proportion(count):
    """The last class has as many superclasses at both sizes, up to one, so that the same few triples come and go."""
    axioms = [(named(number), SUB, named((number - 1) // 7)) for number in range(1, count)]
    member = (IRI(f"{EX}a"), IRI(RDF.type), named(count - 1))
    kg = Graph([*axioms, member], reasoning="owl-rl")
    assert kg.layout is Layout.TRIPLES
    ancestors = above(count - 1)
    assert all((member[0], member[1], named(one)) in kg for one in ancestors)
    gone = kg.apply(delete=[axioms[-1]])
    assert len(gone.deleted) == 2 * len(ancestors)
    assert sum(gone.stats.derivations.values()) < 1000
    back = kg.apply(insert=[axioms[-1]])
    assert set(back.inserted) == set(gone.deleted)
    assert sum(back.stats.derivations.values()) < 1000
    assert "cax-sco" in str(kg.explain((member[0], member[1], named(0))))
    fresh = kg.apply(insert=triples(":C0 rdfs:subClassOf :Top ."))
    assert len(fresh.inserted) == count + 2 - 1
