"""Every golden program, on every engine, gives the expected facts and changes after every update.

A case that one engine passes and another fails is the shortest description of a fault that we have.
"""

from __future__ import annotations

import pytest

from tests.differential.engines import Declined, Engine, Factory, LookAhead, engines_under_test
from tests.differential.harness import keys
from tests.differential.liveness import recursive_rules
from tests.differential.oracle import model
from tests.programs.golden import Golden, golden_cases
from tidelog.analysis.program_check import check
from tidelog.errors import TidelogError

ENGINES: dict[str, Factory] = engines_under_test()
CASES = golden_cases()


@pytest.mark.parametrize("golden", CASES, ids=lambda golden: golden.name)
@pytest.mark.parametrize("engine", ENGINES)
def test_facts_and_changes_are_as_expected(golden: Golden, engine: str) -> None:
    """The law on a case that a person has read: facts and net changes, version by version, refusals included."""
    try:
        running = ENGINES[engine](golden.case.program)
        assert keys(running.facts()) == golden.expected(0)
        for version in range(1, len(golden.states)):
            follow(golden, running, version)
    except Declined:
        assert any(recursive_rules(state.rules) for state in golden.states), "only recursion may be declined"


def follow(golden: Golden, running: Engine, version: int) -> None:
    """Apply the update that leads to a version and compare all that the engine says."""
    before, after = golden.expected(version - 1), golden.expected(version)
    code = golden.refusal(version)
    if isinstance(running, LookAhead):
        running.announce(next(iter(golden.case.updates[version:]), None))
    if code:
        with pytest.raises(TidelogError) as refused:
            running.apply(**golden.arguments(version))  # type: ignore[arg-type]
        assert refused.value.code == code
    else:
        change = running.apply(**golden.arguments(version))  # type: ignore[arg-type]
        assert keys(change.inserted) == after - before, f"inserted by update {version}"
        assert keys(change.deleted) == before - after, f"deleted by update {version}"
    assert keys(running.facts()) == after, f"facts after update {version}"


@pytest.mark.parametrize("golden", CASES, ids=lambda golden: golden.name)
def test_expectations_are_complete(golden: Golden) -> None:
    """Every version has an expectation, no file expects a version that never comes, and some version derives something.

    A misnamed file would otherwise be an expectation that nobody ever checks.
    """
    versions = {file.stem for file in (golden.folder / "expected").iterdir()}
    assert versions == {str(version) for version in range(len(golden.states))}
    derived = [fact for version in range(len(golden.states)) for fact in golden.expected(version)]
    assert any(relation in golden.derived for relation, _ in derived)


@pytest.mark.parametrize("golden", CASES, ids=lambda golden: golden.name)
def test_expectations_equal_recomputation(golden: Golden) -> None:
    """The shortest evaluator agrees with what was written down, so an engine is never blamed for a wrong file."""
    for version, state in enumerate(golden.states):
        assert set(model(state)) == golden.expected(version), f"version {version}"


@pytest.mark.parametrize("golden", CASES, ids=lambda golden: golden.name)
def test_analysis_accepts_golden_programs(golden: Golden) -> None:
    """Every version of a golden program has a meaning."""
    for state in golden.states:
        check(state.program)


def test_there_are_enough_cases() -> None:
    """At least 25 golden programs, as promised; folders of colleagues are not counted."""
    assert len(CASES) >= 25
