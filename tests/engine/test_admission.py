"""Budgets hold for facts that come in, also where no rule reads them, before they take memory and time.

Taught by a string of 300 MB that passed a budget of 100 MB, and by a load that ran for 24 of its 0.5 seconds and was
then committed: budgets were only asked by rules.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import partial
from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import tidelog as tl
from tidelog import engine as engine_module
from tidelog.changes import fact_sources
from tidelog.limits import Budget

MEGABYTE = 1 << 20
LONG = "x" * (40 * MEGABYTE)
SOURCES = {
    "rows": lambda: [(LONG,)],
    "generator": lambda: (row for row in [(LONG,)]),
    "arrow": lambda: pa.table({"x": [LONG]}),
    "reader": lambda: pa.table({"x": [LONG]}).to_reader(),
    "pandas": lambda: pd.DataFrame({"x": pd.Series([LONG], dtype=object)}),
    "numpy": lambda: np.array([[LONG]], object),
}


@pytest.mark.parametrize("rules", ["", "q(x) :- p(x)."], ids=["no rules", "a rule"])
@pytest.mark.parametrize("source", SOURCES)
def test_a_long_string_is_refused_before_it_takes_memory(source: str, rules: str) -> None:
    """Whatever holds it; the engine is as before, and takes other facts."""
    engine, given = tl.Engine(rules, limits=tl.Limits(bytes=20 * MEGABYTE)), SOURCES[source]()
    engine.apply(insert={"p": [("warm",)]})
    tracemalloc.start()
    with pytest.raises(tl.BudgetError, match="E404"):
        engine.apply(insert={"p": given})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * MEGABYTE
    assert engine.version == 1
    engine.apply(insert={"p": [("short",)]})
    assert len(engine["p"]) == 2


def endless() -> Iterator[tuple[int, int]]:
    """Facts for ever."""
    return ((number, number + 1) for number in count())


@pytest.mark.parametrize("rules", ["", "q(x) :- p(x, _)."], ids=["no rules", "a rule"])
def test_a_source_without_end_is_ended(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds and bytes are asked while facts come, not when they are all there."""
    now = count()
    monkeypatch.setattr(engine_module, "Budget", partial(Budget, clock=lambda: float(next(now))))
    engine = tl.Engine(rules)
    for limits, code in ((tl.Limits(seconds=10), "E403"), (tl.Limits(bytes=4 * MEGABYTE), "E404")):
        engine.limits = limits
        with pytest.raises(tl.BudgetError, match=code):
            engine.apply(insert={"p": endless()})
        assert (engine.version, engine._backend.nbytes() < MEGABYTE) == (0, True)


def test_what_takes_too_long_is_not_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the time went: the last question comes right before the commit."""
    now = [0.0]
    monkeypatch.setattr(engine_module, "Budget", partial(Budget, clock=lambda: now[0]))
    engine = tl.Engine(limits=tl.Limits(seconds=10))
    frozen = engine._backend.freeze

    def late(*arguments: object) -> object:
        now[0] += 100
        return frozen(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(engine._backend, "freeze", late)
    with pytest.raises(tl.BudgetError, match="E403"):
        engine.apply(insert={"p": [(1,)]})
    assert (engine.version, engine.relations) == (0, ())


def test_facts_are_counted_where_no_rule_reads_them() -> None:
    """What is there already and what comes twice counts once."""
    engine = tl.Engine(limits=tl.Limits(facts=100))
    engine.apply(insert={"p": [(number,) for number in range(100)]})
    engine.apply(insert={"p": [(number % 100,) for number in range(1000)]})
    for source in ([(100,)], pa.table({"x": [5, 100]})):
        with pytest.raises(tl.BudgetError, match="E401"):
            engine.apply(insert={"p": source})
    engine.apply(delete={"p": [(0,)]}, insert={"p": [(1,)]})
    assert len(engine["p"]) == 99


def test_many_rows_in_parts_are_what_they_are_at_once() -> None:
    """Rows of more than one part: mixed types stay apart, duplicates collapse, an error names its row."""
    rows = [(number if number < 150_000 else float(number % 7), "x") for number in range(200_000)]
    engine = tl.Engine("q(x) :- p(x, _).")
    engine.apply(insert={"p": (row for row in rows)})
    assert len(engine["q"]) == 150_007
    assert sum(type(x) is float for (x,) in engine["q"]) == 7
    engine.apply(delete={"p": rows})
    assert len(engine["q"]) == 0
    for bad, words in (((1,), "in row 140001"), ((None, "x"), "row 140001")):
        with pytest.raises(tl.UpdateError, match=words):
            engine.apply(insert={"p": [*rows[:140_000], bad]})


def seen(rows: int, text: str) -> pa.Array:
    """Views of one text."""
    views = np.zeros((rows, 4), np.int32)
    views[:, 0] = len(text)
    views[:, 1] = np.frombuffer(text[:4].encode(), np.int32)
    buffers = [None, pa.py_buffer(views), pa.py_buffer(text.encode())]
    return pa.Array.from_buffers(pa.string_view(), rows, buffers)


SHORT_BUT_LARGE = {
    "runs of a number": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([6_000_000], pa.int32()), pa.array([7])),
    "runs of a text": lambda: pa.RunEndEncodedArray.from_arrays(
        pa.array([9, 99], pa.int32()), pa.array(["", LONG[:MEGABYTE]])
    ),
    "a dictionary with a null": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0] * 99), pa.array([LONG[:MEGABYTE], None])
    ),
    "views of a text": lambda: seen(99, LONG[:MEGABYTE]),
    "bools": lambda: pa.array(np.ones(6_000_000, np.bool_)),
}


@pytest.mark.parametrize("made", SHORT_BUT_LARGE.values(), ids=SHORT_BUT_LARGE.keys())
def test_arrow_is_weighed_as_what_it_means(made) -> None:
    """60 million rows in 12 bytes passed a budget of 10 MB, took 815, and were committed."""
    engine = tl.Engine(limits=tl.Limits(bytes=20 * MEGABYTE))
    for table in (pa.table({"x": made()}), pa.table({"x": made()}).to_reader()):
        with pytest.raises(tl.BudgetError, match="E404"):
            engine.apply(insert={"p": table})
    engine.apply(insert={"p": pa.table({"x": made()[:5]})})
    assert len(engine["p"]) == 1


def test_runs_and_views_within_the_budget_are_taken() -> None:
    """They are not refused for what they could be: slices and short texts count as they are."""
    engine = tl.Engine(limits=tl.Limits(bytes=20 * MEGABYTE))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1000, 2_000_000_000], pa.int32()), pa.array(["a", "b"]))
    engine.apply(insert={"p": pa.table({"x": runs[990:1010]})})
    engine.apply(insert={"p": pa.table({"x": pa.array(["c", "d"] * 100, pa.string_view())})})
    assert sorted(engine["p"]) == [("a",), ("b",), ("c",), ("d",)]


def test_a_slow_source_is_ended_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time was asked once in 65,536 rows: a source of 10 ms a row ran for 11 minutes."""
    now, given = [0.0], [0]

    def slowly() -> Iterator[tuple[int]]:
        for number in count():
            now[0] += 0.01
            given[0] += 1
            yield (number,)

    monkeypatch.setattr(engine_module, "Budget", partial(Budget, clock=lambda: now[0]))
    monkeypatch.setattr(fact_sources, "monotonic", lambda: now[0])
    engine = tl.Engine(limits=tl.Limits(seconds=0.5))
    with pytest.raises(tl.BudgetError, match="E403"):
        engine.apply(insert={"p": slowly()})
    assert given[0] < 80
    assert engine.version == 0
