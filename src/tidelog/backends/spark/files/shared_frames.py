"""Facts of several relations in the rows of one DataFrame.

What      : `SharedFrame`: each row of its frame has a table of distinct constants (`constants`) and facts over it
            (`rows`); `FarFacts` are those of one relation in it. `PackShared` gives ids to them, in tasks.
Idea      : what changes/shared.py is in one process. A constant occurs in many facts and in many relations: where facts
            are read, each distinct one of some thousand facts is written down once, and here it is hashed once. Rows of
            Spark are few and fat, so Spark's own time for a row does not count.
Invariant : `constants` is an Arrow stream of one column of distinct typed texts (changes/typed_texts.py), `rows` the
            bytes of 32-bit positions in it, three for each fact; `split` says which facts are of which relation.
Never     : no job is started here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.files.parcels import Batches, Packing
from tidelog.backends.spark.values.ids import Naming
from tidelog.backends.spark.values.numbered import TYPED as TYPED_TEXTS
from tidelog.backends.spark.values.numbered import numbered
from tidelog.changes.typed_texts import TYPED

Rows = npt.NDArray[np.int32]
Split = Callable[[pa.Array, Rows], Mapping[tuple[str, int], Rows]]
"""From typed texts and rows of three positions in them to the rows of relations, by name and number of columns."""


@dataclass(frozen=True, eq=False)
class SharedFrame:
    """Facts of several relations, in a frame with the columns `constants` and `rows`."""

    frame: DataFrame
    split: Split


@dataclass(frozen=True, eq=False)
class FarFacts:
    """The facts of one relation in a shared frame."""

    shared: SharedFrame
    relation: str
    arity: int

    def to_frame(self) -> DataFrame:
        """The facts as a DataFrame of their own, of typed texts."""
        names = [f"c{at}" for at in range(1, self.arity + 1)]
        task = _Unpack(self.shared.split, self.relation, self.arity)
        frame = self.shared.frame.select("constants", "rows").mapInArrow(task, ", ".join(f"{n} string" for n in names))
        return frame.select(*(F.col(name).alias(name, metadata={TYPED: True}) for name in names))


def packed(texts: pa.Array, rows: Rows) -> tuple[bytes, bytes]:
    """Distinct typed texts and rows of positions in them, as a row of a shared frame has them."""
    sink = pa.BufferOutputStream()
    table = pa.table([texts], names=["text"])
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as out:
        out.write_table(table)
    return sink.getvalue().to_pybytes(), np.ascontiguousarray(rows[:, :3], np.int32).tobytes()


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[pa.Array, Rows]]:
    """The other way round, row by row."""
    for batch in batches:
        for constants, rows in zip(batch.column("constants"), batch.column("rows")):
            if constants.is_valid:
                texts = pa.ipc.open_stream(constants.as_buffer()).read_all().column(0).combine_chunks()
                yield texts, np.frombuffer(rows.as_buffer(), np.int32).reshape(-1, 3)


@dataclass(frozen=True)
class PackShared:
    """An Arrow task: the facts of several relations into parcels, and the texts of their constants."""

    packing: Packing
    parts: Mapping[tuple[str, int], tuple[int, ...]]
    split: Split
    naming: Naming

    def __call__(self, batches: Batches) -> Batches:
        """Give ids to the distinct constants, and pack facts by relation."""
        for texts, rows in unpacked(batches):
            table = pa.table([texts.cast(pa.string())], names=["text"])
            (numbers,), named = numbered(table, (TYPED_TEXTS,), self.naming)
            for key, found in self.split(texts, rows).items():
                if key in self.parts:
                    columns = [numbers[found[:, at]] for at in range(key[1])]
                    yield from self.packing.facts(self.parts[key], columns, np.ones(len(found), np.bool_))
            yield from self.packing.texts(named)


@dataclass(frozen=True)
class _Unpack:
    """An Arrow task: the facts of one relation as columns of typed texts."""

    split: Split
    relation: str
    arity: int

    def __call__(self, batches: Batches) -> Batches:
        names = [f"c{at}" for at in range(1, self.arity + 1)]
        for texts, rows in unpacked(batches):
            found = self.split(texts, rows).get((self.relation, self.arity))
            if found is not None:
                columns = [texts.take(pa.array(found[:, at])).cast(pa.string()) for at in range(self.arity)]
                yield pa.RecordBatch.from_arrays(columns, names)
