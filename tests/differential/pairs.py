"""A world of pairs: programs of rules over binary relations, for everything that handles those in its own way.

What      : `draw_pairs(seed)` is a case whose relations are all over pairs, with updates of facts and rules.
Idea      : the large world (programs.py) has every kind of rule, and so hardly a stage in which all rules are over
            pairs. Here nearly all are: compositions in any order and direction, inverses, intersections, differences,
            values that are apart, conditions on one value, recursion through one or two relations.
Invariant : a seed always gives the same case. Rules negate given relations only, so every program is stratified.
Never     : no engine here (harness.py compares).
"""

from __future__ import annotations

from random import Random

from tests.differential.case import Case, Update, Values
from tidelog.language.parser import parse
from tidelog.language.terms import Rule

GIVEN, DERIVED = ("e", "f"), ("p", "q", "r")


def draw_pairs(seed: int) -> Case:
    """One case."""
    draw = Random(seed)
    values = draw.choice((3, 5, 8, 70))
    rules = [_rule(draw, head) for head in DERIVED for _ in range(draw.randint(1, 3))]
    facts = [f"{name}({one}, {other})." for name, (one, other) in _facts(draw, values, 2 * min(values, 20))]
    program = parse("\n".join([*dict.fromkeys(rules), *facts, *(f"u({one})." for one in range(0, values, 2))]))
    return Case(program, tuple(_updates(draw, values, program.rules)), seed)


def _rule(draw: Random, head: str) -> str:
    """A rule over pairs; relations that come later may read those before them, and themselves."""
    known = (*GIVEN, *DERIVED[: DERIVED.index(head) + 1])
    ways = [("x", "y"), ("y", "z")] if draw.random() < 0.7 else [("x", "z")]
    body = []
    for start, end in ways:
        body.append(_atom(draw, draw.choice(known), start, end))
        if draw.random() < 0.25:
            sign = draw.choice(("", "!"))
            body.append(sign + _atom(draw, draw.choice(GIVEN if sign else known), start, end))
    if draw.random() < 0.3:
        body.append(f"{draw.choice('xz')} != {draw.choice('xz' if len(ways) == 1 else 'yz')}")
    if draw.random() < 0.3:
        body.append(draw.choice(("u(x)", "!u(z)", "e(z, _)", "!f(_, x)", "f(x, x)", "u(z)")))
    draw.shuffle(body)
    ends = "x, x" if draw.random() < 0.1 and len(ways) == 1 else draw.choice(("x, z", "z, x"))
    return f"{head}({ends}) :- {', '.join(body)}."


def _atom(draw: Random, relation: str, start: str, end: str) -> str:
    return f"{relation}({start}, {end})" if draw.random() < 0.7 else f"{relation}({end}, {start})"


def _facts(draw: Random, values: int, count: int) -> list[tuple[str, Values]]:
    """Facts of given relations, and a few explicit ones of derived relations."""
    names = (*GIVEN, *GIVEN, *GIVEN, draw.choice(DERIVED))
    return [(draw.choice(names), (draw.randrange(values), draw.randrange(values))) for _ in range(count)]


def _updates(draw: Random, values: int, rules: tuple[Rule, ...]) -> list[Update]:
    """Facts come and go, one or many, and now and then a rule."""
    updates = []
    for _ in range(5):
        many = draw.choice((1, 2, 10, 30))
        gone, come = _facts(draw, values, many), _facts(draw, values + 1, draw.choice((0, 1, many)))
        added = parse(_rule(draw, draw.choice(DERIVED))).rules if draw.random() < 0.2 else ()
        if added and any((one.head, one.body) == (rule.head, rule.body) for one in added for rule in rules):
            added = ()
        updates.append(Update(insert=tuple(come), delete=tuple(gone), add_rules=added))
        rules += added
    return updates
