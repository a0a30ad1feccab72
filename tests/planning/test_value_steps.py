"""Which recursions through `min` and `max` have steps, and which are left to rounds.

A step that is not one of the rules would let the store find values that nothing derives, so what cannot be seen to be a
sum of a best value and one number has no steps.
"""

import pytest

from tidelog.language.parser import parse
from tidelog.language.printer import print_literal
from tidelog.planning.lowering import lower
from tidelog.planning.value_steps import value_steps

BEST = "best(y, m) :- place(y), m = min c : { way(y, c) }. "


def steps_of(text):
    """The steps of the one stage of a program that aggregates itself, as text with plain names, and their signs."""
    [stage] = [stage for stage in lower(parse(text).rules).stages if stage.groups and stage.rules]
    found = value_steps(stage)
    if found is None:
        return None
    shown = []
    for rule in found.stage.rules:
        literals = [print_literal(literal) for literal in (rule.head, *rule.body)]
        shown.append(f"{literals[0]} :- {', '.join(literals[1:])}")
    return shown, found.signs


def test_shortest_paths_are_steps_along_edges():
    """What is asked of the best value's group stands with the edge; a rule without a best value is no step."""
    [step], signs = steps_of(BEST + "way(y, c + w) :- best(x, c), road(x, y, w). way(x, 0) :- start(x).")
    head, _, body = step.partition(" :- ")
    assert head.startswith("`@step`(")
    assert sorted(atom.partition("(")[0] for atom in body.split(", ") if "(" in atom) == ["place", "road"]
    assert signs == (1,)


@pytest.mark.parametrize(
    ("rule", "signs"),
    [
        ("way(y, w + c) :- best(x, c), road(x, y, w).", (1,)),
        ("way(y, c - w) :- best(x, c), road(x, y, w).", (-1,)),
        ("way(y, c) :- best(x, c), e(x, y).", (0,)),
        ("way(y, c + 1) :- best(x, c), e(x, y), !closed(x, y), x != y.", (1,)),
        ('way("z", c + w) :- best("x", c), road("x", "z", w).', (1,)),
        ("way(y, c) :- best(x, c), e(x, y). way(y, c + w) :- best(x, c), road(x, y, w).", (0, 1)),
        ("way(y, c) :- on(x, c), e(x, y). on(x, c + w) :- best(x, c), toll(x, w).", (1,)),
    ],
)
def test_sums_are_steps(rule, signs):
    """In either order, through further relations, with conditions below."""
    assert steps_of(BEST + rule)[1] == signs


@pytest.mark.parametrize(
    "rule",
    [
        "way(y, c * 2) :- best(x, c), e(x, y).",
        "way(y, c + v + w) :- best(x, c), two(x, y, v, w).",
        "way(y, max(c, w)) :- best(x, c), road(x, y, w).",
        "way(y, c + w) :- best(x, c), road(x, y, w), c < 5.",
        "way(y, a + b) :- best(x, a), best(y, b), e(x, y).",
        "way(y, c + w) :- best(x, c), road(x, y, w), seen(y). seen(y) :- best(y, _).",
        "way(y, c) :- on(x, c), e(x, y). on(x, c) :- best(x, c), e(x, x). on(y, c) :- on(x, c), e(x, y).",
    ],
)
def test_others_are_left_to_rounds(rule):
    """Products, two numbers (floats round in order), bounds, two facts of the stage, and a way that winds on itself."""
    assert steps_of(BEST + rule) is None
