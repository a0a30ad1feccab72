"""Columns of constants: the one shape in which facts travel in bulk.

What      : `Columns` (facts of one relation, column by column), and the checks that turn any Arrow array or any Python
            value into constants.
Idea      : a column of one type is an Arrow array of int64, double, bool or large_string (or a dictionary of those),
            never one Python object per value; only a column that mixes types, or of a few facts, is a list.
Invariant : after `normalise` and `plain` there are no nulls, no NaN, no infinities, no -0.0 and no integers beyond 64
            bits; what cannot be a constant is refused with its column and row. Rows are counted from 1.
Never     : no relation is looked up and no id is given here (see backends).

Codes: E301 wrong number of columns, E302 missing value, E303 a type that is no constant, E304 value out of range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from tidelog.changes import buffers
from tidelog.changes.term_arrays import is_term_type, terms_to_arrow
from tidelog.errors import UpdateError
from tidelog.language.rdf_terms import RdfTerm
from tidelog.language.terms import Value
from tidelog.language.values import INT_MAX, INT_MIN

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = pa.Array | pa.ChunkedArray | list[Value]

_SCALARS = "biufU"
_SAMPLED = 1000
"""How many texts of a column are looked at to see whether they repeat."""
"""The kinds of NumPy's constants. Dates and durations are left out, though `item` would make integers of some."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Facts of one relation, column by column. A relation without columns has `rows` 0 or 1."""

    columns: tuple[Column, ...]
    rows: int

    @property
    def arity(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        """The facts as Python tuples; for small collections, tests and error messages."""
        if not self.columns:
            return iter([()] * self.rows)
        return zip(*(column if isinstance(column, list) else column.to_pylist() for column in self.columns))

    def parts(self, rows: int) -> Iterable[Columns]:
        """The facts in parts of at most that number of rows."""
        if self.rows <= rows:
            return (self,)
        cuts = [slice(start, start + rows) for start in range(0, self.rows, rows)]
        return (
            Columns(tuple(column[cut] for column in self.columns), min(rows, self.rows - cut.start)) for cut in cuts
        )

    def to_arrow(self) -> pa.Table:
        """An Arrow table with columns c1, c2, ...; a column of mixed types becomes a dense union."""
        arrays = [_to_arrow(column) if isinstance(column, list) else column for column in self.columns]
        return pa.table(arrays, names=[f"c{number}" for number in range(1, len(arrays) + 1)])


def normalise(array: pa.Array, where: str = "the column", first_row: int = 1) -> pa.Array:
    """An Arrow array as int64, double, bool or large_string constants (or a dictionary or dense union of them)."""
    kind = array.type
    _check_memory(array, where, first_row)
    if array.null_count:
        row = first_row + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise missing(where, row)
    if is_term_type(kind):
        return array
    if pa.types.is_integer(kind):
        return _integers(array, where, first_row)
    if pa.types.is_floating(kind):
        return _floats(array, where, first_row)
    if pa.types.is_boolean(kind):
        return array
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return array if pa.types.is_large_string(kind) else array.cast(pa.large_string())
    if pa.types.is_null(kind):
        return pa.nulls(0, pa.int64())
    return _nested(array, where, first_row)


def normalise_column(
    column: pa.Array | pa.ChunkedArray, where: str = "the column", first_row: int = 1
) -> pa.ChunkedArray:
    """`normalise` for a column in chunks; the chunks get one type."""
    chunks, first = [], first_row
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        chunks.append(normalise(chunk, where, first))
        first += len(chunk)
    if len({chunk.type for chunk in chunks}) > 1:
        chunks = [chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk for chunk in chunks]
    return pa.chunked_array(chunks, None if chunks else pa.int64())


def plain(value: object, where: str = "the column", row: int = 1) -> Value:
    """A Python value as a constant: exactly int, float, str or bool, in range."""
    if isinstance(value, np.generic) and value.dtype.kind in _SCALARS:
        value = value.item()
    match value:
        case bool():
            return value
        case int():
            if not INT_MIN <= value <= INT_MAX:
                raise out_of_range(where, row, "the integer is beyond 64 bits", "use a float or a string")
            return int(value)
        case float():
            if not math.isfinite(value):
                raise out_of_range(where, row, f"{value} is no constant", "leave the fact out, or use a string")
            return float(value) + 0.0
        case str():
            if type(value).__module__.partition(".")[0] == "rdflib":  # its IRIs and literals would become plain texts
                remedy = "give terms of tidelog.rdf, or whole graphs by tidelog.rdf.facts"
                raise UpdateError.of("E303", f"{where} has a term of rdflib in row {row}", remedy=remedy)
            return _text(value, where, row)
        case RdfTerm():
            return value
        case None:
            raise missing(where, row)
        case _:
            raise unsupported(where, type(value).__name__, row)


def from_values(values: Sequence[object], where: str = "the column", first_row: int = 1) -> Column:
    """Python values as a column: an Arrow array when all have one type, a checked list otherwise."""
    types = set(map(type, values))
    if types and all(issubclass(kind, RdfTerm) for kind in types):
        return terms_to_arrow(values)
    if len(types) == 1:
        [kind] = types
        if kind in buffers.TYPES:
            try:
                return normalise(buffers.values_array(values, kind), where, first_row)
            except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
                pass  # one by one, which tells the row
    return few_values(values, where, first_row)


def few_values(values: Sequence[object], where: str, first_row: int = 1) -> Column:
    """A handful of Python values as a column: checked one by one, which takes less time than an Arrow array."""
    return [plain(value, where, row) for row, value in enumerate(values, first_row)]


def joined(parts: Sequence[Column]) -> Column:
    """Parts of one column under each other."""
    if len(parts) == 1:
        return parts[0]
    types = {None if isinstance(part, list) else part.type for part in parts}
    if len(types) == 1 and None not in types:
        chunks = [chunk for part in parts for chunk in (part.chunks if isinstance(part, pa.ChunkedArray) else [part])]
        return pa.chunked_array(chunks)
    return [value for part in parts for value in (part if isinstance(part, list) else part.to_pylist())]


def _to_arrow(values: list[Value]) -> pa.Array:
    """Checked values as an Arrow array, a dense union if they mix types."""
    column = from_values(values)
    return mixed_to_arrow(column) if isinstance(column, list) else column


def mixed_to_arrow(values: Sequence[Value]) -> pa.Array:
    """Constants that may mix types as a dense union, which keeps the types apart."""
    parts: dict[type, list[Value]] = {kind: [] for kind in (*buffers.TYPES, RdfTerm)}
    codes, offsets = [], []
    numbers = {kind: number for number, kind in enumerate(parts)}
    for value in values:
        kind = RdfTerm if isinstance(value, RdfTerm) else type(value)
        codes.append(numbers[kind])
        offsets.append(len(parts[kind]))
        parts[kind].append(value)
    arrays = [buffers.values_array(part, kind) for kind, part in parts.items() if kind in buffers.TYPES]
    arrays.append(terms_to_arrow(parts[RdfTerm]))
    names = [*(kind.__name__ for kind in buffers.TYPES), "term"]
    kinds = buffers.numbers(np.array(codes, np.int8), pa.int8())
    places = buffers.numbers(np.array(offsets, np.int32), pa.int32())
    return pa.UnionArray.from_dense(kinds, places, arrays, names)


def to_frame(table: pa.Table) -> pd.DataFrame:
    """An Arrow table as a pandas frame; terms and mixed types become Python objects."""
    import pandas as pd

    def is_plain(kind: pa.DataType) -> bool:
        return not (is_term_type(kind) or pa.types.is_union(kind))

    if all(is_plain(kind) for kind in table.schema.types):
        return table.to_pandas(deduplicate_objects=any(map(_repeats_texts, table.columns)))
    columns = zip(table.schema.names, table.columns)
    return pd.DataFrame(
        {
            name: col.to_pandas() if is_plain(col.type) else pd.Series(col.to_pylist(), dtype=object)
            for name, col in columns
        }
    )


def _repeats_texts(column: pa.ChunkedArray) -> bool:
    """Whether texts of a column occur often, by a sample: only then it pays to make one Python object of equal ones."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)) or not len(column):
        return False
    sample = column.take(pa.array(range(0, len(column), max(len(column) // _SAMPLED, 1))))
    return bool(2 * len(sample.unique()) < len(sample))


def missing(where: str, row: int) -> UpdateError:
    """The error for a null."""
    return UpdateError.of(
        "E302", f"{where} has no value in row {row}", remedy="leave the fact out, or use a constant for unknown"
    )


def unsupported(where: str, kind: str, row: int | None = None) -> UpdateError:
    """The error for a type that is no constant."""
    place = "" if row is None else f" in row {row}"
    return UpdateError.of(
        "E303", f"{where} has the type {kind}{place}", remedy="cast it to an integer, float, bool or string"
    )


def out_of_range(where: str, row: int, sentence: str, remedy: str) -> UpdateError:
    """The error for a value of a right type that is no constant."""
    return UpdateError.of("E304", f"{where}, row {row}: {sentence}", remedy=remedy)


def _text(value: str, where: str, row: int) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise out_of_range(where, row, "the string is not valid Unicode", "remove the lone surrogates") from error
    return str.__str__(value)  # a subclass may print as something else


def _check_memory(array: pa.Array, where: str, first_row: int) -> None:
    """Refuse an array that is not what its type says: bounds that lead out of its memory, or bytes that are no text."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        row = first_row + _first_bad(array)
        raise out_of_range(where, row, f"the array is damaged: {error}", "make it anew, with texts in UTF-8") from error


def _first_bad(array: pa.Array) -> int:
    """The position of the first value that makes an array invalid, by bisection."""
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            array.slice(low, middle - low).validate(full=True)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def _integers(array: pa.Array, where: str, first_row: int) -> pa.Array:
    if pa.types.is_int64(array.type):
        return array
    try:
        return array.cast(pa.int64())
    except pa.ArrowInvalid as error:
        row = first_row + int(np.argmax(array.to_numpy() > np.uint64(INT_MAX)))
        raise out_of_range(where, row, "the integer is beyond 64 bits", "use a float or a string") from error


def _floats(array: pa.Array, where: str, first_row: int) -> pa.Array:
    values: np.ndarray[Any, Any] = np.asarray(buffers.memory(array), np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        at = int(np.argmin(finite))
        raise out_of_range(where, first_row + at, f"{values[at]} is no constant", "leave the fact out, or use a string")
    return buffers.numbers(values + 0.0, pa.float64())


def _nested(array: pa.Array, where: str, first_row: int) -> pa.Array:
    """Dictionaries, run-ends and dense unions: their parts are normalised; every other type is refused."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        if array.dictionary.null_count or len(array.dictionary) > len(array):
            return normalise(array.dictionary_decode(), where, first_row)
        return pa.DictionaryArray.from_arrays(array.indices, normalise(array.dictionary, where, first_row))
    if pa.types.is_run_end_encoded(kind):
        from pyarrow.compute import run_end_decode  # not at the top: pyarrow.compute takes a tenth of a second

        return normalise(run_end_decode(array), where, first_row)
    if pa.types.is_union(kind) and kind.mode == "dense":
        return _dense_union(array, where, first_row)
    raise unsupported(where, str(kind))


def _dense_union(array: pa.Array, where: str, first_row: int) -> pa.Array:
    """A dense union of normalised parts. Codes and offsets come from the buffers: pyarrow's ignore slicing."""
    kind, (_, codes, offsets, *_) = array.type, array.buffers()
    parts = [normalise(array.field(number), where, first_row) for number in range(kind.num_fields)]
    return pa.UnionArray.from_dense(
        buffers.numbers(np.frombuffer(codes, np.int8)[array.offset : array.offset + len(array)], pa.int8()),
        buffers.numbers(np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array)], pa.int32()),
        parts,
        type_codes=kind.type_codes,
    )
