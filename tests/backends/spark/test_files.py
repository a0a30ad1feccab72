"""Sorted files without Spark: look-ups equal a search through everything, counts are near, and collisions are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.backends.spark.bulk.placement import homes
from tidelog.backends.spark.files import file_store, reading, writing
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.parcels import Packing, shapes_of, unpacked
from tidelog.backends.spark.files.reading import Reader
from tidelog.backends.spark.files.segments import Order, Segment, Segments
from tidelog.backends.spark.files.sketch import Sketch
from tidelog.backends.spark.files.sorted_rows import ROW_GROUP, grouped, sorted_facts
from tidelog.backends.spark.files.texts import Receive
from tidelog.backends.spark.files.writing import write_here
from tidelog.backends.spark.values.numbered import TEXTS

_FACTS = pa.schema([("k0", pa.int64()), ("k1", pa.int64()), ("explicit", pa.bool_())])
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
    together=st.sampled_from([None, 1, 16]),
)
def test_a_look_up_finds_what_a_search_finds(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, int]],
    wanted: list[tuple[int, int, int]],
    columns: tuple[int, ...],
    lead: int,
    few: int,
    together: int | None,
) -> None:
    """Any order, any set of columns that has its leading one; keys repeat in the leading column, and may be absent.

    Row groups are read one by one, or several together.
    """
    if lead not in columns:
        return
    facts = np.array(rows, np.int64)
    folder = tmp_path_factory.mktemp("files")
    keys = sorted({tuple(key[column] for column in columns) for key in wanted})
    order = [f"c{(lead + at) % 3}" for at in range(3)]
    names = [f"c{column}" for column in columns]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "_FEW", few)
        if together is not None:
            patched.setattr(writing, "ROW_GROUP", 4)
            patched.setattr(reading, "_MANY", 0)
            patched.setattr(reading, "_TOGETHER", together)
        segments = write_here(str(folder), facts, facts[:, 0] > 0, [lead])
        found = Reader().find(segments.described()[1][0].address, order, names, np.array(keys, np.int64))
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
    reader, address = Reader(most_bytes=400_000), segments.described()[1][0].address
    found = reader.find(address, ["c0", "c1"], ["c0", "c1"], np.array([[5, 33_000], [6, 33_000], [7, 1]]))
    assert found.select(["c0", "c1"]).to_pylist() == [{"c0": 5, "c1": 33_000}]
    assert reader.read_groups == 1
    held = reader._held
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "_MANY", 4)
        assert reader.find(address, ["c0", "c1"], ["c0"], np.array([[5], [6]])).num_rows == 100_000
    assert (reader.read_groups, reader._held) == (14, held)  # many are read past the cache
    assert reader.find(address, ["c0", "c1"], ["c0"], np.array([[5]])).num_rows == 60_000
    assert reader._held <= 800_000
    assert sum(table.num_rows for table in reader.whole(address)) == 100_000


@pytest.mark.parametrize(("explicit", "read"), [([True] * 4, 2), ([False] * 4, 2), ([True, False] * 2, 3)])
def test_which_facts_are_explicit_is_read_only_where_facts_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, explicit: list[bool], read: int
) -> None:
    """Segments know how many of their facts are explicit; where all are alike, two columns of ids are decoded."""
    facts, flags = np.array([[1, 10], [2, 20], [3, 30], [4, 40]]), np.array(explicit)
    segments, store = write_here(str(tmp_path), facts, flags, [0]), FileStore(None, str(tmp_path))  # type: ignore[arg-type]
    seen: list[int] = []
    parts = file_store._facts
    monkeypatch.setattr(
        file_store, "_facts", lambda tables, of: seen.extend(table.num_columns for table in tables) or parts(tables, of)
    )
    for columns, keys in (((), []), ((0,), [[2], [3]]), ((0, 1), [[2, 20], [3, 31]]), ((0,), [[7]])):
        rows, found = store.rows("p", segments, columns, np.array(keys, np.int64).reshape(len(keys), len(columns)))
        wanted = {tuple(row) for row in facts.tolist() if not columns or [row[at] for at in columns] in keys}
        assert {tuple(row) for row in rows.tolist()} == wanted
        assert found.tolist() == [explicit[row[0] - 1] for row in rows.tolist()]
        assert found.dtype == np.bool_
    assert set(seen) == {read}
    unknown = Segments(2, 4, segments.orders, segments.distinct, segments.tags)
    assert store.rows("p", unknown, (0,), np.array([[2]]))[1].tolist() == [explicit[1]]


@given(column=st.lists(st.integers(-5, 5), max_size=30).map(sorted), keys=st.lists(st.integers(-6, 6), max_size=12))
def test_runs_of_keys_are_those_of_two_searches(column: list[int], keys: list[int]) -> None:
    """Most keys are there once or not at all, so only those that repeat are searched for twice."""
    stored, wanted = np.array(column, np.int64), np.array(keys, np.int64)
    first, last = reading._run(stored, wanted)
    assert first.tolist() == np.searchsorted(stored, wanted, "left").tolist()
    assert last.tolist() == np.searchsorted(stored, wanted, "right").tolist()


def test_footers_tell_which_keys_are_hot(tmp_path: Path) -> None:
    """A value that fills row groups is told with its rows, wrong by a row group at most; nothing is read for it."""
    keys = np.concatenate([np.full(50_000, 7), np.full(20_000, 9), np.arange(100, 30_100)])
    facts = np.column_stack([keys, np.arange(len(keys))])
    stored = write_here(str(tmp_path), facts, np.ones(len(facts), np.bool_), (0,))
    (file,) = stored.orders[0].files.values()
    reader = Reader()
    found = reader.long_runs(file.address, "c0")
    assert set(found) == {7, 9}
    assert abs(found[7] - 50_000) <= ROW_GROUP
    assert abs(found[9] - 20_000) <= ROW_GROUP
    assert reader.read_groups == 0


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


def parcels(rows: list[tuple[int, str]], shards: int = 1) -> Iterator[pa.RecordBatch]:
    """Texts as a task gets them, each in a parcel of its own."""
    for number, text in rows:
        yield from Packing((), shards).texts(pa.table([[number], [text]], schema=TEXTS))


def test_a_text_is_added_once_and_those_that_clash_are_told(tmp_path: Path) -> None:
    """Within what is added, and against what is there: the text that was first keeps its id; shards have own files."""
    task = Receive(str(tmp_path), "first", Packing((), 2))
    done = [
        row for batch in task(parcels([(1, "sa"), (1, "sa"), (6, "sb"), (9, "sc")], 2)) for row in batch.to_pylist()
    ]
    assert sum(row["rows"] for row in done) == 3
    assert len({row["address"] for row in done}) == len(done) == 2
    assert all(row["clashes"] == [] for row in done)
    known = (Order(0, 2, {row["shard"]: Segment(row["address"], row["rows"], 0) for row in done}),)
    for earlier, rows, fresh, clashes in [
        ((), [(1, "sa"), (1, "sx"), (1, "sy")], 1, ["sx", "sy"]),
        ((), [(1, "sy"), (1, "sa"), (1, "sy"), (1, "sx")], 1, ["sx", "sy"]),
        (known, [(1, "sx"), (7, "sn")], 1, ["sx"]),
        (known, [(1, "s9"), (1, "sa"), (1, "sx")], 0, ["s9", "sx"]),
        (known, [(1, "sa"), (6, "sb"), (7, "sn")], 1, []),
    ]:
        task = Receive(str(tmp_path), "second", Packing((), 1), earlier)
        ((row,),) = (batch.to_pylist() for batch in task(parcels(rows)))
        assert (row["rows"], sorted(row["clashes"])) == (fresh, clashes)


@given(facts=st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.booleans()), max_size=40), data=st.data())
def test_facts_that_come_twice_are_written_once(facts: list[tuple[int, int, bool]], data: st.DataObject) -> None:
    """Sorted, each once, and explicit if one of them is, however they lie in parcels."""
    cut = data.draw(st.integers(0, len(facts)))
    tables = [
        pa.table([[row[at] for row in part] for at in range(3)], schema=_FACTS) for part in (facts[:cut], facts[cut:])
    ]
    columns, explicit = sorted_facts(tables, 2)
    expected = sorted({row[:2] for row in facts})
    assert list(zip(*(column.tolist() for column in columns))) == expected
    assert explicit.tolist() == [(*fact, True) in facts for fact in expected]


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.booleans()), max_size=60), st.integers(1, 5))
def test_parcels_bring_every_fact_to_its_file(facts: list[tuple[int, int, bool]], shards: int) -> None:
    """In every order, to the shard of its leading column; what is unpacked is what was packed."""
    packing = Packing(shapes_of([(2, (0, 1))]), shards)
    columns = [np.array([row[at] for row in facts], np.int64) for at in range(2)]
    found = unpacked(packing.facts((0, 1), columns, np.array([row[2] for row in facts], np.bool_)))
    seen: dict[int, list[tuple[int, int, bool]]] = {0: [], 1: []}
    for home, tables in found.items():
        part, shard = divmod(home, shards)
        for table in tables:
            assert set(homes(table.column("k0").to_numpy(), shards).tolist()) == {shard}
            turned = [table.column(f"k{(at - part) % 2}").to_pylist() for at in range(2)]
            seen[part] += zip(*turned, table.column("explicit").to_pylist())
    assert sorted(seen[0]) == sorted(seen[1]) == sorted(facts)


def test_large_parcels_wait_in_files_of_their_own(tmp_path: Path) -> None:
    """A task that runs again leaves others; small parcels are carried. The facts are the same either way."""
    numbers, folder = np.arange(60_000), tmp_path / "parcels"
    folder.mkdir()
    for count, files in ((60_000, 4), (100, 0)):
        columns, flags = [numbers[:count], numbers[:count] * 7 % 1000], np.ones(count, np.bool_)
        near, far = (Packing(shapes_of([(2, (0, 1))]), 2, where) for where in (str(folder), None))
        before = len(list(folder.glob("*")))
        found, again = (unpacked(near.facts((0, 1), columns, flags)) for _ in range(2))
        assert len(list(folder.glob("*"))) - before == 2 * files
        assert found == again == unpacked(far.facts((0, 1), columns, flags))


def test_a_task_that_outlives_its_job_does_not_make_the_folder_again(tmp_path: Path) -> None:
    """The driver has deleted it, and nobody would know its name any more."""
    numbers = np.arange(60_000)
    late = Packing(shapes_of([(2, (0,))]), 2, str(tmp_path / "parcels"))
    with pytest.raises(FileNotFoundError):
        list(late.facts((0,), [numbers, numbers], np.ones(len(numbers), np.bool_)))
    assert list(tmp_path.iterdir()) == []


def test_rows_are_cut_into_groups() -> None:
    """However the tables lie."""
    tables = (pa.table({"x": np.arange(count)}) for count in (1, 5, 0, 7))
    assert [table.num_rows for table in grouped(tables, 4)] == [4, 4, 4, 1]
