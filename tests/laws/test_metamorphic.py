"""Every engine keeps the metamorphic relations on random cases.

Cases are dealt out to the engines by turns, so that every law meets every engine.
"""

from __future__ import annotations

from itertools import cycle

import pytest

from tests.differential.engines import (
    STRATEGIES,
    Change,
    Declined,
    Factory,
    Facts,
    NetChange,
    ReferenceEngine,
    public_engines,
    reference_engines,
)
from tests.differential.updates import draw_case
from tests.laws.metamorphic import LAWS
from tidelog.language.terms import Program
from tidelog.reference.recompute import Recompute

ENGINES: dict[str, dict[str, Factory]] = {"reference": reference_engines(), "public": public_engines(STRATEGIES)}

FAST, LONG = {"reference": 15, "public": 30}, {"reference": 360, "public": 720}
"""Cases per law: 7 laws make 210 and 5,040 for the public engine, and others for the reference algorithms."""

FIRST_SEED = 1_000_000
"""Other cases than those of the differential tests."""


def keep(law: str, kind: str, first: int, count: int) -> None:
    """Check a law on `count` cases, dealt out to the engines by turns."""
    kept = 0
    for seed, (name, factory) in zip(range(first, first + count), cycle(ENGINES[kind].items())):
        try:
            LAWS[law](draw_case(seed), factory)
            kept += 1
        except Declined:
            continue
        except Exception as error:
            raise AssertionError(f"seed {seed}: {name} breaks `{law}`: {error}") from error
    assert kept >= count * 0.8


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("law", LAWS)
def test_engines_keep_the_laws(law: str, kind: str) -> None:
    """What carries no meaning changes no answer."""
    keep(law, kind, FIRST_SEED, FAST[kind])


@pytest.mark.long
@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("law", LAWS)
def test_engines_keep_the_laws_long(law: str, kind: str) -> None:
    """The same on many more cases."""
    keep(law, kind, FIRST_SEED + FAST[kind], LONG[kind])


class Superstitious(ReferenceEngine):
    """An engine to which everything matters that must not: names, order, the length of rules, the time."""

    def __init__(self, program: Program) -> None:
        short = tuple(rule for rule in program.rules[1:] if len(rule.body) <= 3)
        super().__init__(Recompute, Program(short, program.facts, program.declarations))
        self._updates = 0

    def apply(self, *arguments: object, **named: object) -> Change:
        """The change, or every other time its reverse."""
        change = super().apply(*arguments, **named)  # type: ignore[arg-type]
        self._updates += 1
        return change if self._updates % 2 else NetChange(change.deleted, change.inserted)

    def facts(self) -> Facts:
        """Everything except what has a name from the beginning of the alphabet."""
        return {name: facts for name, facts in super().facts().items() if name > "h"}


@pytest.mark.parametrize("law", LAWS)
def test_laws_can_be_broken(law: str) -> None:
    """A law that a wrong engine keeps on every case would be no law."""
    broken = 0
    for seed in range(40):
        try:
            LAWS[law](draw_case(seed), Superstitious)
        except AssertionError:
            broken += 1
    assert broken
