"""The number of threads changes nothing but the time: the same facts, in the same order, changes and counters.

Interrupts inside shared work: tests/faults/test_interrupts.py.
"""

from __future__ import annotations

import random
import threading

import numpy as np
import pyarrow as pa
import pytest

from tests.differential.pairs import draw_pairs
from tests.differential.updates import draw_case
from tests.sharing import sharing
from tidelog import Engine
from tidelog.backends.local import backend
from tidelog.errors import BudgetError, TidelogError, UsageError
from tidelog.limits import Limits

CLOSURE = "path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z).\n"
RULES = """
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    loop(x) :- path(x, y), path(y, x).
    apart(x, y) :- edge(x, z), edge(z, y), !path(y, x).
    three(x, y, z) :- edge(x, y), edge(y, z), x != z.
    some(x) :- three(x, _, _), edge(_, _).
    many(x, n) :- loop(x), n = count : { path(x, _) }.
"""


def told(case, threads: int, strategy: str) -> list[object]:
    """What an engine says about a case: changes, derivations and, in the end, every fact in its order."""
    engine, said = Engine(case.program, threads=threads, strategy=strategy), []
    for update in case.updates:
        try:
            change = engine.apply(**update.arguments)
        except TidelogError as error:
            said.append(type(error))
            continue
        said.append([{name: list(facts) for name, facts in some.items()} for some in (change.inserted, change.deleted)])
        said.append(change.stats.derivations)
    return [*said, {name: list(engine[name]) for name in engine.relations}]


@pytest.mark.parametrize("strategy", ["dred", "bf", "counting", "recompute"])
def test_random_programs_give_the_same_with_every_number_of_threads(strategy):
    """The random world of tests/differential, shared as if its few facts were millions."""
    for seed in range(6):
        case = draw_case(seed) if seed % 2 else draw_pairs(seed)
        with sharing(least=2, chunk=4):
            alone = repr(told(case, 1, strategy))
            for threads in (2, 5):
                assert repr(told(case, threads, strategy)) == alone, (seed, threads)


def test_large_work_gives_the_same_with_every_number_of_threads():
    """Tables of the size that they have in real life, with a deletion of many."""
    edges = np.unique(np.random.default_rng(3).integers(0, 13_000, (10_000, 2)), axis=0)
    said = []
    for threads in (1, 2, 5):
        with sharing(least=1 << 12, chunk=1 << 16):
            engine = Engine(RULES, threads=threads, strategy="dred")
            engine.apply(insert={"edge": edges})
            change = engine.apply(delete={"edge": edges[::3]})
            tables = [engine[name].to_arrow() for name in engine.relations]
        said.append((tables, change.stats.derivations, change.deleted.total))
    assert said[1] == said[0]
    assert said[2] == said[0]


def test_a_load_gives_the_same_constants_with_every_number_of_threads(monkeypatch):
    """Numbers, texts and floats, known and new ones, in parts: ids are given in the order of the facts."""
    monkeypatch.setattr(backend, "_PART", 16)
    said = []
    for threads in (1, 2, 5):
        with sharing():
            engine = Engine(threads=threads)
            for start in range(3):
                numbers = [(at * 7 + start) % 23 for at in range(60)]
                texts = [str((at * 5) % 17 + start) for at in range(60)]
                facts = pa.table({"a": numbers, "b": texts, "c": [at % 7 / 2 for at in range(60)]})
                engine.apply(insert={"r": facts})
            constants = engine._backend.store.dictionary.arrays()
            said.append((engine["r"].to_arrow(), {name: array.tolist() for name, array in constants.items()}))
    assert said[1] == said[0]
    assert said[2] == said[0]


@pytest.mark.parametrize(
    ("limits", "code"), [(Limits(facts=2_000), "E401"), (Limits(seconds=1e-9), "E403"), (Limits(bytes=250_000), "E404")]
)
def test_budgets_hold_inside(limits, code):
    """A limit stops shared work, and the last version is whole."""
    chain = [(at, at + 1) for at in range(150)]
    with sharing(least=2, chunk=64):
        engine = Engine(CLOSURE, threads=2)
        engine.apply(insert={"edge": chain[:5]})
        engine.limits = limits
        with pytest.raises(BudgetError, match=code):
            engine.apply(insert={"edge": chain})
        engine.limits = Limits()
        assert len(engine["path"]) == 15
        engine.verify()
        engine.apply(insert={"edge": chain})
        assert len(engine["path"]) == 150 * 151 // 2


def test_two_engines_share_work_at_the_same_time():
    """Each in a thread of its own, each with threads of its own."""
    found: dict[int, int] = {}

    def work(number: int) -> None:
        engine = Engine(CLOSURE, threads=3)
        engine.apply(insert={"edge": [(at, at + 1) for at in range(60 + number)]})
        engine.verify()
        found[number] = len(engine["path"])

    with sharing():
        several = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for one in several:
            one.start()
        for one in several:
            one.join()
    assert found == {0: 60 * 61 // 2, 1: 61 * 62 // 2}


def test_no_thread_is_left():
    """Not even the names of the workers are known outside."""
    before = threading.active_count()
    with sharing():
        engine = Engine(CLOSURE, threads=4)
        engine.apply(insert={"edge": [(random.randrange(40), random.randrange(40)) for _ in range(60)]})
        assert not engine._backend.store.workers._shifts
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", [0, -1, 2.5, "two"])
def test_what_is_no_number_of_threads_is_refused(threads):
    """With its own code, or as an argument of a wrong type."""
    with pytest.raises(UsageError, match=r"E842|E816"):
        Engine(CLOSURE, threads=threads)


def test_a_reader_beside_whom_the_engine_is_closed_hears_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """What he asked for was given back under him, and he heard of a file that nobody knows."""
    engine = Engine(CLOSURE)
    engine.apply(insert={"edge": [(1, 2)]})

    def closed_meanwhile(_: str) -> None:
        closer = threading.Thread(target=engine.close)
        closer.start()
        closer.join()
        raise FileNotFoundError("given back")

    monkeypatch.setattr(engine._backend, "table", closed_meanwhile)
    with pytest.raises(UsageError, match="E815"):
        list(engine["path"])
