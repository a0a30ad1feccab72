"""The random world itself: reproducible, readable, valid, varied and alive.

Agreement of engines over cases that derive nothing, or that the analysis would refuse, shows nothing.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.differential.case import Case, State
from tests.differential.liveness import measure
from tests.differential.oracle import lacks, model
from tests.differential.updates import draw_case
from tidelog.analysis.program_check import check
from tidelog.errors import ProgramError
from tidelog.language.terms import Aggregate, Atom, Call, Comparison, Negation

CASES = 300
"""As many as the default tier compares; what is asserted here holds for those."""


def test_same_seed_same_case() -> None:
    """A seed in a failure message is enough to see the failure again."""
    assert [draw_case(seed) for seed in range(20)] == [draw_case(seed) for seed in range(20)]


def test_cases_survive_writing_and_reading(tmp_path: Path) -> None:
    """What a person reads in a folder is the case that was run: rules, typed constants, updates and refusals."""
    for seed in range(60):
        case = draw_case(seed)
        case.write(tmp_path / str(seed))
        assert Case.read(tmp_path / str(seed)) == case, f"seed {seed}"


def test_cases_are_valid_by_construction() -> None:
    """The analysis accepts every program on the way and refuses exactly the updates that say so.

    The generator does not ask the analysis, so this judges both.
    """
    for seed in range(100):
        case = draw_case(seed)
        state = State.of(case.program)
        check(state.program)
        for update in case.updates:
            applied = state.after(replace(update, refused=None))
            if update.refused:
                with pytest.raises(ProgramError):
                    check(applied.program)
            else:
                check(applied.program)
                state = applied


def test_world_is_alive(capsys: pytest.CaptureFixture[str]) -> None:
    """Figure 3 of the guarantees: recursion derives, deletions bite, and some facts survive by another proof."""
    liveness = measure(draw_case(seed) for seed in range(CASES))
    with capsys.disabled():
        print(f"\nrandom world: {liveness}")
    assert liveness.is_alive, str(liveness)


def test_world_is_varied() -> None:
    """Every feature that an engine can get wrong occurs in the default tier."""
    cases = [draw_case(seed) for seed in range(CASES)]
    rules = [rule for case in cases for rule in case.program.rules]
    literals = [literal for rule in rules for literal in rule.body]
    updates = [update for case in cases for update in case.updates]
    arities = {len(fact.values) for case in cases for fact in case.program.facts}
    assert arities == {0, 1, 2, 3, 4}
    assert {part.function for part in literals if isinstance(part, Aggregate)} == {
        "count", "sum", "min", "max", "mean", "median",
    }  # fmt: skip
    assert {part.op for part in literals if isinstance(part, Comparison)} >= {"=", "!=", "<", "<=", ">", ">="}
    assert any(isinstance(part, Negation) for part in literals)
    assert any(isinstance(part, Comparison) and isinstance(part.right, Call) for part in literals)
    assert any(isinstance(term, Call) for part in literals if isinstance(part, Atom) for term in part.terms)
    assert any(isinstance(part, Aggregate) and isinstance(part.value, Call) for part in literals)
    assert sum(lacks(State.of(case.program), model(State.of(case.program))) > 0 for case in cases) > CASES // 10
    assert any(len(rule.body) != len(set(rule.body)) for rule in rules)
    assert any(update.add_rules and update.delete for update in updates)
    assert any(update.remove_rules and update.insert for update in updates)
    assert any(set(update.delete) & set(update.insert) for update in updates)
    assert any(update.refused for update in updates)
