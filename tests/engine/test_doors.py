"""An argument of a wrong type is refused at the door, in words: E816 says what is wanted and what came."""

from collections.abc import Callable
from typing import Any

import pytest

import tidelog as tl

PROGRAM = "r: q(x) :- p(x)."


@pytest.fixture
def engine() -> tl.Engine:
    """An engine with a fact."""
    engine = tl.Engine(PROGRAM)
    engine.apply(insert={"p": [(1,)]})
    return engine


WRONG: dict[str, Callable[[Any], object]] = {
    "rules that are a number": lambda e: e.apply(add_rules=3),
    "rules that are zero": lambda e: e.apply(add_rules=0),
    "rules in bytes": lambda e: e.apply(add_rules=b"z(x) :- p(x)."),
    "removed rules that are a number": lambda e: e.apply(remove_rules=3),
    "a removed rule that is a number": lambda e: e.apply(remove_rules=[3]),
    "removed rules in bytes": lambda e: e.apply(remove_rules=b"r"),
    "facts that are a name": lambda e: e.apply(insert="p"),
    "facts without a relation": lambda e: e.apply(delete=[(1,)]),
    "a dialect": lambda e: e.apply(add_rules="", dialect=[]),
    "a strategy": lambda _: tl.Engine(strategy=[]),  # type: ignore[arg-type]
    "a strategy later": lambda e: setattr(e, "strategy", 3),
    "limits that are a number": lambda _: tl.Engine(limits=3),  # type: ignore[arg-type]
    "limits that are empty": lambda _: tl.Engine(limits={}),  # type: ignore[arg-type]
    "explain": lambda e: e.explain("q", 3),
    "explain_absence": lambda e: e.explain_absence("q", 3),
    "explain_change": lambda e: e.explain_change(3, "q", (1,)),
    "the fact of explain_change": lambda e: e.explain_change(e.apply(), "q", 3),
    "plan": lambda e: e.plan(3),
    "preview": lambda e: e.preview(3),
    "preview, removed": lambda e: e.preview(remove_rules=[3]),
    "parameters": lambda e: e.query("q($x)", 3),
    "a question": lambda e: e.query(3),
    "parse": lambda _: tl.parse(3),  # type: ignore[arg-type]
    "parse bytes": lambda _: tl.parse(b"p(1)."),  # type: ignore[arg-type]
    "net": lambda _: tl.net(None),  # type: ignore[arg-type]
    "net of a number": lambda _: tl.net([3]),  # type: ignore[list-item]
    "read_updates": lambda _: list(tl.read_updates(3)),  # type: ignore[arg-type]
    "apply_update": lambda e: e.apply_update(3),
    "apply_update of a mapping": lambda e: e.apply_update({"insert": {}}),
    "submit": lambda e: e.submit(3),
    "submitted facts": lambda e: e.submit(insert="p"),
    "submitted rules": lambda e: e.submit(add_rules=3),
    "submit_in_order": lambda e: e.submit_in_order([3])[-1].result(),
    "an update": lambda _: tl.Update.of(insert="p"),  # type: ignore[arg-type]
    "an update's rules": lambda _: tl.Update.of(add_rules=3),  # type: ignore[arg-type]
    "follow": lambda e: list(e.follow([{"insert": 3}])),
}


@pytest.mark.parametrize("ask", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_type_is_refused_in_words(ask: Callable[[Any], object], engine: tl.Engine) -> None:
    """Each was an AttributeError or a TypeError from deep inside, or was taken for nothing, as `limits={}` was."""
    with pytest.raises(tl.UsageError) as caught:
        ask(engine)
    assert caught.value.code == "E816"
    assert caught.value.problems[0].remedy
    assert (engine.version <= 2, list(engine["q"]), engine.rules) == (True, [(1,)], (PROGRAM,))
    engine.verify()


def test_a_watcher_is_a_function(engine: tl.Engine) -> None:
    """It was found out in the middle of the update; the update is refused before it begins."""
    engine.watcher = 3  # type: ignore[assignment]
    with pytest.raises(tl.UsageError, match="E816"):
        engine.apply(insert={"p": [(2,)]})
    engine.watcher = None
    engine.apply(insert={"p": [(2,)]})
    engine.verify()


def test_an_update_and_arguments_are_not_both_submitted(engine: tl.Engine) -> None:
    """`submit(update, insert=...)` dropped the facts that came by name."""
    update = tl.Update.of(insert={"p": [(2,)]})
    for more in ({"insert": {"p": [(3,)]}}, {"delete": {"p": [(1,)]}}, {"add_rules": "z(1)."}, {"remove_rules": "r"}):
        with pytest.raises(tl.UsageError, match="E816"):
            engine.submit(update, **more)  # type: ignore[arg-type]
    engine.submit(update, insert={}, urgent=True).result()
    assert sorted(engine["q"]) == [(1,), (2,)]


def test_a_fact_that_nobody_can_have_is_not_explained(engine: tl.Engine) -> None:
    """What is asked about is checked like what is inserted."""
    for fact, code in (((None,), "E302"), (([],), "E303"), ((float("nan"),), "E304")):
        with pytest.raises(tl.UpdateError) as caught:
            engine.explain("q", fact)
        assert caught.value.code == code
