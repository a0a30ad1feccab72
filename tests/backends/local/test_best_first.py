"""Best values found at once are those that rounds come to.

The rounds are the twin: a store that declines `best_first` goes on round by round.
"""

import random

import pytest

import tidelog as tl
from tidelog.backends.local.joins.best_first import BestFirst
from tidelog.backends.local.store import LocalStore
from tidelog.maintenance import optima

ONE = "best(y, m) :- place(y), m = {f} c : {{ way(y, c) }}. way(y, c {op} w) :- best(x, c), road(x, y, w). "
START = "way(x, c) :- start(x, c)."
PAIRS = """
far(s, y, m) :- start(s, _), place(y), m = min c : { way(s, y, c) }.
way(s, y, c + w) :- far(s, x, c), road(x, y, w).
way(s, s, 0) :- start(s, _).
"""
LEAST = "least(m) :- m = min c : { way(_, c) }. way(y, c + w) :- least(c), road(0, y, w). way(x, c) :- start(x, c)."
PROGRAMS = {
    "min": ONE.format(f="min", op="+") + START,
    "max": ONE.format(f="max", op="-") + START,
    "pairs": PAIRS,
    "one group": LEAST,
}


def run(program, seed, kind):
    """All changes and the end of some updates."""
    rng = random.Random(seed)
    engine = tl.Engine(program)
    weights = [kind(weight) for weight in (0, 1, 1, 3, 7, 11)]
    roads = {(rng.randrange(30), rng.randrange(30), rng.choice(weights)) for _ in range(90)}
    given = {"place": [(node,) for node in range(30)], "start": [(0, kind(0)), (9, kind(5))], "road": sorted(roads)}
    seen = [engine.apply(insert=given)]
    for _ in range(8):
        gone = rng.sample(sorted(roads), 9)
        come = {(rng.randrange(30), rng.randrange(30), rng.choice(weights)) for _ in range(9)}
        roads = (roads - set(gone)) | come
        seen.append(engine.apply(insert={"road": sorted(come)}, delete={"road": gone}))
    engine.verify()
    sides = (side for change in seen for side in (change.inserted, change.deleted))
    return [{name: sorted(facts) for name, facts in side.items()} for side in sides]


@pytest.fixture
def calls(monkeypatch):
    """What was found at once; whatever rounds have cost, it is asked for."""
    found = []

    def noted(name):
        once = getattr(BestFirst, name)

        def call(self, *given):
            found.append(once(self, *given))
            return found[-1]

        monkeypatch.setattr(BestFirst, name, call)

    noted("improved")
    monkeypatch.setattr(optima, "_BELOW", 0.001)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", [int, float])
def test_what_rounds_come_to(name, kind, calls, monkeypatch):
    """Insertions and deletions, whole numbers and floats, groups of no, one and two columns; everywhere or nearby."""
    nearby = [run(PROGRAMS[name], seed, kind) for seed in range(3)]
    assert any(one is not None for one in calls)
    monkeypatch.setattr(optima, "_BELOW", float("inf"))
    everywhere = [run(PROGRAMS[name], seed, kind) for seed in range(3)]
    monkeypatch.setattr(LocalStore, "best_values", None)
    assert [run(PROGRAMS[name], seed, kind) for seed in range(3)] == nearby == everywhere


def test_a_negative_weight_is_no_trap(calls):
    """A node that was left gets a better value, and is visited again."""
    engine = tl.Engine(PROGRAMS["min"])
    roads = [(0, 1, 1), (0, 2, 5), (2, 1, -6), (1, 3, 1)]
    engine.apply(insert={"place": [(n,) for n in range(4)], "start": [(0, 0)], "road": roads})
    assert sorted(engine["best"]) == [(0, 0), (1, -1), (2, 5), (3, 0)]
    assert calls[0] is not None
    engine.verify()


@pytest.mark.parametrize(
    ("roads", "error"),
    [
        ([(0, 1, 1), (1, 2, -2), (2, 1, 1)], "E409"),
        ([(0, 1, 1.5), (1, 2, 2)], None),
        ([(0, 1, 2**62 + 1), (1, 2, 2)], None),
        ([(0, 1, 2**61), (1, 2, 2**61), (2, 3, 2**61)], None),
    ],
)
def test_what_is_left_to_rounds(roads, error, calls):
    """A cycle that improves for ever, numbers of two kinds, numbers that are too large for a quick sum."""
    engine = tl.Engine(PROGRAMS["min"])
    given = {"place": [(n,) for n in range(4)], "start": [(0, 0)], "road": roads}
    if error is not None:
        with pytest.raises(tl.BudgetError, match=error):
            engine.apply(insert=given)
        assert not len(engine["best"])
    else:
        engine.apply(insert=given)
        assert len(engine["best"]) == len(roads) + 1
        engine.verify()
    assert calls[0] is None


def test_a_product_is_left_to_rounds(calls):
    """Steps from every place to every other would take the memory of their product."""
    engine = tl.Engine(
        "best(y, m) :- place(y), m = min c : { way(y, c) }. way(y, c + 1) :- best(_x, c), place(y)." + START
    )
    engine.apply(insert={"place": [(n,) for n in range(600)], "start": [(0, 0)]})
    assert len(engine["best"]) == 600
    assert calls == [None]
    engine.verify()


def test_what_is_explicit_in_between_holds_values_up(calls):
    """A best value that stands on an explicit step, or on one from an explicit fact, does not go with the others."""
    engine = tl.Engine(PROGRAMS["min"])
    roads = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 5, 1)]
    engine.apply(insert={"place": [(n,) for n in range(6)], "start": [(0, 0)], "road": roads})
    engine.apply(insert={"way": [(3, 3)], "best": [(4, 4)]})
    engine.apply(delete={"road": [(0, 1, 1)]})
    assert sorted(engine["best"]) == [(0, 0), (3, 3), (4, 4), (5, 5)]
    engine.apply(delete={"way": [(3, 3)]})
    assert sorted(engine["best"]) == [(0, 0), (4, 4), (5, 5)]
    engine.verify()
    assert any(calls)
