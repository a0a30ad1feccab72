"""Facts as text, one a line, values separated by tabs or commas.

What      : read and write Souffle's `.facts` (tabs, no quotes, no header), `.tsv` (the same) and `.csv` (quotes where
            needed, so that every string can be written).
Idea      : Arrow splits and converts; Python looks at single lines only after Arrow has refused the file, to say where.
Invariant : text has no types, so they come from the declaration; a column without one holds integers if all its values
            are, else floats if all are, else strings; where floats would round whole numbers beyond 64 bits, which are
            more likely names than amounts, the user has to say which it is. What is written reads back alike under its
            declared types.
Never     : no guessing of dates, booleans or missing values, as an empty field is the empty string.

Codes: E304 a whole number beyond 64 bits, E306 a line that does not fit, E308 a value that the format cannot hold.
"""

from __future__ import annotations

import csv
import io
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from tidelog.changes.columns import Columns, normalise_column
from tidelog.changes.fact_sources import column_name
from tidelog.changes.opening import is_empty, is_packed, opened
from tidelog.errors import Place, Problem, UpdateError

_TYPES = {
    "number": pa.int64(),
    "unsigned": pa.uint64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "symbol": pa.large_string(),
}
_SHOWN = 200
_EITHER = "declare the column symbol to keep its digits, or float for the nearest floats"


def _text(text: str) -> pa.Scalar:
    """A string for Arrow's functions. Arrow's own way to make one imports pandas, which takes half a second."""
    data = text.encode()
    ends = struct.pack("=qq", 0, len(data))
    return pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(ends), pa.py_buffer(data)])[0]


_QUOTE, _NOTHING = _text('"'), _text("")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the lines of a file are built."""

    delimiter: str
    quoted: bool
    header: bool = False


def read_delimited(path: Path, relation: str, types: Sequence[str] | None, layout: Layout) -> Columns:
    """The facts in a file; `types` are the declared column types (`any`: infer), None if there is no declaration."""
    width = _width(path, layout) if types is None else len(types)
    if width == 0:
        return Columns((), int(types is not None and not is_empty(path)))
    declared = ["any"] * width if types is None else list(types)
    table = _read_strings(path, relation, declared, layout)
    columns = []
    for number, (column, kind) in enumerate(zip(table.columns, declared), 1):
        try:
            typed = _typed(column, kind)
            if kind not in _TYPES and pa.types.is_floating(typed.type) and (found := _beyond(column)) is not None:
                sentence = f"{column_name(relation, number)}: the whole number {column[found]} is beyond 64 bits"
                raise _refused(path, sentence, _line_of(path, layout, found, width), _EITHER, "E304")
            columns.append(normalise_column(typed, column_name(relation, number)))
        except pa.ArrowInvalid as error:
            bad = _first_bad(column, _TYPES[kind])
            sentence = f"{column_name(relation, number)} is a {kind}, not {column[bad].as_py()!r}"
            remedy = "correct the value, or declare another type"
            raise _refused(path, sentence, _line_of(path, layout, bad, width), remedy) from error
    return Columns(tuple(columns), table.num_rows)


def write_delimited(path: Path, table: pa.Table, rows: int, layout: Layout) -> None:
    """Write a table; refused if a string cannot be told from the separators. Without columns a row is `()`."""
    columns = [_spelled(column, layout, name) for name, column in zip(table.column_names, table.columns)]
    heading = layout.delimiter.join(table.column_names) + "\n" if layout.header else ""
    with path.open("wb") as file:
        file.write(heading.encode())
        if not columns:
            file.write(b"()\n" * rows)
            return
        _check_mark(columns[0], layout)
        lines = pc.binary_join_element_wise(*columns, _text(layout.delimiter))
        ended = pc.binary_join_element_wise(lines, _NOTHING, _text("\n"))
        for chunk in ended.chunks:
            file.writelines(_bytes(chunk))


def _check_mark(column: pa.ChunkedArray, layout: Layout) -> None:
    """Refuse a file that would begin with a byte order mark: a reader takes the mark for no part of its text."""
    if not (layout.quoted or layout.header) and len(column) and column[0].as_py().startswith("\ufeff"):
        sentence = "the first string begins with a byte order mark, which this format cannot hold there"
        raise UpdateError.of("E308", sentence, remedy="write .csv, .jsonl or .parquet")


def _read_strings(path: Path, relation: str, declared: Sequence[str], layout: Layout) -> pa.Table:
    """The file as a table of strings."""
    names = [f"c{number}" for number in range(len(declared))]
    if is_empty(path):
        return pa.table({name: pa.array([], pa.large_string()) for name in names})
    reading = (
        arrow_csv.ReadOptions(column_names=names, skip_rows=int(layout.header)),
        arrow_csv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char='"' if layout.quoted else False,
            newlines_in_values=layout.quoted,
            ignore_empty_lines=_skips_empty_lines(declared, layout),
        ),
        arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string()), strings_can_be_null=False),
    )
    try:
        if not is_packed(path):
            return arrow_csv.read_csv(path, *reading)
        with opened(path) as stream:
            return arrow_csv.read_csv(stream, *reading)
    except pa.ArrowInvalid as error:
        for line, fields in _records(path, layout):
            if len(fields) != len(declared):
                sentence = f"{relation} has {len(declared)} columns, the line has {len(fields)}"
                raise _refused(path, sentence, line, "correct the line") from error
        raise _refused(path, f"the file cannot be read: {error}", 1, "check its encoding and separators") from error


def _skips_empty_lines(declared: Sequence[str], layout: Layout) -> bool:
    """An empty line says nothing, but in a single column of unquoted symbols it is the empty string."""
    return layout.quoted or list(declared) != ["symbol"]


def _typed(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """Strings as what is declared, or as what they all look like."""
    if kind in _TYPES:
        return pc.cast(column, _TYPES[kind])
    for target in (pa.int64(), pa.float64()):
        try:
            numbers = pc.cast(column, target)
        except pa.ArrowInvalid:
            continue
        if pc.all(pc.is_finite(numbers)).as_py() is not False and len(column):
            return numbers
    return column


def _beyond(column: pa.ChunkedArray) -> int | None:
    """The position of the first whole number that no 64 bits hold, among texts that are all numbers."""
    is_whole = pc.match_substring_regex(column, r"^[+-]?\d+$").combine_chunks()
    places = pc.indices_nonzero(is_whole)
    numbers = pa.chunked_array([pc.replace_substring_regex(column.combine_chunks().take(places), r"^\+", "")])
    try:
        pc.cast(numbers, pa.int64())
    except pa.ArrowInvalid:
        return int(places[_first_bad(numbers, pa.int64())].as_py())
    return None


def _first_bad(column: pa.ChunkedArray, target: pa.DataType) -> int:
    """The position of the first string that is no `target`, by bisection."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            pc.cast(column.slice(low, middle - low), target)
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def _width(path: Path, layout: Layout) -> int:
    """The number of columns of the first line; 0 if there is none."""
    return len(next(_records(path, layout), (0, ()))[1])


def _records(path: Path, layout: Layout) -> Iterator[tuple[int, Sequence[str]]]:
    """Lines that are not empty, header excluded, with their numbers and fields."""
    with opened(path) as stream:
        file = io.TextIOWrapper(stream, "utf-8-sig", "replace", "" if layout.quoted else None)
        if layout.quoted:
            reader = csv.reader(file, delimiter=layout.delimiter)
            found = ((reader.line_num, fields) for fields in reader)
        else:
            found = ((line, text.rstrip("\n").split(layout.delimiter)) for line, text in enumerate(file, 1))
        for line, fields in found:
            if fields and fields != [""] and not (layout.header and line == 1):
                yield line, fields


def first_records(path: Path, layout: Layout) -> Iterator[Sequence[str]]:
    """The records of a file, one by one, as lists of fields."""
    return (fields for _, fields in _records(path, layout))


def _line_of(path: Path, layout: Layout, row: int, width: int) -> int:
    """The line on which a record ends; `row` counts records from 0."""
    for number, (line, fields) in enumerate(_records(path, layout)):
        if number == row and len(fields) == width:
            return line
    return 1


def _refused(path: Path, sentence: str, line: int, remedy: str, code: str = "E306") -> UpdateError:
    text = None
    with opened(path) as stream:
        for number, found in enumerate(io.TextIOWrapper(stream, "utf-8", "replace"), 1):
            if number == line:
                text = found.rstrip("\n") if len(found) <= _SHOWN else None
                break
    return UpdateError(Problem(code, sentence, Place(str(path), line, 1, text), remedy))


def _spelled(column: pa.ChunkedArray, layout: Layout, name: str) -> pa.ChunkedArray:
    """A column as the strings to write."""
    if pa.types.is_union(column.type):
        spelled = [_spell(value) for value in column.to_pylist()]
        column = pa.chunked_array([pa.array(spelled, pa.large_string())])
    elif pa.types.is_floating(column.type):
        text = pc.cast(column, pa.large_string())
        return pc.replace_substring_regex(text, r"^(-?\d+)$", r"\1.0")
    elif not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return pc.cast(column, pa.large_string())
    column = pc.cast(column, pa.large_string())
    if layout.quoted:
        doubled = pc.replace_substring(column, '"', '""')
        return pc.binary_join_element_wise(_QUOTE, doubled, _QUOTE, _NOTHING)
    if pc.any(pc.match_substring_regex(column, f"[{re.escape(layout.delimiter)}\r\n]")).as_py():
        raise UpdateError.of(
            "E308",
            f"a string in column {name} contains a separator or the end of a line, which this format cannot hold",
            remedy="write .csv, .jsonl or .parquet",
        )
    return column


def _spell(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bytes(chunk: pa.Array) -> Iterator[memoryview]:
    """The bytes of all strings of a chunk, one after the other, as they lie in memory."""
    if len(chunk):
        _, bounds, data = chunk.buffers()
        ends = memoryview(bounds).cast("q")
        yield memoryview(data)[ends[chunk.offset] : ends[chunk.offset + len(chunk)]]
