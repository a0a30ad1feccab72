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
