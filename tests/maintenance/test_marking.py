"""Marks make the next update start ahead; they never change what it says."""

import pytest

from tests.differential.case import Update
from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import SetStore
from tests.maintenance.stores import STORES
from tidelog.errors import BudgetError
from tidelog.limits import Limits
from tidelog.planning.views import Mark, View

PATHS = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
CHAIN = [(step, step + 1) for step in range(8)]
FORESEEN = View(Mark.FORESEEN)


def deletion(*edges) -> Update:
    """An update that deletes edges."""
    return Update(delete=tuple(("edge", edge) for edge in edges))


def run(strategy: str, store, updates, announced=None) -> tuple[StoreEngine, list]:
    """The engine after the updates, and their changes; `announced` may differ from what really comes."""
    engine = StoreEngine(PATHS, strategy, store, upcoming=[Update(), *(announced or updates)])
    changes = [engine.apply(insert={"edge": CHAIN})]
    changes += [engine.apply(**update.arguments) for update in updates]
    return engine, [(sorted(c.inserted.get("path", [])), sorted(c.deleted.get("path", []))) for c in changes]


UPDATES = [deletion((2, 3)), deletion((5, 6)), deletion((0, 1), (6, 7))]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("strategy", ["bf-mark", "dred-mark"])
def test_marks_change_no_result(store: str, strategy: str):
    """With marks, without marks, and with marks for updates that never come."""
    plain = run(strategy.removesuffix("-mark"), STORES[store](), UPDATES)[1]
    assert run(strategy, STORES[store](), UPDATES)[1] == plain
    assert run(strategy, STORES[store](), UPDATES, announced=UPDATES[::-1])[1] == plain


@pytest.mark.parametrize(("strategy", "phase"), [("bf-mark", "delete"), ("dred-mark", "overdelete")])
def test_an_announced_update_finds_less_by_itself(strategy: str, phase: str):
    """The derivations that search for affected facts are spent between the answers; in DRed none is left."""

    def searched(engine: StoreEngine) -> int:
        return sum(number for (_, where), number in engine.counters.derivations.items() if where == phase)

    marked, plain = (run(name, SetStore(), UPDATES)[0] for name in (strategy, strategy.removesuffix("-mark")))
    assert searched(marked) < searched(plain)
    assert searched(marked) == 0 or strategy == "bf-mark"


def test_marks_are_gone_after_the_update_they_were_made_for():
    """Stale marks would put facts in doubt for ever, and hide deletions that were never followed."""
    engine, _ = run("dred-mark", SetStore(), UPDATES[:2], announced=[*UPDATES[:2]])
    assert engine.foreseen is None
    assert not engine.store.select(["edge", "path"], FORESEEN)


def test_marks_do_not_survive_a_change_of_rules():
    """A relation that had rules when marks were placed may have none when they are used; so they are not used."""
    engine = StoreEngine(
        "a: p(x) :- q(x). t(x) :- p(x). q(1). q(2).",
        "bf-mark",
        SetStore(),
        upcoming=[Update(), Update(delete=(("q", (1,)),))],
    )
    engine.apply(insert={"q": [(3,)]})
    assert len(engine.store.select(["q", "p"], FORESEEN)) == 2
    change = engine.apply(delete={"q": [(1,)]}, remove_rules=["a"])
    assert sorted(change.deleted["t"]) == [(1,), (2,), (3,)]
    assert not engine.store.select(["q", "p"], FORESEEN)


def test_a_refused_update_leaves_the_marks_of_the_next():
    """What failed changed nothing; the update that was announced still comes."""
    rules = "p(x) :- q(x). p(y) :- p(x), n(x, y). q(5). q(2)." + "".join(f"n({at}, {at + 1})." for at in range(10, 20))
    engine = StoreEngine(rules, "bf-mark", SetStore(), upcoming=[Update(delete=(("q", (5,)),))])
    engine.limits = Limits(rounds=4)
    with pytest.raises(BudgetError):
        engine.apply(insert={"q": [(10,)]})
    assert engine.apply(delete={"q": [(5,)]}).deleted == {"q": [(5,)], "p": [(5,)]}
