"""`verify` is a real check: a planted fault is found, whatever it is, and reading finds nothing in a sound engine."""

from __future__ import annotations

import threading

import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES
from tidelog.backends.local.store import LocalStore
from tidelog.planning.views import OLD, Mark

RULES = """
    path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).
    size(n) :- n = count : { path(_, _) }.
    edge(1, 2). edge(2, 3).
"""


def store_of(engine: tl.Engine) -> LocalStore:
    """The store inside: faults are planted below the public interface, where they would happen."""
    store = engine._backend.store
    assert isinstance(store, LocalStore)
    return store


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_lost_fact_is_found(strategy: str) -> None:
    """A derived fact whose marks are gone is missing."""
    engine = tl.Engine(RULES, strategy=strategy)
    engine.verify()
    relation = store_of(engine).relations["path"]
    row = relation.select(OLD)[-1]
    relation.marks[row] = 0
    with pytest.raises(tl.LawError, match=r"E901  the materialisation lacks: path\(") as raised:
        engine.verify()
    assert raised.value.code == "E901"


@pytest.mark.parametrize("relation", ["path", "size"])
def test_a_ghost_is_found(relation: str) -> None:
    """A fact that nothing supports is too much, in an ordinary relation and in an aggregate."""
    engine = tl.Engine(RULES)
    store = store_of(engine)
    ghost = store.intern(relation, store.relations["path"].rows[:1, : store.relations[relation].arity].copy() * 0)
    store.mark(ghost, add=Mark.NOW)
    store.commit()
    with pytest.raises(tl.LawError, match=rf"has too much: {relation}\("):
        engine.verify()


def test_a_fault_in_a_relation_of_ours_is_told_in_the_users_words() -> None:
    """An aggregate keeps its substitutions in a hidden relation; a fault there names the relation that it serves."""
    engine = tl.Engine(RULES.replace("path(_, _)", "path(x, _), x > 0"))
    store = store_of(engine)
    [hidden] = [name for name in store.relations if name.startswith("@of")]
    relation = store.relations[hidden]
    relation.marks[relation.select(OLD)[:2]] = 0
    with pytest.raises(tl.LawError, match="lacks: 2 facts of an aggregate in size") as raised:
        engine.verify()
    assert "@" not in str(raised.value)


def test_verifying_changes_nothing() -> None:
    """It may be asked at any time, between updates and after failures."""
    engine = tl.Engine(RULES, limits=tl.Limits(facts=1000))
    for _ in range(3):
        engine.verify()
        with pytest.raises(tl.BudgetError):
            engine.apply(insert={"edge": [(x, x + 1) for x in range(500)]})
        engine.verify()
        engine.apply(insert={"edge": [(3, 4)]})
        engine.apply(delete={"edge": [(3, 4)]})
    assert sorted(engine["path"]) == [(1, 2), (1, 3), (2, 3)]


def test_rules_that_change_while_somebody_waits_to_verify_are_those_that_are_verified() -> None:
    """`verify` waits for its turn, and then looks at the rules of that version.

    Taught by threads: the rules were read before waiting, and the facts of an added rule counted as too many.
    """
    engine = tl.Engine(RULES)
    found: list[BaseException | None] = []

    def verify() -> None:
        try:
            engine.verify()
        except tl.LawError as error:
            found.append(error)
        else:
            found.append(None)

    waiting = threading.Thread(target=verify)

    def begin(_: object) -> None:
        if waiting.ident is None:
            waiting.start()
            waiting.join(0.3)

    engine.watcher = begin
    engine.apply(add_rules="extra(x) :- edge(x, _).")
    waiting.join()
    assert found == [None]
