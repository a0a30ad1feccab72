"""Values to ids, inside a task.

What      : `numbered` gives the ids of columns of values that Spark hands over as Arrow arrays, and the texts that
            they need, each once.
Idea      : all strings of all columns go through one dictionary, so that every text is hashed and handed on once,
            however often it occurs; a compiled kernel hashes them (backends/local/constants/text_hashes.py).
Invariant : the ids are those of ids.py, and what cannot be a constant gets a number of refusals.py.
Never     : no session, and no decision about what is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.backends.local.constants.same_texts import is_first
from tidelog.backends.local.constants.text_hashes import leading_bits
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids, Naming
from tidelog.backends.spark.values.refusals import MISSING, NEGATIVE, NO_NUMBER, NO_TEXT

NOTHING, TYPED, STRING, BOOL, FLOAT, WHOLE, UNSIGNED = (
    "nothing",
    "typed",
    "string",
    "bool",
    "float",
    "whole",
    "unsigned",
)
"""Kinds of columns; NOTHING is the one column of facts without columns, TYPED are typed texts."""

TEXTS = pa.schema([("k0", pa.int64()), ("text", pa.string())])
_FEW = 256
"""Up to how many texts are hashed one by one: no kernel is loaded for them."""
_SAMPLE = 1 << 10
"""Values that are looked at to guess whether they repeat."""
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def numbered(table: pa.Table, kinds: Sequence[str], naming: Naming) -> tuple[list[Ids], pa.Table]:
    """The ids of all columns, and the texts (k0 the id, text) of hashed constants, each once."""
    found: list[Ids] = [np.zeros(table.num_rows, np.int64)] * len(kinds)
    texts = [TEXTS.empty_table()]
    for kind in dict.fromkeys(kinds):
        places = [at for at, one in enumerate(kinds) if one == kind]
        columns = [table.column(at) for at in places]
        if kind in (STRING, TYPED):
            several, more = _of_texts(columns, "" if kind == TYPED else "s", naming)
            texts.append(more)
        else:
            several = []
            for column in columns:
                numbers, more = _of_scalars(column, kind, naming)
                several.append(numbers)
                texts.append(more)
        for at, numbers in zip(places, several):
            found[at] = numbers
    return found, pa.concat_tables(texts)


def _of_texts(columns: Sequence[pa.ChunkedArray], prefix: str, naming: Naming) -> tuple[list[Ids], pa.Table]:
    """Ids of columns of strings, or of typed texts if there is no prefix."""
    joined = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.string())
    ends = np.cumsum([len(column) for column in columns])[:-1]
    if prefix and _hardly_repeats(joined):
        values = joined.combine_chunks()
        if _are_texts(values) is None:
            return _each_named(values, prefix, naming, ends)
    places, values = _dictionary(joined)
    numbers, texts = _named(values, prefix, naming)
    flat = np.where(places >= 0, numbers[places], MISSING) if len(numbers) else np.full(len(places), MISSING)
    return np.split(flat, ends), texts


def _hardly_repeats(values: pa.ChunkedArray) -> bool:
    """Whether most of some values without nulls are distinct: then finding out which are takes longer than hashing."""
    if len(values) <= _SAMPLE or values.null_count:
        return False
    places = np.arange(_SAMPLE) * (len(values) // _SAMPLE)
    return 2 * len(values.take(pa.array(places)).unique()) > _SAMPLE


def _each_named(values: pa.Array, prefix: str, naming: Naming, ends: Array) -> tuple[list[Ids], pa.Table]:
    """Ids of strings, each of which is hashed, and the distinct texts."""
    texts = pc.binary_join_element_wise(prefix, values, "") if naming.moved else values
    numbers = _hashed(values, texts, prefix, naming)
    chosen = is_first(values, numbers)
    distinct = pc.binary_join_element_wise(prefix, values.filter(pa.array(chosen)), "")
    return np.split(numbers, ends), pa.table([pa.array(numbers[chosen]), distinct], schema=TEXTS)


def _of_scalars(column: pa.ChunkedArray, kind: str, naming: Naming) -> tuple[Ids, pa.Table]:
    """Ids of a column of numbers or bools."""
    nothing = TEXTS.empty_table()
    is_missing = column.is_null().to_numpy()
    match kind:
        case "nothing":
            return np.zeros(len(column), np.int64), nothing
        case "bool":
            return np.where(
                is_missing, MISSING, column.cast(pa.int64()).fill_null(0).to_numpy() << 2 | ids.BOOL
            ), nothing
        case "float":
            places, values = _dictionary(_bits(column))
            numbers, texts = _named(_hexadecimal(values.to_numpy()), "", naming)
            if len(numbers):
                found = np.where(places >= 0, numbers[places], NO_NUMBER)
                return np.where(is_missing, MISSING, found), texts
            return np.where(is_missing, MISSING, NO_NUMBER), nothing
    whole = column.cast(pa.int64()).fill_null(0).to_numpy()
    is_large = (whole < ids.LEAST) | (whole > ids.GREATEST)
    found = np.where(is_large, 0, whole) << 2
    texts = nothing
    if is_large.any():
        distinct = pa.array(whole[is_large]).unique()
        numbers, texts = _named(pc.binary_join_element_wise("i", distinct.cast(pa.string()), ""), "", naming)
        found[is_large] = numbers[pc.index_in(pa.array(whole[is_large]), distinct).to_numpy()]
    if kind == UNSIGNED:
        found = np.where(whole < 0, NEGATIVE, found)
    return np.where(is_missing, MISSING, found), texts


def _dictionary(values: pa.ChunkedArray) -> tuple[Array, pa.Array]:
    """Which of the distinct values each one is (-1 for none), and these."""
    encoded = values.dictionary_encode()
    if not encoded.num_chunks:
        return np.empty(0, np.int32), pa.array([], values.type)
    places = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in encoded.chunks]
    return np.concatenate(places), encoded.chunk(encoded.num_chunks - 1).dictionary


def _named(values: pa.Array, prefix: str, naming: Naming) -> tuple[Ids, pa.Table]:
    """The ids of distinct texts, and the texts that are hashed."""
    is_text = _are_texts(values)
    if is_text is not None:
        safe = pa.array([value if good else "" for value, good in zip(_decoded(values), is_text)], pa.string())
        numbers, texts = _named(safe, prefix, naming)
        wanted = set(numbers[is_text].tolist())
        return np.where(is_text, numbers, NO_TEXT), texts.filter(pc.is_in(texts.column("k0"), pa.array(list(wanted))))
    texts = values if not prefix else pc.binary_join_element_wise(prefix, values, "")
    numbers = _hashed(values, texts, prefix, naming)
    is_hashed = np.ones(len(values), np.bool_)
    if not prefix:
        places, own = _themselves(values)
        numbers[places], is_hashed[places] = own, False
    table = pa.table([pa.array(numbers), texts], schema=TEXTS)
    return numbers, table if is_hashed.all() else table.filter(pa.array(is_hashed))


def _hashed(values: pa.Array, texts: pa.Array, prefix: str, naming: Naming) -> Ids:
    """The ids that texts have as hashed constants."""
    if len(values) <= _FEW:
        return np.array([ids.of_text(text, naming) if text else 0 for text in texts.to_pylist()], np.int64)
    tags: Array | int = ids.STRING
    if not prefix:
        letters = pc.utf8_slice_codeunits(values, 0, 1)
        is_string = pc.is_in(letters, pa.array(["s", "t"])).to_numpy(zero_copy_only=False)
        tags = np.where(is_string, ids.STRING, ids.OTHER)
    bits = leading_bits(values, prefix) >> np.uint64(64 - 4 * naming.digits)
    numbers: Ids = bits.astype(np.int64) << 2 | tags
    if naming.moved:
        moved = pc.index_in(texts, pa.array(list(naming.moved), pa.string())).fill_null(-1).to_numpy()
        numbers = np.where(moved >= 0, np.array(list(naming.moved.values()), np.int64)[moved], numbers)
    return numbers


def _themselves(texts: pa.Array) -> tuple[Array, Ids]:
    """Of typed texts the places of those that stand for small integers and bools, and their ids."""
    letters = pc.utf8_slice_codeunits(texts, 0, 1)
    whole, bools = (np.flatnonzero(pc.equal(letters, letter).to_numpy(zero_copy_only=False)) for letter in "ib")
    numbers = pc.utf8_slice_codeunits(texts.take(pa.array(whole)), 1).cast(pa.int64()).to_numpy()
    is_small = (numbers >= ids.LEAST) & (numbers <= ids.GREATEST)
    is_true = pc.equal(texts.take(pa.array(bools)), "btrue").to_numpy(zero_copy_only=False)
    own = numbers[is_small] << 2, is_true.astype(np.int64) << 2 | ids.BOOL
    return np.concatenate([whole[is_small], bools]), np.concatenate(own)


def _are_texts(values: pa.Array) -> Array | None:
    """Which values are valid Unicode; None if all are."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return np.array([_is_text(value) for value in values.cast(pa.binary()).to_pylist()], np.bool_)
    return None


def _decoded(values: pa.Array) -> list[str]:
    return [value.decode(errors="replace") for value in values.cast(pa.binary()).to_pylist()]


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _bits(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The bits of floats, minus zero as zero; null for those that are no numbers."""
    values = column.cast(pa.float64()).fill_null(np.nan).to_numpy() + 0.0
    return pa.chunked_array([pa.array(values.view(np.int64), mask=~np.isfinite(values))])


def _hexadecimal(bits: Ids) -> pa.Array:
    """The typed texts of floats with these bits (ids.py)."""
    shifts = np.arange(60, -4, -4, dtype=np.uint64)
    digits = (bits.astype(np.int64).view(np.uint64)[:, None] >> shifts) & np.uint64(15)
    letters = np.empty((len(bits), 17), np.uint8)
    letters[:, 0], letters[:, 1:] = ord("f"), _HEX[digits]
    offsets = np.arange(0, 17 * len(bits) + 1, 17, dtype=np.int32)
    return pa.StringArray.from_buffers(len(bits), pa.py_buffer(offsets), pa.py_buffer(letters.tobytes()))
