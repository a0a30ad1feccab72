"""There is one of an engine: what came out of it can be copied and sent to other processes, it itself cannot."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import tidelog as tl
from tests.differential.harness import keys
from tidelog.rdf import Graph

COPIES = [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]


@pytest.mark.parametrize("way", COPIES)
def test_an_engine_is_not_copied(way: Callable[[Any], Any]) -> None:
    """A copy shared its facts and its lock: what one of the two inserted, the other showed under its own version."""
    engine = tl.Engine("q(x) :- p(x).")
    with pytest.raises(tl.UsageError, match="E822") as caught:
        way(engine)
    assert "Engine.open" in str(caught.value)
    engine.apply(insert={"p": [(1,)]})
    engine.verify()


@pytest.mark.parametrize("way", COPIES)
def test_a_change_and_an_update_are_copied(way: Callable[[Any], Any]) -> None:
    """They hold facts and nothing of the engine; a change raised TypeError because its constants have a lock."""
    engine = tl.Engine("q(x, 1.5) :- p(x).")
    update = tl.Update.of(insert={"p": [(1,), ("a",), (1.0,)]}, delete={"p": [(2,)]}, add_rules="r(x) :- q(x, _).")
    again = way(update)
    assert again == update
    change = engine.apply_update(again)
    copied = way(change)
    assert keys(copied.inserted) == keys(change.inserted)
    assert (len(copied.deleted), copied.version, copied.stats) == (0, 1, change.stats)
    assert copied.to_arrow().keys() == change.to_arrow().keys()
    assert (1.0,) in copied.inserted["p"]


def test_what_is_no_fact_is_in_no_relation() -> None:
    """`3 in engine["p"]` was False, `(None,) in engine["p"]` an error of insertion, `([],) in ...` a TypeError."""
    engine = tl.Engine("q(x) :- p(x).")
    change = engine.apply(insert={"p": [(1,), ("a",)]})
    found = engine.query("q(x)"), engine.query("q(x), x != 3")
    for table in (engine["p"], engine["q"], engine.explicit("p"), change.inserted["p"], change.deleted["p"], *found):
        for fact in (3, None, "a", (1, 2), (None,), (float("nan"),), (2**70,), ([],), ({},), (1j,), ("\ud800",)):
            assert fact not in table
        assert len(table) == 0 or (1,) in table


def test_a_closed_engine_says_so() -> None:
    """Its `repr` raised E815, which hid the message of a failing test; plans and previews answered with sizes of 0."""
    engine = tl.Engine("r: q(x) :- p(x).")
    engine.apply(insert={"p": [(1,)]})
    engine.close()
    assert repr(engine) == "<Engine version 1: the engine is closed>"
    assert "closed" in engine._repr_html_()
    for ask in (lambda: engine.plan("r"), lambda: engine.preview("z(x) :- p(x)."), lambda: engine["p"].to_arrow()):
        with pytest.raises(tl.UsageError, match="E815"):
            ask()
    empty = tl.Engine()
    empty.close()
    assert "closed" in repr(empty)


def test_a_graph_is_not_copied() -> None:
    """It is an engine with a layout."""
    with pytest.raises(tl.UsageError, match="E822"):
        copy.copy(Graph())
