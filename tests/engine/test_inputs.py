"""Facts from anywhere, values as they are: `1`, `1.0`, `True` and `"1"` are four constants on every path."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES
from tests.differential.harness import keys

FOUR = (1, 1.0, True, "1")
EDGES = [("a", "b"), ("b", "c")]


def from_duckdb(facts: list[tuple[str, str]]) -> Any:
    """A DuckDB relation."""
    connection = duckdb.connect()
    connection.execute("create table edge (x text, y text)")
    connection.executemany("insert into edge values (?, ?)", facts)
    return connection.table("edge")


SOURCES: dict[str, Callable[[list[tuple[str, str]]], Any]] = {
    "list of tuples": list,
    "list of lists": lambda facts: [list(fact) for fact in facts],
    "set": set,
    "generator": lambda facts: (fact for fact in facts),
    "pyarrow": lambda facts: pa.table({"x": [x for x, _ in facts], "y": [y for _, y in facts]}),
    "pyarrow batches": lambda facts: pa.RecordBatchReader.from_batches(
        pa.schema([("x", pa.string()), ("y", pa.string())]),
        [pa.record_batch({"x": [x], "y": [y]}) for x, y in facts],
    ),
    "pyarrow dictionary": lambda facts: pa.table(
        {"x": pa.array([x for x, _ in facts]).dictionary_encode(), "y": [y for _, y in facts]}
    ),
    "pandas": lambda facts: pd.DataFrame(facts, columns=["x", "y"]),
    "duckdb": from_duckdb,
}


@pytest.mark.parametrize("source", SOURCES)
def test_facts_come_from_anywhere(source: str) -> None:
    """To insert and to delete; the names of a table's columns do not matter."""
    engine = tl.Engine("path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).")
    change = engine.apply(insert={"edge": SOURCES[source](EDGES)})
    assert set(change.inserted["path"]) == {("a", "b"), ("b", "c"), ("a", "c")}
    change = engine.apply(delete={"edge": SOURCES[source](EDGES)})
    assert (len(engine["path"]), len(change.deleted["path"])) == (0, 3)


def test_a_relation_of_an_engine_feeds_another() -> None:
    """What goes out as a table, a relation or a change comes in as it is."""
    first = tl.Engine("p(x, y) :- q(x), q(y).")
    change = first.apply(insert={"q": [(value,) for value in FOUR]})
    for source in (first["p"], first["p"].to_arrow(), change.inserted["p"], change.inserted["p"].to_arrow()):
        second = tl.Engine()
        second.apply(insert={"p": source})
        assert keys({"p": second["p"]}) == keys({"p": first["p"]})
        assert len(second["p"]) == 16


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_typed_constants_never_meet(strategy: str) -> None:
    """Four constants that Python calls equal stay apart in joins, queries, updates, `in` and conversions."""
    engine = tl.Engine("same(x) :- p(x), q(x). pair(x, y) :- p(x), q(y), x = y.", strategy=strategy)
    engine.apply(insert={"p": [(value,) for value in FOUR]})
    for value in FOUR:
        change = engine.apply(insert={"q": [(value,)]})
        assert keys(change.inserted) == keys({"q": [(value,)], "same": [(value,)], "pair": [(value, value)]})
        assert (value,) in engine["same"]
        assert sum((other,) in engine["same"] for other in FOUR) == 1
        assert keys({"q": engine.query(f"q({json.dumps(value)})")}) == keys({"q": [(value,)]})
        assert [type(found) for (found,) in engine["same"]] == [type(value)]
        for other in FOUR:
            if type(other) is not type(value):
                assert engine.apply(delete={"q": [(other,)]}).is_empty
        assert keys(engine.apply(delete={"q": [(value,)]}).deleted) == keys(change.inserted)
    engine.verify()


def test_typed_constants_through_text_files_and_state(tmp_path: Path) -> None:
    """Rules, facts in text, update lines, saved state: every path keeps the type."""
    written = 'p(1). p(1.0). p(true). p("1").'
    engine = tl.Engine(written)
    expected = keys({"p": [(value,) for value in FOUR]})
    assert keys({"p": engine["p"]}) == expected
    line = tmp_path / "updates.jsonl"
    line.write_text(json.dumps({"insert": [["p", value] for value in FOUR]}) + "\n", encoding="utf-8")
    other = tl.Engine()
    for update in tl.read_updates(line):
        other.apply_update(update)
    assert keys({"p": other["p"]}) == expected
    engine.save(tmp_path / "state")
    opened = tl.Engine.open(tmp_path / "state")
    assert keys({"p": opened["p"]}) == expected
    assert keys({"p": opened.explicit("p")}) == expected


def test_declared_types_are_held_to() -> None:
    """A value of another type than declared is refused, with the column and the row; nothing of the update goes in."""
    engine = tl.Engine(".decl p(x: number, y: symbol)")
    for fact in ((1.0, "a"), (True, "a"), ("1", "a"), (1, 1)):
        with pytest.raises(tl.UpdateError, match="E306"):
            engine.apply(insert={"p": [(1, "a"), fact], "q": [(1,)]})
    assert (len(engine["p"]), "q" in engine) == (0, False)
    engine.apply(insert={"p": [(1, "a")]})


@pytest.mark.parametrize("many", [1, 40], ids=["few", "many"])
def test_a_whole_number_is_taken_where_a_float_is_declared(many: int) -> None:
    """JSON writes 9 for 9.0. It arrives as 9.0, from every source, and is deleted as 9; text takes it too."""
    rows = [(9 + number,) for number in range(many)]
    sources = (rows, pa.table({"x": [x for (x,) in rows]}), pd.DataFrame(rows), pd.DataFrame(rows).astype("category"))
    for source in sources:
        engine = tl.Engine(".decl p(x: float)\nq(x) :- p(x).")
        engine.apply(insert={"p": source})
        assert keys({"q": engine["q"]}) == keys({"q": [(float(x),) for (x,) in rows]})
        assert engine.apply(insert={"p": [(9.0,)]}).is_empty
        assert len(engine.apply(delete={"p": source}).deleted["q"]) == many
    engine = tl.Engine(".decl p(x: float)\np(9).")
    engine.apply(add_rules="p(8).")
    assert keys({"p": engine["p"]}) == keys({"p": [(9.0,), (8.0,)]})


@pytest.mark.parametrize("many", [1, 40], ids=["few", "many"])
def test_a_number_that_no_float_holds_is_refused_where_a_float_is_declared(many: int) -> None:
    """2^53 + 1 would arrive as another number. To delete it changes nothing, because it is not there."""
    engine = tl.Engine(".decl p(x: float)")
    for value in (2**53 + 1, 2**63 - 1):
        for source in ([(value,)] * many, pa.table({"x": [value] * many})):
            with pytest.raises(tl.UpdateError, match="E304"):
                engine.apply(insert={"p": source})
            assert engine.apply(delete={"p": source}).is_empty
    engine.apply(insert={"p": [(-(2**63),), (2**53,)]})
    assert keys({"p": engine["p"]}) == keys({"p": [(-(2.0**63),), (2.0**53,)]})


@pytest.mark.parametrize("many", [1, 40], ids=["few", "many"])
def test_unsigned_takes_no_negative_numbers(many: int) -> None:
    """Neither from rows nor from tables nor from dictionaries; the message names column and row."""
    engine = tl.Engine(".decl p(x: unsigned)")
    numbers = [*range(many), -1]
    encoded = pa.table({"x": pa.array(numbers).dictionary_encode()})
    for source in ([(x,) for x in numbers], pa.table({"x": numbers}), encoded):
        with pytest.raises(tl.UpdateError, match=f"E306 .*column 1 of p, row {many + 1}: -1 is no unsigned"):
            engine.apply(insert={"p": source})
    engine.apply(insert={"p": [(0,), (2**63 - 1,)]})
    assert len(engine["p"]) == 2


def test_merged_updates_know_that_9_is_a_float() -> None:
    """A stream that merges waiting updates ends where one that applies them one by one ends."""
    updates = [{"insert": {"p": [(9.0,)]}}, {"delete": {"p": [(9,)]}}, {"insert": {"p": [(8,)]}}]
    engine = tl.Engine(".decl p(x: float)\nq(x) :- p(x).")
    list(engine.follow(updates, latest=True))
    assert keys({"q": engine["q"]}) == keys({"q": [(8.0,)]})
    engine = tl.Engine()
    list(engine.follow([{"add_rules": ".decl p(x: float)\nq(x) :- p(x)."}, *updates], latest=True))
    assert keys({"q": engine["q"]}) == keys({"q": [(8.0,)]})


def test_extreme_values_come_back_as_they_went_in() -> None:
    """The ends of the integers, the smallest and largest floats, long and odd strings."""
    values = [
        2**63 - 1,
        -(2**63),
        0,
        0.0,
        -0.0,
        5e-324,
        1.7e308,
        "",
        "\x00",
        "x" * 65536,
        "é",
    ]
    engine = tl.Engine("q(x) :- p(x).")
    engine.apply(insert={"p": [(value,) for value in values]})
    assert keys({"q": engine["q"]}) == keys({"q": [(value,) for value in values]})
    assert {repr(value) for (value,) in engine["q"]} >= {"9223372036854775807", "5e-324", "'\\x00'"}
    engine.apply(delete={"p": [(value,) for value in values]})
    assert len(engine["q"]) == 0


WRONG_KINDS = {
    "a program of bytes": lambda engine: tl.Engine(b"p(1)."),
    "no program": lambda engine: tl.Engine(None),
    "a question that is a number": lambda engine: engine.query(3),
    "a relation that is a number": lambda engine: engine[3],
    "a limit that is a text": lambda engine: tl.Limits(seconds="1"),
    "a state without a place": lambda engine: tl.Engine.open(None),
    "a place that is a number": lambda engine: engine.save(3),
    "no stream": lambda engine: list(engine.follow(None)),
}


@pytest.mark.parametrize("case", WRONG_KINDS)
def test_an_argument_of_a_wrong_type_has_a_code(case):
    """They ended in Python's own errors, from deep inside."""
    engine = tl.Engine("p(x) :- q(x).")
    with pytest.raises(tl.UsageError, match="E816"):
        WRONG_KINDS[case](engine)
    assert engine.version == 0


def test_texts_that_repeat_become_one_object_in_a_frame_and_others_do_not_cost_a_look():
    """Whether equal texts are made one Python object is decided by a sample; the values are the same."""
    engine = tl.Engine()
    engine.apply(insert={"e": [(f"only {number}", f"many {number % 3}") for number in range(3000)]})
    frame = engine["e"].to_pandas()
    assert sorted(map(tuple, frame.to_numpy().tolist())) == sorted(engine["e"])
    assert len({id(text) for text in frame["c2"]}) < 300
    engine.apply(insert={"f": [(f"only {number}",) for number in range(3000)]})
    assert sorted(engine["f"].to_pandas()["c1"]) == sorted(value for (value,) in engine["f"])
