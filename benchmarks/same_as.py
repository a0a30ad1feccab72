"""What `owl:sameAs` costs by rules, beside representatives: `python -m benchmarks.same_as [--names N]`

What      : the same names in cliques of 1 to 50, four triples about each name; CPU seconds and triples of reasoning by
            rules, and of reasoning over one representative of each clique.
Idea      : representatives are found and put into the data beforehand, which is the least that an engine with
            rewriting would do; it would also have to keep cliques apart when a pair goes, and to expand answers.
Never     : no assertion; docs/decisions/0028-same-as-by-rules.md says what follows from the figures.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from itertools import pairwise

from tidelog import rdf

SAME, PROPERTIES = rdf.IRI(rdf.OWL.sameAs), 4
Triples = list[tuple[rdf.IRI, rdf.IRI, rdf.IRI]]
AXIOMS: Triples = [
    (rdf.IRI("urn:p0"), rdf.IRI(rdf.RDFS.domain), rdf.IRI("urn:C")),
    (rdf.IRI("urn:p1"), rdf.IRI(rdf.RDFS.subPropertyOf), rdf.IRI("urn:p2")),
]


def world(names: int, size: int) -> tuple[Triples, Triples]:
    """Cliques of a size: their pairs, a chain each, and the triples about their members."""
    chance = random.Random(size)
    things = [rdf.IRI(f"urn:x{number}") for number in range(names)]
    pairs = [(one, SAME, other) for at in range(0, names, size) for one, other in pairwise(things[at : at + size])]
    about = [
        (thing, rdf.IRI(f"urn:p{number}"), chance.choice(things)) for thing in things for number in range(PROPERTIES)
    ]
    return pairs, about


def reasoned(triples: Triples) -> tuple[float, int]:
    """CPU seconds and facts."""
    started = time.process_time()
    kg = rdf.Graph([*AXIOMS, *triples], reasoning="owl-rl")
    return time.process_time() - started, kg.fact_count


def measured(names: int, size: int) -> dict[str, float]:
    """Both ways, for one size of cliques."""
    pairs, about = world(names, size)
    number = {thing: at for at, thing in enumerate(dict.fromkeys(one for one, _, _ in about))}
    first = {thing: rdf.IRI(f"urn:x{at - at % size}") for thing, at in number.items()}
    by_rules, facts = reasoned(pairs + about)
    by_first, fewer = reasoned(list({(first[s], p, first[o]): None for s, p, o in about}))
    return {"clique": size, "by rules": by_rules, "facts": facts, "representatives": by_first, "their facts": fewer}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--names", type=int, default=1000)
    args = parser.parse_args()
    pairs, about = world(100, 2)
    reasoned(pairs + about)
    for size in (1, 2, 5, 10, 20, 50):
        print(json.dumps(measured(args.names, size)), flush=True)


if __name__ == "__main__":
    main()
