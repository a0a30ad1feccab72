"""Facts in files.

What      : read the facts of relations from a directory, one file each, and write them back.
Idea      : the file's name is the relation, its ending the format: `.facts`, `.tsv`, `.csv`, `.parquet`, `.jsonl`.
Invariant : a file is written wholly or not at all (beside its place, then renamed); a bad line is refused with file and
            line. JSON lines and Parquet keep types; text formats take them from declarations (delimited.py).
Never     : a relation's name never leads out of the directory.

Codes: E306 a line that does not fit, E307 a file that is missing, ambiguous or of no known format, E308 a value that
the format cannot hold.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidelog.changes import json_terms
from tidelog.changes.columns import Columns, plain
from tidelog.changes.delimited import Layout, read_delimited, write_delimited
from tidelog.changes.fact_sources import column_name, to_table, wrong_arity
from tidelog.changes.folders import folder_name
from tidelog.changes.opening import PACKED, is_file, no_file, opened, plain_ending
from tidelog.changes.strict_json import read_json
from tidelog.errors import Place, Problem, UpdateError

ENDINGS = (".facts", ".tsv", ".csv", ".parquet", ".jsonl", ".ndjson")

_TEXT = (".facts", ".tsv", ".csv")
_LONGEST_NAME = 200
"""In bytes: file systems take 255, and endings need room."""

Types = Sequence[str] | None


def read_facts(directory: str | Path, relations: Mapping[str, Types], *, header: bool = False) -> dict[str, Columns]:
    """The facts of those relations that have a file in the directory; the values are declared column types or None."""
    found: dict[str, Columns] = {}
    for relation, types in relations.items():
        path = find_file(directory, relation)
        if path is not None:
            found[relation] = read_file(path, relation, types, header=header)
    return found


def find_file(directory: str | Path, relation: str) -> Path | None:
    """The file that holds a relation, or None; two of them are refused."""
    _check_name(relation)
    names = [f"{relation}{ending}" for ending in ENDINGS]
    names += [f"{relation}{ending}{packing}" for ending in ENDINGS if ending != ".parquet" for packing in PACKED]
    found = [path for path in (Path(directory) / name for name in names) if is_file(path)]
    if len(found) > 1:
        both = " and ".join(path.name for path in found)
        raise UpdateError.of("E307", f"both {both} hold facts of {relation}", remedy="leave one of them")
    return found[0] if found else None


def read_file(
    path: str | Path,
    relation: str,
    types: Types = None,
    *,
    header: bool = False,
    delimiter: str | None = None,
    quoted: bool | None = None,
) -> Columns:
    """The facts in one file, whose ending says the format; a `delimiter` makes it text, whatever the ending.

    `quoted` says whether quotes are taken off values (else by the ending: in `.csv` they are).
    """
    path = Path(path)
    if not is_file(path):
        raise no_file(path, f"give a file with the facts of {relation}")
    ending = plain_ending(path)
    if delimiter is not None or quoted is not None or ending in _TEXT:
        return read_delimited(path, relation, types, _layout(ending, header, delimiter, quoted))
    arity = None if types is None else len(types)
    if ending == ".parquet":
        return to_table(_read_parquet(path), relation, arity)
    if ending in (".jsonl", ".ndjson"):
        return _read_json_lines(path, relation, arity)
    raise _unknown_ending(path)


def write_facts(
    directory: str | Path, tables: Mapping[str, pa.Table | Columns], ending: str = ".csv", *, header: bool = False
) -> list[Path]:
    """Write every relation to a file of its own in the directory, which is made if it is not there."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    paths = []
    for relation, table in tables.items():
        _check_name(relation)
        paths.append(write_file(Path(directory) / f"{relation}{ending}", table, header=header))
    return paths


def write_file(
    path: str | Path,
    facts: pa.Table | Columns,
    *,
    header: bool = False,
    delimiter: str | None = None,
    quoted: bool | None = None,
) -> Path:
    """Write facts in the format that the path's ending says; an old file stays whole until the new one is.

    A `delimiter`, or whether texts are `quoted`, makes it text, whatever the ending.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.partial")
    try:
        layout = _layout(path.suffix.lower(), header, delimiter, quoted)
        is_text = delimiter is not None or quoted is not None or path.suffix.lower() in _TEXT
        _write(partial, path.suffix.lower(), facts, layout if is_text else None)
        os.replace(partial, path)  # noqa: PTH105 - replaces on every system
    finally:
        partial.unlink(missing_ok=True)
    return path


def _write(path: Path, ending: str, facts: pa.Table | Columns, layout: Layout | None) -> None:
    table = facts.to_arrow() if isinstance(facts, Columns) else facts
    if layout is not None:
        write_delimited(path, table, len(facts), layout)
    elif ending in (".jsonl", ".ndjson"):
        _write_json_lines(path, table, len(facts))
    elif ending == ".parquet":
        if not table.columns or any(pa.types.is_union(column.type) for column in table.columns):
            raise UpdateError.of("E308", "Parquet needs columns, of one type each", remedy="write .jsonl")
        from pyarrow import parquet

        parquet.write_table(table, path)
    else:
        raise _unknown_ending(path)


def _layout(ending: str, header: bool, delimiter: str | None, quoted: bool | None = None) -> Layout:
    is_quoted = ending == ".csv" if quoted is None else quoted
    return Layout(delimiter or ("," if is_quoted else "\t"), is_quoted, header)


def _read_parquet(path: Path) -> pa.Table:
    try:
        from pyarrow import parquet  # not at the top: it takes a tenth of a second

        return parquet.read_table(path)
    except pa.ArrowInvalid as error:
        raise UpdateError.of("E306", f"{path} is not Parquet: {error}", remedy="write the file again") from error


def _read_json_lines(path: Path, relation: str, arity: int | None) -> Columns:
    """Every line is a JSON array of values, or an object whose keys are those of the first line."""
    rows: list[tuple[Any, ...]] = []
    keys: list[str] | None = None
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                content = read_json(line)
                if isinstance(content, dict):
                    keys = keys or list(content)
                    content = [content[key] for key in keys]
                rows.append(_checked(content, relation, len(rows[0]) if rows else arity, number))
            except (ValueError, KeyError, TypeError) as error:
                place = Place(str(path), number, 1)
                problem = Problem("E306", f"the line holds no fact of {relation}", place, 'write ["a", 1] or {"x": 1}')
                raise UpdateError(problem) from error
            except UpdateError as error:
                place = Place(str(path), number, 1)
                raise UpdateError(Problem(p.code, p.sentence, place, p.remedy) for p in error.problems) from error
    return to_table(rows, relation, arity)


def _checked(content: object, relation: str, arity: int | None, line: int) -> tuple[Any, ...]:
    """One line's values as constants."""
    if not isinstance(content, list):
        raise TypeError(content)
    if arity is not None and len(content) != arity:
        raise wrong_arity(relation, arity, len(content))
    values = map(json_terms.from_json, content)
    return tuple(plain(value, column_name(relation, number), line) for number, value in enumerate(values, 1))


def _write_json_lines(path: Path, table: pa.Table, rows_without_columns: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        if not table.columns:
            file.write("[]\n" * rows_without_columns)
        for batch in table.to_batches(max_chunksize=65536):
            rows = zip(*(column.to_pylist() for column in batch.columns))
            file.writelines(
                json.dumps([*map(json_terms.to_json, row)], ensure_ascii=False, allow_nan=False) + "\n" for row in rows
            )


def file_names(relations: Collection[str]) -> dict[str, str]:
    """A name for the file of each relation: its own, or another one if no file can have that."""
    encoded = {relation: folder_name(relation, _LONGEST_NAME) for relation in relations}
    names = {relation: relation if _can_be_file(relation) else name for relation, name in encoded.items()}
    return names if len(set(names.values())) == len(names) else encoded


def _can_be_file(relation: str) -> bool:
    is_long = len(relation.encode(errors="replace")) > _LONGEST_NAME
    return not is_long and Path(relation).name == relation and "\0" not in relation and relation not in ("", ".", "..")


def _check_name(relation: str) -> None:
    is_long = len(relation.encode(errors="replace")) > _LONGEST_NAME
    if not _can_be_file(relation):
        shown = repr(relation[:_LONGEST_NAME]) + ("..." if is_long else "")
        raise UpdateError.of(
            "E307", f"{shown} cannot be the name of a file", remedy="rename the relation, or give a file for it"
        )


def _unknown_ending(path: Path) -> UpdateError:
    return UpdateError.of("E307", f"{path.name}: no such format", remedy=f"use one of {', '.join(ENDINGS)}")
