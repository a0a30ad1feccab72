"""People after the manner of UOBM: what LUBM lacks.

What      : `campus(departments)` gives N-Triples of people with `owl:sameAs`, symmetric and transitive properties, and
            properties that identify; `ONTOLOGY` is what they mean. `python -m benchmarks.lubm.uobm FILE DEPARTMENTS`
            writes both.
Idea      : UOBM adds to LUBM links across universities and the parts of OWL that LUBM does not use. Here every
            department has towns (symmetric and transitive: each becomes a clique), friends (symmetric), units inside of
            units (transitive), people under several names, and a head who is named twice, so that an inverse functional
            property finds another `owl:sameAs`.
Source    : Ma, Yang, Qiu, Xie, Pan, Liu, Towards a complete OWL ontology benchmark, 2006; written anew, much smaller.
Invariant : a department is the same whether it is made alone or among others; `names` says how many names a person has.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

UOB = "http://example.org/uobm#"
SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
PEOPLE, TOWN, EVERY = 24, 6, 4
"""People of a department, people of a town, and which of them have several names."""

ONTOLOGY = """
@prefix : <http://example.org/uobm#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Student rdfs:subClassOf :Person . :Head rdfs:subClassOf :Person . :Fan rdfs:subClassOf :Person .
:hasSameHomeTownWith a owl:SymmetricProperty , owl:TransitiveProperty ; rdfs:domain :Person .
:isFriendOf a owl:SymmetricProperty .
:partOf a owl:TransitiveProperty .
:headOf a owl:InverseFunctionalProperty ; rdfs:subPropertyOf :memberOf ; rdfs:domain :Head .
:memberOf owl:inverseOf :hasMember .
:loves rdfs:subPropertyOf :likes .
:Fan owl:someValuesFrom :Sport ; owl:onProperty :likes .
:chess a :Sport . :tennis a :Sport .
"""


def department(number: int, seed: int = 0, names: int = 3) -> Iterator[str]:
    """The triples of one department, as lines."""
    chance = random.Random(f"{seed}/{number}")
    here = f"{UOB}department{number}"
    for low, high in pairwise([f"{here}/group", f"{here}/institute", here, f"{UOB}university"]):
        yield f"<{low}> <{UOB}partOf> <{high}> ."
    people = [f"{here}/person{person}" for person in range(PEOPLE)]
    for person, name in enumerate(people):
        aliases = [name, *(f"{name}/name{other}" for other in range(1, names))] if person % EVERY == 0 else [name]
        yield f"<{name}> {TYPE} <{UOB}Student> ."
        yield f"<{chance.choice(aliases)}> <{UOB}memberOf> <{here}/group> ."
        yield f"<{chance.choice(aliases)}> <{UOB}isFriendOf> <{chance.choice(people)}> ."
        yield f"<{chance.choice(aliases)}> <{UOB}{chance.choice(['loves', 'likes'])}> <{UOB}{chance.choice(TASTES)}> ."
        for one, other in pairwise(aliases):
            yield f"<{one}> {SAME} <{other}> ."
    for start in range(0, PEOPLE, TOWN):
        for one, other in pairwise(people[start : start + TOWN]):
            yield f"<{one}> <{UOB}hasSameHomeTownWith> <{other}> ."
    for head in (people[0], people[1]):  # two names that only the property tells to be one
        yield f"<{head}> <{UOB}headOf> <{here}> ."


TASTES = ("chess", "tennis", "music")


def campus(departments: int, seed: int = 0, names: int = 3) -> Iterator[str]:
    """The triples of several departments."""
    for number in range(departments):
        yield from department(number, seed, names)


def main() -> None:
    """`python -m benchmarks.lubm.uobm FILE DEPARTMENTS`: Turtle, ontology and data."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("departments", type=int)
    parser.add_argument("--names", type=int, default=3, help="names of a person who has several")
    args = parser.parse_args()
    args.file.write_text(ONTOLOGY + "\n".join(campus(args.departments, names=args.names)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
