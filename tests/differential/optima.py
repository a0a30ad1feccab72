"""Random cases with a recursion through `min` or `max`.

What      : `draw_optimum_case(seed)` is a case of the random world (updates.py) with a few rules more: best ways over
            weighted roads, guarded by a relation of the world, so that they change with everything else.
Idea      : the rules are drawn from the shapes that are allowed: costs that are added up, taken from a start, joined
            with each other, bounded, or dropped. Weights are never negative, so that every case ends.
Invariant : same seed, same case. The rules of the world are as drawn; roads come and go with its updates.
Never     : the analysis under test is not asked whether a program is allowed.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.differential.case import Case, Update, Values
from tests.differential.schema import DOMAINS, NUMBER, SYMBOL
from tests.differential.updates import draw_case
from tidelog.language.parser import parse
from tidelog.language.terms import Declaration, Program

GUARD = "place(x) :- e(x, _). place(x) :- p(_, x). place(x) :- road(_, x, _)."
BEST = "best(y, m) :- place(y), m = min c : { way(y, c) }. way(x, 0) :- start(x). "
STEP = "way(y, c + w) :- best(x, c), road(x, y, w)"
SHAPES = (
    f"{BEST} {STEP}.",
    f"{BEST} {STEP}, c < 5.",
    f"{BEST} way(y, max(c, w)) :- best(x, c), road(x, y, w).",
    "best(y, m) :- place(y), m = min c + w : { best(x, c), road(x, y, w) }. best(x, 1) :- start(x).",
    "best(y, m) :- place(y), m = max c : { way(y, c) }. way(y, c - w) :- best(x, c), road(x, y, w)."
    " way(x, 9) :- start(x).",
    "pair(x, y, m) :- place(x), place(y), m = min c : { way(x, y, c) }. way(x, y, w) :- road(x, y, w)."
    " way(x, z, a + b) :- pair(x, y, a), pair(y, z, b).",
    f"best(y, m) :- seen(y), m = min c : {{ way(y, c) }}. way(x, 0) :- start(x). {STEP}."
    " seen(x) :- start(x). seen(y) :- best(x, _), road(x, y, _).",
    f"best(y, v) :- place(y), m = min c : {{ way(y, c) }}, v = m * 2 + 1. way(x, 0) :- start(x). {STEP}."
    " least(m) :- m = min c : { best(_, c) }.",
)
EXTRA = ("more: way(x, 2) :- e(x, _).", "more: way(y, c + 1) :- best(x, c), e(x, y).")


def draw_optimum_case(seed: int) -> Case:
    """The case of a seed."""
    rng, case = Random(f"optima {seed}"), draw_case(seed)
    nodes = DOMAINS[rng.choice((NUMBER, SYMBOL))]
    shape = rng.choice(SHAPES)
    rules = parse(f"{GUARD} {shape}").rules
    roads = {_road(rng, nodes) for _ in range(rng.randint(4, 10))}
    facts = parse(
        " ".join(_written("road", road) for road in sorted(roads, key=repr)) + f" start({_text(nodes[0])})."
    ).facts
    declared: tuple[Declaration, ...] = parse(
        ".decl road(x: any, y: any, w: number) .decl place(x: any) .decl e(x: any, y: any) .decl p(x: any, y: any)"
    ).declarations
    known = {one.relation for one in case.program.declarations}
    declared = tuple(one for one in declared if one.relation not in known)
    program = Program(
        (*case.program.rules, *rules), (*case.program.facts, *facts), (*case.program.declarations, *declared)
    )
    return Case(program, tuple(_updates(rng, case, roads, nodes, "way(y, c + w)" in shape and "best" in shape)), seed)


def _updates(rng: Random, case: Case, roads: set[Values], nodes: Values, takes_more: bool) -> list[Update]:
    """The updates of the world, each with roads that go and come, and now and then a rule of ours."""
    found, has_more = [], False
    for update in case.updates:
        gone = tuple(rng.sample(sorted(roads, key=repr), min(len(roads), rng.choice((0, 1, 1, 3)))))
        come = tuple(sorted({_road(rng, nodes) for _ in range(rng.choice((0, 1, 1, 3)))} - set(gone), key=repr))
        if update.refused:
            found.append(update)
            continue
        roads -= set(gone)
        roads |= set(come)
        turned = replace(
            update,
            insert=(*update.insert, *(("road", road) for road in come)),
            delete=(*update.delete, *(("road", road) for road in gone)),
        )
        if takes_more and rng.random() < 0.4:
            if has_more:
                turned = replace(turned, remove_rules=(*turned.remove_rules, "more"))
            else:
                turned = replace(turned, add_rules=(*turned.add_rules, *parse(rng.choice(EXTRA)).rules))
            has_more = not has_more
        found.append(turned)
    return found


def _road(rng: Random, nodes: Values) -> Values:
    return rng.choice(nodes), rng.choice(nodes), rng.choice((0, 0, 1, 2, 3))


def _text(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _written(relation: str, values: Values) -> str:
    return f"{relation}({', '.join(map(_text, values))})."
