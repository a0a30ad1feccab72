"""Rows of a stream as lines of an update file.

What      : `line_of` spells a row as the line that asks for the same, and says what is wrong with a row that cannot be
            spelled.
Idea      : rows and lines are one thing from here on, so that they are read, applied and rejected alike.
Invariant : a row that is no update becomes a line with a reason, or one that is refused like any other line. Bytes are
            UTF-8 or a reason; those that only order rows may be any.
Never     : no order, and no row is left out.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from tidelog.changes.strict_json import read_json
from tidelog.language.terms import Value
from tidelog.pipeline.follow.pieces import Row
from tidelog.pipeline.settings.config import NOT_TEXT, RowColumns
from tidelog.pipeline.sources.cleaning import BOOL, FLOAT, NUMBER, UNSIGNED

_LEADING = {"insert": "insert", "delete": "delete", "add_rules": "add_rules", "add_rule": "add_rules",
            "remove_rules": "remove_rules", "remove_rule": "remove_rules"}  # fmt: skip
_PATTERNS = {"number": NUMBER, "unsigned": UNSIGNED, "float": FLOAT, "bool": BOOL}
_OF_JSON = {"number": (int,), "unsigned": (int,), "float": (int, float), "bool": (bool,)}


def line_of(row: Row, columns: RowColumns | None) -> tuple[str, str | None]:
    """The text of a line, or why it has no text."""
    try:
        texts = {name: _text(value) for name, value in row.items() if _is_payload(name)}
    except UnicodeDecodeError:
        told = [_shown(value) for name, value in row.items() if _is_payload(name)]
        return json.dumps(told, ensure_ascii=False), NOT_TEXT
    if columns is None or isinstance(columns.values, str):
        return _line(texts["op"], texts["relation"], texts["values"] or "[]"), None
    found = [texts[f"v{number}"] for number in range(1, len(columns.values) + 1)]
    values, reason = _typed(found, columns.values, columns.types)
    return _spelled(texts["op"], texts["relation"], values), reason


def _line(op: str | None, relation: str | None, text: str) -> str:
    """The line for a row whose values are a JSON array."""
    try:
        values = read_json(text)
    except ValueError:
        values = None
    if not isinstance(values, list):
        return json.dumps([op, relation, text], ensure_ascii=False)
    return _spelled(op, relation, values)


def _spelled(op: str | None, relation: str | None, values: Sequence[object]) -> str:
    key = _LEADING.get(str(op), str(op))
    if key == "add_rules":
        return json.dumps({key: "\n".join(map(str, values))}, ensure_ascii=False)
    content = list(values) if key == "remove_rules" else [[relation, *values]]
    return json.dumps({key: content}, ensure_ascii=False)


def _typed(
    values: Sequence[Value | None], names: Sequence[str], types: Sequence[str] | None
) -> tuple[list[Value | None], str | None]:
    """Values as their types say, and what is wrong with the first that does not fit or is missing."""
    found: list[Value | None] = []
    reason = None
    for value, name, kind in zip(values, names, types or [""] * len(names)):
        fitting = _of_type(value, kind) if value is not None else None
        if fitting is None and reason is None:
            reason = f"{name} has no value" if value is None else f"{name} is no {kind}"
        found.append(value if fitting is None else fitting)
    return found, reason


def _of_type(value: Value, kind: str) -> Value | None:
    """A value of that type; None if it is of another type. Without a type a value is what its column holds."""
    if kind in ("", "symbol"):
        return value
    if not isinstance(value, str):
        fits = type(value) in _OF_JSON[kind] and not (kind == "unsigned" and value < 0)  # type: ignore[operator]
        return (float(value) if kind == "float" else value) if fits else None  # type: ignore[arg-type]
    if not re.match(_PATTERNS[kind], value):
        return None
    if kind == "bool":
        return value.lower() == "true"
    if kind == "float":
        return float(value) if math.isfinite(float(value)) else None
    return int(value)


def _text(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    return value.decode() if isinstance(value, bytes | bytearray) else value


def _shown(value: object) -> object:
    return bytes(value).decode(errors="backslashreplace") if isinstance(value, bytes | bytearray) else value


def _is_payload(name: str) -> bool:
    return name in ("op", "relation", "values") or name[:1] == "v"
