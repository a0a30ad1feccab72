"""Sorted files without Spark: look-ups equal a search through everything, counts are near, and collisions are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.backends.spark.files import reading
from tidelog.backends.spark.files.reading import Reader
from tidelog.backends.spark.files.segments import Order, Segment
from tidelog.backends.spark.files.sketch import Sketch
from tidelog.backends.spark.files.sorted_rows import distinct, grouped, runs
from tidelog.backends.spark.files.texts import Receive
from tidelog.backends.spark.files.writing import write_here

SMALL = st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=60, unique=True)


def search(rows: set[tuple[int, ...]], columns: tuple[int, ...], keys: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """What a look-up has to find."""
    return {row for row in rows if tuple(row[column] for column in columns) in keys}


@given(
    rows=SMALL,
    wanted=st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=1, max_size=8),
    columns=st.sampled_from([(0,), (1,), (0, 1), (1, 0), (0, 2), (2, 1), (0, 1, 2)]),
    lead=st.integers(0, 2),
    few=st.sampled_from([0, 64]),
)
def test_a_look_up_finds_what_a_search_finds(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, int]],
    wanted: list[tuple[int, int, int]],
    columns: tuple[int, ...],
    lead: int,
    few: int,
) -> None:
    """Any order, any set of columns that has its leading one; keys repeat in the leading column, and may be absent."""
    if lead not in columns:
        return
    facts = np.array(rows, np.int64)
    folder = tmp_path_factory.mktemp("files")
    segments = write_here(str(folder), facts, facts[:, 0] > 0, [lead])
    keys = sorted({tuple(key[column] for column in columns) for key in wanted})
    order = [f"c{column}" for column in segments.first.columns(3)]
    names = [f"c{column}" for column in columns]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "_FEW", few)
        found = Reader().find(segments.files[0].address, order, names, np.array(keys, np.int64))
    table = found.select(["c0", "c1", "c2"]).to_pydict()
    seen = list(zip(*table.values()))
    assert len(seen) == len(set(seen))
    assert set(seen) == search(set(rows), columns, set(keys))
    assert found.column("explicit").to_pylist() == [fact[0] > 0 for fact in seen]
    assert (segments.rows, segments.distinct) == (len(rows), tuple(len(set(column)) for column in zip(*rows)))


def test_only_the_row_groups_with_a_key_are_read_and_the_cache_is_bounded(tmp_path: Path) -> None:
    """A hub fills several row groups; a look-up of two columns reads one of them."""
    facts = np.column_stack([np.repeat([5, 6], [60_000, 40_000]), np.arange(100_000)])
    segments = write_here(str(tmp_path), facts, np.ones(len(facts), np.bool_), [0])
    reader, address = Reader(most_bytes=400_000), segments.files[0].address
    found = reader.find(address, ["c0", "c1"], ["c0", "c1"], np.array([[5, 33_000], [6, 33_000], [7, 1]]))
    assert found.select(["c0", "c1"]).to_pylist() == [{"c0": 5, "c1": 33_000}]
    assert reader.read_groups == 1
    assert reader.find(address, ["c0", "c1"], ["c0"], np.array([[5]])).num_rows == 60_000
    assert reader._held <= 800_000
    assert sum(table.num_rows for table in reader.whole(address)) == 100_000


def test_a_sketch_is_near_and_forgets_the_order() -> None:
    """Exact when few, within a fifth when many; merging halves is the same as seeing everything."""
    few, many = Sketch(), Sketch()
    few.add(np.array([7, 7, 8, -1]))
    assert few.count == 3
    numbers = np.arange(100_000) * 4 + 1
    many.add(numbers)
    assert 80_000 < many.count < 120_000
    one, other = Sketch(), Sketch()
    one.add(numbers[:50_000])
    other.add(numbers[::-1][:60_000])
    one.merge(Sketch.of(other.to_bytes()))
    assert one.count == many.count


def batches(rows: list[tuple[int, int, str]]) -> Iterator[pa.RecordBatch]:
    """Rows (shard, id, text) as a task gets them."""
    for shard, number, text in rows:
        shape = {"part": pa.array([0], pa.int32()), "shard": pa.array([shard], pa.int32())}
        yield pa.RecordBatch.from_pydict({**shape, "k0": [number], "text": [text]})


def test_a_text_is_added_once_and_those_that_clash_are_told(tmp_path: Path) -> None:
    """Within what is added, and against what is there: the text that was first keeps its id; shards have own files."""
    task = Receive(str(tmp_path), "first", ())
    done = [batch.to_pylist()[0] for batch in task(batches([(0, 1, "sa"), (0, 1, "sa"), (0, 5, "sb"), (1, 9, "sc")]))]
    assert [(row["shard"], row["rows"], row["clashes"]) for row in done] == [(0, 2, []), (1, 1, [])]
    known = (Order(0, 1, {0: Segment(done[0]["address"], 2, 0)}),)
    for earlier, rows, fresh, clashes in [
        ((), [(0, 1, "sa"), (0, 1, "sx"), (0, 1, "sy")], 1, ["sx", "sy"]),
        (known, [(0, 1, "sx"), (0, 7, "sn")], 1, ["sx"]),
        (known, [(0, 1, "s9"), (0, 1, "sa"), (0, 1, "sx")], 0, ["s9", "sx"]),
        (known, [(0, 1, "sa"), (0, 5, "sb"), (0, 7, "sn")], 1, []),
    ]:
        ((row,),) = (batch.to_pylist() for batch in Receive(str(tmp_path), "second", (), earlier)(batches(rows)))
        assert (row["rows"], sorted(row["clashes"])) == (fresh, clashes)


def test_facts_that_come_twice_are_written_once() -> None:
    """Also where one batch ends with a fact that begins the next."""
    tables = (pa.table({"k0": [1, 1, 2], "k1": [5, 5, 5]}), pa.table({"k0": [2, 2, 3], "k1": [5, 6, 6]}))
    found = pa.concat_tables(list(distinct(iter(tables), ["k0", "k1"])))
    assert found.to_pydict() == {"k0": [1, 2, 2, 3], "k1": [5, 5, 6, 6]}


def test_rows_are_cut_where_shards_change_and_into_groups() -> None:
    """However the batches lie."""
    rows = [(0, 1, "a"), (0, 2, "b"), (1, 3, "c"), (2, 4, "d"), (2, 5, "e")]
    cut = ((key, pa.concat_tables(list(tables))) for key, tables in runs(batches(rows)))
    found = [(key, table.column("text").to_pylist()) for key, table in cut]
    assert found == [((0, 0), ["a", "b"]), ((0, 1), ["c"]), ((0, 2), ["d", "e"])]
    tables = (pa.table({"x": np.arange(count)}) for count in (1, 5, 0, 7))
    assert [table.num_rows for table in grouped(tables, 4)] == [4, 4, 4, 1]
