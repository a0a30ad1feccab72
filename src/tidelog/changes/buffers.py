"""Arrow arrays from memory.

What      : `numbers` is an Arrow array over a NumPy array, `memory` the other way round, `values_array` an Arrow array
            of Python values of one type.
Idea      : `pyarrow.array` and `to_numpy` do the same, but they import pandas where that is installed, which takes half
            a second and 50 MB: more than everything else that a small engine does.
Invariant : what comes out equals what pyarrow gives; where it raises, this raises.
Never     : no value is judged here (columns.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_MANY = 1 << 12
"""From here on what pandas takes is a small part of the work, and pyarrow is the faster one."""
_MEMORY: dict[str, type] = {"int64": np.int64, "double": np.float64}
_NUMBERS = {int: np.int64, float: np.float64}
TYPES: dict[type, pa.DataType] = {
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    str: pa.large_string(),
}


def numbers(array: npt.NDArray[Any], kind: pa.DataType, count: int | None = None) -> pa.Array:
    """A NumPy array as an Arrow array of the same width; `count` is needed where several values share a byte."""
    size = array.size if count is None else count
    return pa.Array.from_buffers(kind, size, [None, pa.py_buffer(np.ascontiguousarray(array))])


def flags(array: npt.NDArray[np.bool_]) -> pa.Array:
    """A NumPy array of bools as an Arrow array."""
    return numbers(np.packbits(array, bitorder="little"), pa.bool_(), array.size)


def memory(array: pa.Array) -> npt.NDArray[Any]:
    """An Arrow array without nulls as a NumPy array; 64-bit numbers and bools without pyarrow's help."""
    if pa.types.is_boolean(array.type) and len(array):
        bits = np.frombuffer(array.buffers()[1], np.uint8)
        return np.unpackbits(bits, count=array.offset + len(array), bitorder="little")[array.offset :].view(np.bool_)
    dtype = _MEMORY.get(str(array.type))
    if dtype is None or not len(array):
        return np.asarray(array.to_numpy(zero_copy_only=False))
    return np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array)]


def values_array(values: Sequence[Any], kind: type) -> pa.Array:
    """Python values that are all of one type: int, float, bool or str."""
    if len(values) > _MANY:
        return pa.array(values, TYPES[kind])
    if kind is bool:
        return flags(np.array(values, np.bool_))
    if kind is str:
        return _texts([value.encode() for value in values])
    return numbers(np.array(values, _NUMBERS[kind]), TYPES[kind])


def _texts(encoded: Sequence[bytes]) -> pa.Array:
    ends = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=ends[1:])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)
