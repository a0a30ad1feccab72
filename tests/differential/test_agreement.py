"""Every algorithm and strategy equals recomputation on the random world, after every update, in facts and in changes.

Figure 1 of the guarantees, its fast tier; `python -m tests.differential.run` is the long one.
"""

from __future__ import annotations

import pytest

from tests.differential.case import Case, Update, Values, by_relation
from tests.differential.engines import (
    STRATEGIES,
    Change,
    Factory,
    Facts,
    NetChange,
    ReferenceEngine,
    engines_under_test,
    public_engines,
    reference_engines,
    way_engines,
)
from tests.differential.harness import Disagreement, agree
from tests.differential.pairs import draw_pairs
from tests.differential.updates import draw_case
from tidelog.language.parser import parse
from tidelog.language.terms import Program
from tidelog.reference.recompute import Recompute

CASES, CHUNK = 300, 25


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_engines_agree_with_recomputation(first: int) -> None:
    """The law of the design, on programs and streams that nobody chose; the slow algorithms take every eighth case."""
    everyone, fast = engines_under_test(), public_engines(STRATEGIES)
    for seed in range(first, first + CHUNK):
        agree(draw_case(seed), fast if seed % 8 else everyone)


LATER = [pytest.param(first, marks=pytest.mark.long) for first in range(10, 300, 10)]


@pytest.mark.parametrize("first", [0, *LATER])
def test_facts_from_bits_agree_with_recomputation(first: int) -> None:
    """Mostly pairs, with every stage of pairs computed in bits, and with some of them, as chance will have it."""
    for seed in range(first, first + 10):
        agree(draw_case(seed) if seed % 5 == 0 else draw_pairs(seed), way_engines())


class Forgetful(ReferenceEngine):
    """An engine that is wrong in one way: it says nothing about deleted facts of `p`."""

    def __init__(self, program: Program) -> None:
        super().__init__(Recompute, program)

    def apply(self, *arguments: object, **named: object) -> Change:
        """The change without what fell from `p`."""
        change = super().apply(*arguments, **named)  # type: ignore[arg-type]
        return NetChange(change.inserted, {name: facts for name, facts in change.deleted.items() if name != "p"})


class Hoarding(ReferenceEngine):
    """An engine that keeps every fact that it ever held."""

    def __init__(self, program: Program) -> None:
        super().__init__(Recompute, program)
        self._ever: list[tuple[str, Values]] = []

    def facts(self) -> Facts:
        """All facts of all times."""
        self._ever += [(name, values) for name, facts in super().facts().items() for values in facts]
        return by_relation(self._ever)


CASE = Case(parse("p(x) :- q(x). q(1). q(1.0)."), (Update(delete=(("q", (1.0,)),)),), seed=7)


@pytest.mark.parametrize("wrong", [Forgetful, Hoarding])
def test_harness_sees_wrong_changes_and_wrong_facts(wrong: Factory) -> None:
    """The harness can fail, and its message says where to look and what to do."""
    with pytest.raises(Disagreement) as found:
        agree(CASE, {"wrong": wrong})
    message = str(found.value)
    assert "seed 7" in message
    assert '"delete": [["q", 1.0]]' in message
    assert "python -m tests.differential.shrink 7" in message


def test_harness_sees_an_update_that_should_have_been_refused() -> None:
    """Accepting a bad rule is a disagreement as well."""
    harmless = parse("p(x) :- q(x), q(x).").rules
    case = Case(CASE.program, (Update(add_rules=harmless, refused="ProgramError"),))
    with pytest.raises(Disagreement, match="accepted what must be refused"):
        agree(case, reference_engines())
