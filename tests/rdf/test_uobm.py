"""Data with owl:sameAs, symmetric and transitive properties: against owlrl, from scratch, and counted by hand."""

import random

import pytest

from benchmarks.lubm.uobm import EVERY, ONTOLOGY, PEOPLE, TOWN, campus, department
from tests.rdf.test_oracles import by_owlrl, unexplained
from tests.rdf.texts import triples
from tidelog.rdf import Graph

PREFIX = "PREFIX : <http://example.org/uobm#> PREFIX owl: <http://www.w3.org/2002/07/owl#> "


def given(departments, **options):
    return triples(ONTOLOGY + "\n".join(campus(departments, **options)))


def counted(kg, text):
    ((found,),) = kg.query(f"{PREFIX} SELECT (COUNT(*) AS ?n) WHERE {{ {text} }}")
    return found


def test_a_department_is_the_same_wherever_it_is_made():
    assert list(campus(3))[-len(list(department(2))) :] == list(department(2))
    assert list(department(2)) != list(department(2, seed=1))


@pytest.mark.parametrize("layout", ["rules", "triples"])
def test_queries_have_the_answers_that_can_be_counted(layout):
    """Towns and names are cliques of known sizes; the head of a department is two people of one town."""
    names, departments = 3, 2
    kg = Graph(given(departments, names=names), reasoning="owl-rl", layout=layout)
    several = PEOPLE // EVERY
    heads = names + 1  # person 0 has several names, person 1 is the same by being the head
    cliques = [heads] + [names] * (several - 1)
    assert counted(kg, "?x owl:sameAs ?y") == departments * sum(size * size for size in cliques)
    people = PEOPLE + several * (names - 1)
    assert counted(kg, "?x a :Person") == departments * people
    towns = [TOWN + sum(names - 1 for person in range(start, start + TOWN) if person % EVERY == 0)
             for start in range(0, PEOPLE, TOWN)]  # fmt: skip
    assert counted(kg, "?x :hasSameHomeTownWith ?y") == departments * sum(size * size for size in towns)
    assert counted(kg, "?x :headOf ?d") == departments * heads
    assert counted(kg, "?x :partOf :university") == departments * 3
    assert counted(kg, "?x :isFriendOf ?y FILTER NOT EXISTS { ?y :isFriendOf ?x }") == 0
    assert counted(kg, "?x :memberOf ?g FILTER NOT EXISTS { ?g :hasMember ?x }") == 0


def test_owlrl_agrees():
    """One department with pairs of names; differences are those that test_oracles.py explains."""
    data = given(1, names=2)
    ours, theirs = set(Graph(data, reasoning="owl-rl")), by_owlrl(data)
    assert unexplained(theirs - ours) == set()
    assert unexplained(ours - theirs) == set()


@pytest.mark.parametrize("layout", ["rules", "triples"])
def test_every_change_is_reasoning_anew(layout):
    """Names that part and meet again, friends, towns, and the axioms that make them what they are."""
    data = given(1, names=3)
    chance = random.Random(7)
    kg, held = Graph(data, reasoning="owl-rl", layout=layout), set(data)
    for _ in range(6):
        gone = set(chance.sample(sorted(held, key=str), 3))
        back = set(chance.sample(data, 3)) - gone
        kg.apply(insert=sorted(back, key=str), delete=sorted(gone, key=str))
        held = (held - gone) | back
        assert set(kg) == set(Graph(sorted(held, key=str), reasoning="owl-rl", layout=layout))
