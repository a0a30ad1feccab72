"""A relation that is declared inline changes no other relation, whatever the strategy and whatever rules come and go.

Wrong expansions hardly ever show in examples: what fails is a variable that has one name in two rules, a wildcard, a
constant in a head, a value that is missing. So programs are drawn.
"""

from __future__ import annotations

from itertools import cycle

import pytest

from tests.differential.engines import STRATEGIES, Factory, public_engines, reference_engines
from tests.differential.inlining import agree, twin
from tests.differential.updates import draw_case
from tidelog.language.terms import Negation, atoms

CASES, CHUNK = 160, 40
FIRST = 2_000_000


def keep(first: int, count: int, engines: dict[str, Factory], references: dict[str, Factory]) -> int:
    """Hold one strategy and one reference algorithm, by turns, to the model of each case; how many had a twin."""
    found = 0
    for seed, one, other in zip(range(first, first + count), cycle(engines.items()), cycle(references.items())):
        pair = twin(draw_case(seed))
        if pair is not None:
            found += agree(*pair, dict([one, other])) > 0
    return found


@pytest.mark.parametrize("first", range(FIRST, FIRST + CASES, CHUNK))
def test_inline_relations_change_no_other_relation(first):
    assert keep(first, CHUNK, public_engines(STRATEGIES), reference_engines()) > CHUNK // 3


@pytest.mark.long
@pytest.mark.parametrize("first", range(FIRST + CASES, FIRST + CASES + 2000, 200))
def test_inline_relations_change_no_other_relation_long(first):
    assert keep(first, 200, public_engines(STRATEGIES), reference_engines()) > 60


def test_twins_are_not_trivial():
    """Many of them use an inline relation in a rule, some under a negation, and some change their rules."""
    used = negated = changed = 0
    for seed in range(FIRST, FIRST + CASES):
        pair = twin(draw_case(seed))
        if pair is not None:
            case, _, inline = pair
            bodies = [literal for rule in case.program.rules for literal in rule.body]
            used += any(atom.relation in inline for literal in bodies for atom, _ in atoms(literal))
            negated += any(isinstance(one, Negation) and one.atom.relation in inline for one in bodies)
            rules = [rule for update in case.updates for rule in update.add_rules]
            changed += any(rule.head.relation in inline for rule in rules)
    assert used > 40
    assert negated > 5
    assert changed > 5
