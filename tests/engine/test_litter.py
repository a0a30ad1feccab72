"""Constants of facts that are gone are given up: a stream of ever-new constants does not grow."""

from __future__ import annotations

import pytest

import tidelog as tl
from tidelog.backends.local.relations import litter
from tidelog.maintenance.registry import STRATEGIES

PROGRAM = """
near(x, z) :- event(x, y), event(y, z).  lone(x) :- event(x, y), !event(_, x).  near(x, z) :- near(x, y), near(y, z).
many(n) :- n = count : { event(x, y) }.
"""


def events(first: int, count: int) -> list[tuple[str, str]]:
    """A chain of events with names that nobody has used before."""
    return [(f"e{number}", f"e{number + 1}") for number in range(first, first + count)]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Litter is noticed soon."""
    monkeypatch.setattr(litter, "FEW", 50)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_stream_of_new_constants_stays_flat(strategy):
    """Every strategy goes on, right after each update; what was given out before can still be read."""
    engine = tl.Engine(PROGRAM, strategy=strategy)
    changes, held = [engine.apply(insert={"event": events(0, 10)})], engine["near"]
    for first in range(0, 400, 10):
        changes.append(engine.apply(insert={"event": events(first + 10, 10)}, delete={"event": events(first, 10)}))
        assert len(engine._backend.store.dictionary) < 400
        if first % 100 == 0:
            engine.verify()
    expected = {(f"e{x}", f"e{z}") for x in range(400, 410) for z in range(x + 2, 411, 2)}
    assert set(held) == set(engine["near"]) == expected
    assert [set(change.inserted["event"]) for change in changes] == [set(events(10 * at, 10)) for at in range(41)]
    assert engine.explain("near", ("e400", "e410")) is not None


def test_a_state_and_what_is_asked_meanwhile(tmp_path):
    """Saves note changes across a renewal, and questions with constants of rules are answered after it."""
    engine = tl.Engine('best(x) :- event(x, "goal").')
    engine.apply(insert={"event": [("a", "goal")]})
    engine.save(tmp_path / "state")
    first = engine._backend
    for start in range(0, 300, 10):
        engine.apply(insert={"event": events(start, 10)})
        engine.apply(delete={"event": events(start, 10)})
        if start % 100 == 0:
            engine.save(tmp_path / "state")
    assert engine._backend is not first
    engine.apply(insert={"event": [("b", "goal")]})
    engine.save(tmp_path / "state")
    assert set(engine["best"]) == set(tl.Engine.open(tmp_path / "state")["best"]) == {("a",), ("b",)}
    assert len(engine.query('best("b")')) == 1
    engine.verify()
