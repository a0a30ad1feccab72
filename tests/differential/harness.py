"""Do engines agree with recomputation, after every update, in facts and in changes?

What      : `agree(case, engines)` runs any number of engines over a case. The first difference is raised as a
            `Disagreement` that shows the seed, the update, the difference, and how to make the case small.
Idea      : one model per version, computed once (oracle.py); every engine is compared with it by typed identity, and
            its change with the difference of two models.
Invariant : an update that must be refused is refused by every engine, with the right error, and changes nothing.
Never     : an engine is not asked for its opinion of another; all are held to the same page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.differential.case import Case, FactKey, State, Update, key
from tests.differential.engines import Counting, Declined, Engine, Factory, Facts, LookAhead
from tests.differential.oracle import lacks, model
from tidelog import errors
from tidelog.errors import TidelogError

SHOWN = 12


class Disagreement(AssertionError):  # noqa: N818 - a finding, raised as pytest expects it
    """An engine broke the law; `engine` is its name, `step` the number of the update, 0 before the first."""

    def __init__(self, case: Case, engine: str, step: int, what: str) -> None:
        self.engine, self.step, self.what = engine, step, what
        shown = "the first materialisation" if step == 0 else f"update {step}: {case.updates[step - 1].to_json()}"
        shrink = f"python -m tests.differential.shrink {case.seed} --engine {engine}"
        advice = f"\nmake it small: {shrink}" if case.seed is not None else ""
        super().__init__(f"seed {case.seed}: {engine} disagrees with recomputation after {shown}\n{what}{advice}")


def agree(case: Case, engines: Mapping[str, Factory]) -> Counter[str]:
    """Run all engines over a case; how many versions each was compared on. Raises `Disagreement`.

    An engine that declines (`Declined`) is left out from there on.
    """
    compared: Counter[str] = Counter()
    state = State.of(case.program)
    found = model(state)
    before = after = set(found)
    lacking = lacks(state, found)
    running: dict[str, Engine] = {}
    for step in range(len(case.updates) + 1):
        if step:
            state = state.after(case.updates[step - 1])
            found = model(state)
            before, after = after, set(found)
            lacking = lacks(state, found)
        for name in list(engines if step == 0 else running):
            try:
                if step == 0:
                    running[name] = _guarded(case, name, 0, engines[name], case.program)
                    _compare(case, name, 0, "facts", keys(running[name].facts()), after)
                else:
                    _follow(case, name, running[name], step, before, after)
                if isinstance(running[name], Counting):
                    _compare_counts(case, name, step, running[name].lacking(), lacking)
                compared[name] += 1
            except Declined:
                running.pop(name, None)
    return compared


def keys(facts: Facts) -> set[FactKey]:
    """Facts by typed identity."""
    return {key(relation, tuple(values)) for relation, group in facts.items() for values in group}


def _follow(case: Case, name: str, engine: Engine, step: int, before: set[FactKey], after: set[FactKey]) -> None:
    """Apply one update to one engine and compare all that it says."""
    update = case.updates[step - 1]
    if isinstance(engine, LookAhead):
        engine.announce(case.updates[step] if step < len(case.updates) else None)
    if update.refused:
        _expect_refusal(case, name, engine, step, update)
    else:
        change = _guarded(case, name, step, engine.apply, **update.arguments)
        _compare(case, name, step, "inserted facts", keys(change.inserted), after - before)
        _compare(case, name, step, "deleted facts", keys(change.deleted), before - after)
    _compare(case, name, step, "facts", keys(engine.facts()), after)


def _compare_counts(case: Case, name: str, step: int, found: int, expected: int) -> None:
    if found != expected:
        raise Disagreement(case, name, step, f"{found} instances without a value, and not {expected}")


def _expect_refusal(case: Case, name: str, engine: Engine, step: int, update: Update) -> None:
    expected = getattr(errors, update.refused or "")
    try:
        engine.apply(**update.arguments)  # type: ignore[arg-type]
    except expected:
        return
    except TidelogError as error:
        raise Disagreement(case, name, step, f"refused with {error!r}, not with {update.refused}") from error
    raise Disagreement(case, name, step, f"accepted what must be refused with {update.refused}")


def _guarded(case: Case, name: str, step: int, call, *arguments, **named):  # type: ignore[no-untyped-def]
    """A crash is a disagreement too; it is shrunk and shown like one."""
    try:
        return call(*arguments, **named)
    except Declined:
        raise
    except Exception as error:
        raise Disagreement(case, name, step, f"raised {type(error).__name__}: {error}") from error


def _compare(case: Case, name: str, step: int, what: str, found: set[FactKey], expected: set[FactKey]) -> None:
    if found != expected:
        lines = [f"{what}: {len(found - expected)} too many, {len(expected - found)} missing"]
        lines += [f"  + {fact}" for fact in sorted(map(repr, found - expected))[:SHOWN]]
        lines += [f"  - {fact}" for fact in sorted(map(repr, expected - found))[:SHOWN]]
        raise Disagreement(case, name, step, "\n".join(lines))
