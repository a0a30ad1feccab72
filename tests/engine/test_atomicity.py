"""An update that fails changes nothing: not the facts, not the rules, not what the next update does.

The strong form: whatever goes wrong, and wherever, the engine answers the next updates exactly as a twin that never
saw the failing one. Weaker tests look at the facts only, and miss rows, relations, counts and marks left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES
from tests.differential.harness import keys

RULES = """
    path(x, y) :- edge(x, y).
    path(x, z) :- edge(x, y), path(y, z).
    ratio(x, r) :- weight(x, w), r = 100 / w.
    heavy(n) :- n = sum w : { weight(_, w) }.
    alone(x) :- node(x), !path(x, _).
    edge(1, 2). edge(2, 3). edge(3, 1). node(1). node(4). weight(1, 5).
"""
FAILING: dict[str, tuple[type[tl.TidelogError], dict[str, Any]]] = {
    "division by zero": (tl.EvaluationError, {"insert": {"edge": [(3, 4)], "weight": [(2, 0)]}}),
    "sum overflows": (tl.EvaluationError, {"insert": {"edge": [(3, 4)], "weight": [(2, 2**63 - 1)]}}),
    "wrong number of columns": (tl.UpdateError, {"insert": {"node": [(9,)], "edge": [(1,)]}}),
    "columns differ inside one update": (tl.UpdateError, {"insert": {"new": [(1,)]}, "add_rules": "new(1, 2)."}),
    "wrong columns to delete": (tl.UpdateError, {"delete": {"node": [(1,)], "edge": [(1,)]}}),
    "no constant": (tl.UpdateError, {"insert": {"node": [(9,)], "edge": [(1, None)]}}),
    "unsafe rule": (tl.ProgramError, {"delete": {"edge": [(1, 2)]}, "add_rules": "bad(x, y) :- node(x)."}),
    "negative cycle": (tl.ProgramError, {"insert": {"node": [(7,)]}, "add_rules": "edge(x, x) :- alone(x)."}),
    "text without end": (tl.ProgramError, {"insert": {"node": [(7,)]}, "add_rules": "bad(x) :- node(x"}),
    "other columns than the facts": (tl.ProgramError, {"delete": {"node": [(1,)]}, "add_rules": "p(x) :- edge(x)."}),
    "unknown rule": (tl.UsageError, {"delete": {"edge": [(1, 2)]}, "remove_rules": ["nobody"]}),
    "name of ours": (tl.UsageError, {"insert": {"edge": [(5, 6)], "@count": [(1,)]}}),
    "name that is none": (tl.UsageError, {"insert": {"edge": [(5, 6)], 7: [(1,)]}}),
    "a rule that fails": (
        tl.EvaluationError,
        {"delete": {"edge": [(1, 2)]}, "add_rules": "bad(x) :- node(y), x = 1 / (y - 4)."},
    ),
}
AFTERWARDS: tuple[dict[str, Any], ...] = (
    {"delete": {"edge": [(2, 3)]}},
    {"insert": {"edge": [(2, 4), (4, 3)], "weight": [(2, 4)]}},
    {"delete": {"edge": [(1, 2)], "weight": [(1, 5)]}, "insert": {"edge": [(2, 3)]}},
    {"insert": {"new": [(1, 2, 3)]}, "add_rules": "back: path(y, x) :- path(x, y)."},
    {"remove_rules": ["back"]},
)


def strict(rules: str, strategy: str = "auto") -> tl.Engine:
    """An engine that refuses updates after which a value is missing."""
    return tl.Engine(rules, strategy=strategy, arithmetic="refuse")


def everything(engine: tl.Engine) -> set[Any]:
    """All facts, explicit ones apart."""
    return keys({name: list(engine[name]) for name in engine.relations}) | {
        ("explicit", fact) for fact in keys({name: list(engine.explicit(name)) for name in engine.relations})
    }


def lives_on(engine: tl.Engine, twin: tl.Engine) -> None:
    """Both do the same from here on."""
    assert (engine.relations, engine.rules, engine.version) == (twin.relations, twin.rules, twin.version)
    assert everything(engine) == everything(twin)
    for update in AFTERWARDS:
        one, other = engine.apply(**update), twin.apply(**update)
        assert (keys(one.inserted), keys(one.deleted)) == (keys(other.inserted), keys(other.deleted))
        assert everything(engine) == everything(twin)
        engine.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_refused_update_leaves_nothing_behind(strategy: str) -> None:
    """Each kind of refusal, twice, in the middle of a life."""
    for reason, (error, update) in FAILING.items():
        engine, twin = strict(RULES, strategy), strict(RULES, strategy)
        for _ in range(2):
            with pytest.raises(error):
                engine.apply(**update)
            assert everything(engine) == everything(twin), reason
        lives_on(engine, twin)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_budget_leaves_nothing_behind(strategy: str) -> None:
    """After a budget is used up the same engine, with the same budget, answers small updates as if nothing had been.

    Taught by our own engine: rows of the failed attempt stayed and were counted, so that every later update failed.
    """
    limits = tl.Limits(facts=20_000)
    engine, twin = (tl.Engine(RULES, strategy=strategy, limits=given) for given in (limits, None))
    for _ in range(2):
        with pytest.raises(tl.BudgetError, match="E401"):
            engine.apply(insert={"edge": [(x, x + 1) for x in range(1000, 1400)]})
    lives_on(engine, twin)


class Interrupting:
    """A store's progress call that interrupts the nth time, as Ctrl-C does."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, facts: int) -> None:
        del facts
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_interrupt_at_any_point_leaves_nothing_behind(strategy: str) -> None:
    """Ctrl-C in the middle of the joins of an update that changes facts and rules, wherever one can land."""
    update: dict[str, Any] = {
        "delete": {"edge": [(1, 2)]},
        "insert": {"edge": [(3, 4), (4, 5)], "node": [(5,)]},
        "add_rules": "far(x, z) :- path(x, y), path(y, z), x != z.",
    }
    point, interrupted = 0, True
    while interrupted:
        engine, twin = strict(RULES, strategy), strict(RULES, strategy)
        engine.watcher = Interrupting(point)
        try:
            engine.apply(**update)
            interrupted = False
        except KeyboardInterrupt:
            engine.watcher = None
            lives_on(engine, twin)
            point += 3
    assert point > 3


@pytest.mark.parametrize("strategy", ["bf-mark", "dred-mark"])
def test_marks_go_with_a_failed_update(strategy: str) -> None:
    """What look-ahead marked for an update that fails must not mark the one after it."""
    engine, twin = strict(RULES, strategy), strict(RULES, strategy)
    failing = tl.Update.of(delete={"edge": [(1, 2)]}, insert={"weight": [(2, 0)]})
    engine.look_ahead(failing)
    with pytest.raises(tl.EvaluationError):
        engine.apply_update(failing)
    lives_on(engine, twin)


def test_readers_see_whole_versions_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """While an update is at work, a reader sees the version before it."""
    engine = tl.Engine(RULES)
    path = engine["path"]
    before, seen = set(path), []
    engine.watcher = lambda _: seen.append((set(path), len(path)))
    engine.apply(insert={"edge": [(3, 4)]}, delete={"edge": [(1, 2)]})
    assert seen
    assert all(found == (before, len(before)) for found in seen)
    assert set(path) != before


def test_a_failing_first_program_makes_no_engine() -> None:
    """The constructor is a transaction too."""
    makers: tuple[Callable[[], tl.Engine], ...] = (
        lambda: tl.Engine("p(x) :- q(y)."),
        lambda: tl.Engine("p(x) :- q(y), x = 1 / y. q(0).", arithmetic="refuse"),
        lambda: tl.Engine("n(y) :- n(x), y = x + 1. n(0).", limits=tl.Limits(rounds=50)),
    )
    for make, error in zip(makers, (tl.ProgramError, tl.EvaluationError, tl.BudgetError)):
        with pytest.raises(error):
            make()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_constants_of_a_failed_update_are_forgotten(strategy: str) -> None:
    """Twenty thousand new strings that did not get in leave no memory behind, and their ids can be given again."""
    engine, twin = (strict(RULES + 'word(x) :- text(x). text("kept").', strategy) for _ in range(2))
    size = engine._backend.nbytes()
    for attempt in range(3):
        with pytest.raises(tl.EvaluationError):
            engine.apply(
                insert={"text": [(f"gone {attempt} {number}",) for number in range(20_000)], "weight": [(9, 0)]}
            )
        assert engine._backend.nbytes() < 4 * size
        update: dict[str, Any] = {"insert": {"text": [(f"new {number}",) for number in range(attempt, 2_000)]}}
        assert keys(engine.apply(**update).inserted) == keys(twin.apply(**update).inserted)
        assert engine.apply(insert={"weight": [(3.5, 7)]}, add_rules=f'w{attempt}("new", "gone 0 5") :- node(1).')
        twin.apply(insert={"weight": [(3.5, 7)]}, add_rules=f'w{attempt}("new", "gone 0 5") :- node(1).')
        size = max(size, engine._backend.nbytes())
    lives_on(engine, twin)


def test_an_engine_whose_closing_was_interrupted_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It had given back its facts, and went on as if there were none."""
    engine = tl.Engine(RULES)
    give_back = engine._backend.close

    def interrupted() -> None:
        give_back()
        raise KeyboardInterrupt

    monkeypatch.setattr(engine._backend, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        engine.close()
    monkeypatch.undo()
    for ask in (lambda: list(engine["path"]), lambda: engine.apply(insert={"node": [(9,)]})):
        with pytest.raises(tl.UsageError, match="E815"):
            ask()
    engine.close()
    engine.close()
