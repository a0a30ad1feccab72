"""JSON, one record a line.

What      : `json_records` takes lines apart with Python's own reader, in Arrow batches on the executors.
Idea      : JSON says of what kind each value is, and a constant's kind matters: `1`, `1.0`, `true` and `"1"` are four
            constants. So every field travels as its text and its kind, and cleaning compares kinds instead of
            guessing.
Invariant : a line is an object (fields by name) or an array (fields by position); anything else is a bad record, and
            so are nested values. Duplicate names in an object are a bad record, too.
Never     : nothing of an engine is shipped to executors; the functions need only the standard library and Arrow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tidelog.errors import PipelineError
from tidelog.language.values import is_unicode
from tidelog.pipeline.settings.config import NOT_TEXT, FactSource

KINDS = {int: "int", float: "float", bool: "bool", str: "text", type(None): "null"}
"""How kinds are called in the k columns."""


def first_keys(lines: DataFrame, source: FactSource) -> Sequence[str]:
    """The names of the fields, from the first line; for an array c1, c2, ..."""
    first = lines.where(F.trim("value") != "").first()
    if first is None:
        return ()
    try:
        content = json.loads(first["value"])
        if not isinstance(content, dict | list):
            raise TypeError("it is neither an object nor an array")
    except (ValueError, TypeError, RecursionError) as error:
        raise PipelineError.of(
            "E726",
            f"the first line of {source.relation} is not JSON with fields: {error}",
            place=source.place,
            remedy="list the columns",
        ) from error
    return list(content) if isinstance(content, dict) else [f"c{number}" for number in range(1, len(content) + 1)]


def json_records(lines: DataFrame, names: Sequence[str]) -> DataFrame:
    """Lines (value, file, is_text) as records with f1, k1, f2, k2, ..., text, file and problem."""
    fields = "".join(f"f{number} string, k{number} string, " for number in range(1, len(names) + 1))
    told = lines.where(F.trim("value") != "")
    return told.mapInArrow(_reader(tuple(names)), f"{fields}text string, file string, problem string")


def _reader(names: tuple[str, ...]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function of Arrow batches that captures nothing but the names."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            lines = zip(*(column.to_pylist() for column in batch.columns))
            rows = [(*_fields(text if is_text else None, names), text, file) for text, file, is_text in lines]
            columns: list[list[Any]] = [list(column) for column in zip(*rows)] or [
                [] for _ in range(2 * len(names) + 3)
            ]
            problems, texts, files = columns[-3:]
            yield pa.RecordBatch.from_arrays(
                [pa.array(column, pa.string()) for column in (*columns[:-3], texts, files, problems)],
                names=[
                    *(f"{kind}{number}" for number in range(1, len(names) + 1) for kind in "fk"),
                    "text",
                    "file",
                    "problem",
                ],
            )

    return read


def _fields(text: str | None, names: tuple[str, ...]) -> tuple[str | None, ...]:
    """Text and kind of each field, and at the end what is wrong; None stands for a line that cannot be decoded."""
    nothing: tuple[str | None, ...] = (None, None) * len(names)
    if text is None:
        return (*nothing, NOT_TEXT)
    try:
        content = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        return (*nothing, f"the line is not JSON: {error}")
    if isinstance(content, list):
        if len(content) != len(names):
            return (*nothing, f"the line does not have {len(names)} fields")
        values = content
    elif isinstance(content, dict):
        missing = [name for name in names if name not in content]
        if missing:
            return (*nothing, f"the line has no field {missing[0]}")
        values = [content[name] for name in names]
    else:
        return (*nothing, "the line is neither an object nor an array")
    if not all(type(value) in KINDS for value in values):
        return (*nothing, "a field is a list or an object")
    if not all(is_unicode(value) for value in values if isinstance(value, str)):
        return (*nothing, "a field is not valid Unicode: it has lone surrogates")
    return (*(part for value in values for part in _spelled(value)), None)


def _spelled(value: object) -> tuple[str | None, str]:
    if value is None:
        return None, "null"
    text = str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else repr(value)
    return text, KINDS[type(value)]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found
