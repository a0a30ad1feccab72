"""Like Claros-LE: museum objects in taxonomies, and a few large cliques of related places.

What      : objects with types, finds, collections and places; `relatedPlaces` is symmetric and transitive.
Source    : Motik et al. 2015, section 5: up to 7,500 deletions the cliques survive, with 10,000 one shrinks by one
            vertex. The original data are not among our sources: this is the described structure, in smaller steps.
Invariant : no deletion but the last tears a clique; the last takes every edge of one place in the largest clique.
"""

from __future__ import annotations

import random

from benchmarks.maintenance.workloads.workload import Deletions, Fact, Workload, shuffled

PROGRAM = """
kind1: isA(x, c) :- kind(x, c).
kind2: isA(x, d) :- isA(x, c), broader(c, d).
kind3: Object(x) :- isA(x, c).
part1: within(x, y) :- partOf(x, y).
part2: within(x, z) :- partOf(x, y), within(y, z).
find1: foundIn(x, p) :- foundAt(x, p).
find2: foundIn(x, q) :- foundAt(x, p), within(p, q).
find3: Object(x) :- foundIn(x, p).
find4: Place(p) :- foundIn(x, p).
keep1: Object(x) :- keptBy(x, m).
keep2: Museum(m) :- keptBy(x, m).
place1: Place(p) :- relatedPlaces(p, q).
place2: relatedPlaces(p, q) :- relatedPlaces(q, p).
place3: relatedPlaces(p, r) :- relatedPlaces(p, q), relatedPlaces(q, r).
near1: nearby(x, p) :- foundAt(x, p), relatedPlaces(p, p).
"""

OBJECTS, KINDS, SITES = 8_000, 300, 600
CLIQUES = (250, 120, 120, 60, 60, 60)


def places() -> Workload:
    """Objects from sites, and six groups of related places."""
    source = random.Random(11)
    facts = _objects(source)
    sites = [f"site{number}" for number in range(sum(CLIQUES))]
    edges, at = [], 0
    for size in CLIQUES:
        edges.append(_ring(sites[at : at + size]))
        at += size
    facts["relatedPlaces"] = [edge for ring in edges for edge in ring]
    order = _order(facts, edges, source)
    return Workload("Claros-LE-like", PROGRAM, facts, order, (5, 125, 250, 375, 500))


def clique(size: int) -> Workload:
    """One clique, from which one edge goes without harm."""
    edges = _ring([f"site{number}" for number in range(size)])
    order: Deletions = (("relatedPlaces", edges[len(edges) // 2]),)
    program = "\n".join(line for line in PROGRAM.splitlines() if line.startswith(("place2", "place3")))
    return Workload(f"clique of {size}", program, {"relatedPlaces": edges}, order, (1,))


def _objects(source: random.Random) -> dict[str, list[Fact]]:
    pick = source.randrange
    objects = [f"object{number}" for number in range(OBJECTS)]
    return {
        "kind": [(thing, f"kind{pick(KINDS)}") for thing in objects],
        "broader": [(f"kind{at}", f"kind{pick(at)}") for at in range(1, KINDS)],
        "partOf": [
            *((f"site{at}", f"region{at % 40}") for at in range(SITES)),
            *((f"region{at}", f"country{at % 8}") for at in range(40)),
        ],
        "foundAt": [(thing, f"site{pick(SITES)}") for thing in objects],
        "keptBy": [(thing, f"museum{pick(25)}") for thing in objects],
    }


def _ring(names: list[str]) -> list[Fact]:
    """A ring with chords: every place has four neighbours, so that single edges never matter."""
    steps = (1, max(2, len(names) // 3))
    return [(name, names[(at + step) % len(names)]) for at, name in enumerate(names) for step in steps]


def _order(facts: dict[str, list[Fact]], edges: list[list[Fact]], source: random.Random) -> Deletions:
    """Easy facts and harmless edges first; the edges of one place of the largest clique last."""
    easy = [one for one in shuffled(facts, source) if one[0] != "relatedPlaces"]
    harmless = [("relatedPlaces", ring[at]) for ring in edges for at in range(1, len(ring) // 2, 12)]
    source.shuffle(harmless)
    lonely = edges[0][-2][0]
    last = [("relatedPlaces", edge) for edge in edges[0] if lonely in edge]
    mixed = [one for pair in zip(easy, [None, None, *harmless] + [None] * 500) for one in pair if one is not None]
    return (*mixed[: 500 - len(last)], *last)
