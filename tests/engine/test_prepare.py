"""`engine.prepare`: no small update waits for an index."""

import pytest

import tidelog as tl
from tidelog.backends.local.relations.index import Index

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z), !closed(x, y).
near(x) :- path(x, y), here(y), !closed(x, _).
"""


@pytest.mark.parametrize("strategy", ["dred", "bf"])
def test_the_first_deletion_builds_nothing(strategy, monkeypatch):
    """Nor does the first insertion; and preparing twice is preparing once."""
    engine = tl.Engine(RULES, strategy=strategy)
    engine.apply(
        insert={
            "edge": [(number, number + 1) for number in range(100)],
            "closed": [(3, 4)],
            "here": [(5,), (50,)],
        }
    )
    engine.prepare()
    built = []
    plain = Index.__init__

    def noted(self, *arguments):
        built.append(arguments[0])
        plain(self, *arguments)

    monkeypatch.setattr(Index, "__init__", noted)
    engine.prepare()
    engine.apply(delete={"edge": [(20, 21)]})
    engine.apply(insert={"edge": [(20, 22)]}, delete={"closed": [(3, 4)], "here": [(5,)]})
    assert built == []
    assert engine.version == 3
    engine.verify()


def test_facts_from_bits_are_entered_into_their_table():
    """A stage that was derived at once is ready for look-ups afterwards."""
    engine = tl.Engine("p(x, y) :- e(x, y).\np(x, z) :- p(x, y), p(y, z).\n")
    engine.apply(insert={"e": [(number, (number * 7 + 1) % 60) for number in range(60)] * 1})
    engine.apply(insert={"e": [(number, (number * 11 + 1) % 60) for number in range(60)]})
    engine.prepare()
    stored = engine._backend.store.relations["p"]
    assert not stored._is_behind
    assert stored.has_index((0,))
    assert stored.has_index((1,))
    engine.verify()


def test_an_empty_engine_can_be_prepared():
    """There is nothing to build."""
    engine = tl.Engine()
    engine.prepare()
    assert engine.version == 0
