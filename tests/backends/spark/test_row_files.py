"""Facts become rows a portion at a time, and a portion is cut by the bytes of its texts as well as by its facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidelog.backends.spark.files import row_files
from tidelog.backends.spark.files.row_files import _Rows, _scanned
from tidelog.backends.spark.values import ids


def test_texts_above_two_gigabytes_are_cut_into_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """All texts of a portion went into one array whose offsets have 32 bits: texts of 512 bytes could not be saved."""
    count, each = 40_000, 60_000
    numbers = (np.arange(count, dtype=np.int64) * 1000 << 2) | ids.STRING
    piece = pa.array(["s" + "x" * (each - 1)] * 500)
    seen = []

    def stored(_: _Rows) -> Iterator[pa.Table]:
        for start in range(0, count, 500):
            seen.append(start)
            yield pa.table({"id": numbers[start : start + 500], "text": piece})

    monkeypatch.setattr(_Rows, "_stored", stored)
    task = _Rows("r", 1, "t", 1, (), (), is_held=False)
    texts, share = task._texts_of(numbers)
    assert texts is None
    assert 0.9 < share * count * each / row_files._PORTION_TEXTS < 1.1
    assert len(seen) == 5  # it stops when it knows
    texts, _ = task._texts_of(numbers[: int(share * 0.9 * count)])
    assert len(texts) == int(share * 0.9 * count)
    assert texts.nbytes < 1.1 * row_files._PORTION_TEXTS


@pytest.mark.parametrize("is_held", [True, False])
@pytest.mark.parametrize("arity", [0, 1, 2])
def test_portions_and_row_groups_are_cut_by_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arity: int, is_held: bool
) -> None:
    """Every fact comes once, in order, whatever the room is; a text that is too long for any comes alone."""
    row_files._held.clear()
    texts = [f"s{'x' * (at % 50)}{at:03d}" for at in range(100)] + ["s" + "y" * 3000]
    numbers = (np.arange(101, dtype=np.int64) << 2) | ids.STRING
    pq.write_table(pa.table({"id": numbers, "text": texts}), tmp_path / "texts.parquet", row_group_size=16)
    chosen = np.random.default_rng(1).integers(0, 101, (400, max(arity, 1)))
    facts = {f"c{at}": numbers[chosen[:, at]] for at in range(max(arity, 1))}
    pq.write_table(pa.table({**facts, "explicit": [True, False] * 200}), tmp_path / "facts.parquet")
    monkeypatch.setattr(row_files, "_PORTION_TEXTS", 1500)
    monkeypatch.setattr(row_files, "_GROUP_TEXTS", 900)
    monkeypatch.setattr(row_files, "_SCANNED_BYTES", 400)
    task = _Rows("r", 7, "t", arity, (), (str(tmp_path / "texts.parquet"),), is_held)
    rows = list(task._rows(str(tmp_path / "facts.parquet")))
    expected = [[texts[place][1:] for place in fact[:arity]] for fact in chosen.tolist()]
    found = [[cell["text"] for cell in row["values"]] for table in rows for row in table.to_pylist()]
    assert found == expected
    assert [flag for table in rows for flag in table.column("explicit").to_pylist()] == [True, False] * 200
    if arity:
        sizes = [sum(len(cell["text"]) for row in table.to_pylist() for cell in row["values"]) for table in rows]
        assert all(size <= 900 or table.num_rows == 1 for size, table in zip(sizes, rows))


def test_long_texts_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    """A number of texts says nothing about their bytes."""
    texts = pa.table({"id": range(2000), "text": ["x" * 10_000] * 2000})
    pq.write_table(texts, tmp_path / "x.parquet", use_dictionary=False)
    tables = list(_scanned(str(tmp_path / "x.parquet"), 1 << 18, 1 << 20))
    assert max(table.nbytes for table in tables) < 1.2 * (1 << 20)
    assert pa.concat_tables(tables).column("id").to_pylist() == list(range(2000))
    [whole] = _scanned(str(tmp_path / "x.parquet"), 1 << 18)
    assert whole.num_rows == 2000
