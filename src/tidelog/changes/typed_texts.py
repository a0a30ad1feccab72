"""Constants of any type as texts, where a column holds one type only.

What      : `typed_texts` writes an array of constants as strings that begin with a letter for their type;
            `shared_facts` reads columns of such strings.
Idea      : tables of other systems have no columns of mixed types. A letter and a text are enough, and a text equals
            another exactly if the constants are equal: t for RDF terms, s for strings, i for integers, b for bools,
            f for floats, by their bits, because their decimals have many spellings.
Invariant : what is read is what was written, of every constant.
Never     : no Spark; its expressions over such columns are in backends/spark/values.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.changes.shared import SharedConstants, SharedFacts
from tidelog.changes.term_arrays import as_terms, is_term_type

TYPED = "tidelog.typed"
"""The key in the metadata of a column that says that its strings are typed texts."""

_REST = 2**31 - 1


def typed_texts(values: pa.Array) -> pa.Array:
    """The constants of an array, which may be a dense union, as strings with their types."""
    if pa.types.is_union(values.type):
        fields = [typed_texts(values.field(at)) for at in range(values.type.num_fields)]
        starts = np.cumsum([0, *map(len, fields)])[:-1]
        places = starts[values.type_codes.to_numpy()] + values.offsets.to_numpy()
        return pa.concat_arrays(fields).take(pa.array(places))
    if is_term_type(values.type):
        return _lettered("t", values.storage)
    if pa.types.is_boolean(values.type):
        return _lettered("b", pc.if_else(values, "true", "false"))
    if pa.types.is_floating(values.type):
        bits = values.to_numpy(zero_copy_only=False).astype(np.float64).view(np.uint64)
        return pa.array([f"f{number:016x}" for number in bits.tolist()], pa.large_string())
    return _lettered("i" if pa.types.is_integer(values.type) else "s", values)


def shared_facts(columns: Sequence[pa.ChunkedArray]) -> SharedFacts:
    """Columns of typed texts as facts over the distinct constants in them."""
    chunks = [chunk.cast(pa.large_string()) for column in columns for chunk in column.chunks]
    texts = pa.concat_arrays(chunks) if chunks else pa.array([], pa.large_string())
    found = texts.dictionary_encode()
    numbers = found.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    rows = numbers.reshape(len(columns), -1).T
    return SharedFacts(SharedConstants(constants_of(found.dictionary)), np.ascontiguousarray(rows))


def _lettered(letter: str, values: pa.Array) -> pa.Array:
    texts = values.cast(pa.large_string())
    return pc.binary_join_element_wise(pa.scalar(letter, pa.large_string()), texts, pa.scalar("", pa.large_string()))


def constants_of(texts: pa.Array) -> pa.Array:
    """What distinct typed texts stand for, as an array of one type or a dense union."""
    letters = pc.utf8_slice_codeunits(texts, 0, 1).to_numpy(zero_copy_only=False)
    rest = pc.utf8_slice_codeunits(texts, 1, _REST)
    codes, offsets = np.empty(len(texts), np.int8), np.empty(len(texts), np.int32)
    parts: list[pa.Array] = []
    for letter, read in _READERS.items():
        chosen: npt.NDArray[Any] = np.flatnonzero(letters == letter)
        if chosen.size:
            codes[chosen], offsets[chosen] = len(parts), np.arange(chosen.size)
            parts.append(read(rest.take(pa.array(chosen))))
    if len(parts) == 1:
        return parts[0]
    return pa.UnionArray.from_dense(pa.array(codes), pa.array(offsets), parts) if parts else pa.array([], pa.int64())


def _floats(bits: pa.Array) -> pa.Array:
    return pa.array([struct.unpack(">d", bytes.fromhex(text))[0] for text in bits.to_pylist()], pa.float64())


_READERS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "t": as_terms,
    "s": lambda texts: texts,
    "i": lambda texts: texts.cast(pa.int64()),
    "b": lambda texts: pc.equal(texts, "true"),
    "f": _floats,
}
