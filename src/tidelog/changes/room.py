"""How much memory Arrow arrays take as columns of constants.

What      : `room`, in bytes, asked before anything is converted.
Idea      : some arrays say little and mean much: a run-end encoded one holds 60 million rows in 12 bytes, views of one
            text share it, and a dictionary that has to be decoded repeats its texts.
Invariant : at least what the array takes itself, and 4 bytes a row, which a constant's number takes.
Never     : nothing is converted, and nothing that a damaged array refers to is looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_NUMBER = 4


def room(column: pa.Array | pa.ChunkedArray) -> int:
    """About how many bytes the values of a column take, one by one."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return sum(max(int(chunk.nbytes), _NUMBER * len(chunk), _spread(chunk)) for chunk in chunks)


def _spread(array: pa.Array) -> int:
    """The bytes of values that the array shares among rows; 0 if it shares none."""
    kind = array.type
    if pa.types.is_run_end_encoded(kind):
        return _repeated(array.values, _runs(array))
    if pa.types.is_dictionary(kind) and array.dictionary.null_count:  # it will be decoded
        return len(array) * int(_sizes(array.dictionary).max(initial=0))
    if pa.types.is_string_view(kind):
        return int(_sizes(array).sum())
    if pa.types.is_union(kind) and kind.mode == "dense":
        return sum(room(array.field(number)) for number in range(kind.num_fields))
    return 0


def _runs(array: pa.Array) -> npt.NDArray[np.int64]:
    """How many rows of the array each of its values stands for."""
    ends = np.clip(np.asarray(array.run_ends).astype(np.int64) - array.offset, 0, len(array))
    counts: npt.NDArray[np.int64] = np.diff(ends, prepend=0)
    return counts


def _repeated(values: pa.Array, times: npt.NDArray[np.int64]) -> int:
    found = min(len(values), len(times))
    return int(_sizes(values)[:found] @ times[:found])


def _sizes(array: pa.Array) -> npt.NDArray[np.int64]:
    """How many bytes each value takes, from bounds and views alone."""
    kind, count = array.type, len(array)
    bounds: Any = array.buffers()[1] if array.type.num_buffers > 1 else None
    if bounds is None or not bounds.size or not count:
        return np.zeros(count, np.int64)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        ends = _numbers(bounds, np.int32 if pa.types.is_string(kind) else np.int64)
        return np.diff(ends[array.offset : array.offset + count + 1])
    if pa.types.is_string_view(kind):
        return _numbers(bounds, np.int32)[4 * array.offset : 4 * (array.offset + count) : 4]
    return np.full(count, max(array.nbytes // count, 1), np.int64)


def _numbers(memory: pa.Buffer, kind: type) -> npt.NDArray[np.int64]:
    """The whole numbers that fit into a buffer, however long it is."""
    return np.frombuffer(memory, kind, memory.size // np.dtype(kind).itemsize).astype(np.int64)
