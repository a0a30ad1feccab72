"""The worked examples in the docstrings of strategies are what really happens.

A docstring that shows the steps of an algorithm is the first thing that a newcomer reads, and the first to go stale.
Here its program, its facts and its updates are run on the naive store, and the calls that follow are compared line by
line; what stands after `#` is for the reader.
"""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import Facts, SetStore
from tidelog.language.printer import print_fact
from tidelog.maintenance import bf, counting
from tidelog.planning.views import NO_MARKS, Mark
from tidelog.reference.facts import from_fact


class Telling(SetStore):
    """The naive store, writing down what it is asked and what it answers."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def _tell(self, word: str, given: Facts, found: Facts | None = None) -> None:
        answer = "" if found is None else f" -> {shown(found) or 'nothing'}"
        self.told.append(f"{word} {shown(given) or 'nothing'}{answer}")

    def derive(self, stage, driving, blocking, matching, heads, add, phase):
        found = super().derive(stage, driving, blocking, matching, heads, add, phase)
        self._tell(phase, driving, found)
        return found

    def supported(self, stage, facts, matching, phase):
        found = super().supported(stage, facts, matching, phase)
        self._tell("from below", facts, found)
        return found

    def expand(self, stage, facts, matching, bodies, add, limit, phase):
        found = super().expand(stage, facts, matching, bodies, add, limit, phase)
        self._tell(phase, facts, found[0])
        return found

    def mark(self, facts, add=NO_MARKS, remove=NO_MARKS):
        super().mark(facts, add, remove)
        for mark in (Mark.PROVED, Mark.DISPROVED):
            if facts and mark in add:
                self._tell(mark.name.lower(), facts)

    def count(self, stage, driving, blocking, matching, sign, phase):
        found = super().count(stage, driving, blocking, matching, sign, phase)
        self._tell(f"count {sign:+}", driving, found)
        return found

    def due(self, facts):
        number, leaving, entering, later = super().due(facts)
        if leaving or entering:
            parts = (("leave", leaving), ("enter", entering))
            moved = "; ".join(f"{shown(some)} {word}" for word, some in parts if some)
            self.told.append(f"round {number}: {moved}")
        return number, leaving, entering, later


def shown(facts: Facts) -> str:
    return " ".join(sorted(print_fact(*from_fact(fact)).rstrip(".").replace('"', "") for fact in facts))


def parsed(module: ModuleType) -> tuple[str, list[tuple[str, list[str]]]]:
    """The program of a docstring's example, and for each update the lines that follow it."""
    text = (module.__doc__ or "").split("\nExample")[1]
    lines = [line.partition("#")[0].strip() for line in text.splitlines() if line.startswith("    ")]
    program = "\n".join(line for line in lines if line.endswith("."))
    updates: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith(("- ", "+ ")):
            updates.append((line, []))
        elif updates and line:
            updates[-1][1].append(line)
    return program, updates


@pytest.mark.parametrize(("module", "strategy"), [(bf, "bf"), (counting, "counting")])
def test_the_example_of_a_strategy_is_what_happens(module: ModuleType, strategy: str) -> None:
    """Call by call, in order."""
    program, updates = parsed(module)
    store = Telling()
    engine = StoreEngine(program, strategy, store)
    assert len(updates) >= 2
    for update, expected in updates:
        store.told.clear()
        relation, _, values = update[2:].rstrip(")").partition("(")
        facts = {relation: [tuple(values.split(", "))]}
        engine.apply(**{"delete" if update.startswith("-") else "insert": facts})
        assert store.told == expected
