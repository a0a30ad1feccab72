"""Tables for people: rows of constants as lines of text or as HTML.

What      : `text_table` and `html_table`, cut after some rows with a word about the rest; `shown` spells a value.
Idea      : numbers stand on the right, texts on the left without quotes. A text that could be taken for something else
            (a number, `true`, nothing, a line break) is quoted, so that `1` and `"1"` stay apart.
Invariant : whatever a value holds, it stays on its line, gives the terminal no orders and is escaped in HTML.
Never     : no more rows are read than are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from tidelog.language.lexemes import spell_string, spell_value
from tidelog.language.terms import Value

_AMBIGUOUS = re.compile(r'[-+.\d"]|true$|false$|$|\s|.*\s$')
_WIDEST = 60
ROWS = 20
"""How many rows a page in a notebook shows."""


def shown(value: Value) -> str:
    """A value in a cell; a text without quotes where nobody can take it for something else."""
    if not isinstance(value, str):
        return spell_value(value)
    text = spell_string(value) if not value.isprintable() or _AMBIGUOUS.match(value) else value
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def text_table(columns: Sequence[str], rows: Iterable[Sequence[Value]], total: int, limit: int | None = None) -> str:
    """A table as aligned lines: headings, rows, and how many there are."""
    few = [tuple(row) for row in islice(rows, limit)]
    if not columns:
        return "yes" if total else "no"
    cells = [tuple(shown(name) for name in columns), *(tuple(map(shown, row)) for row in few)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    is_number = [bool(few) and all(type(row[at]) in (int, float) for row in few) for at in range(len(columns))]
    lines = [
        "  ".join(cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, is_number)).rstrip()
        for row in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, _total(total, len(few))])


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Value]], total: int, limit: int = ROWS) -> str:
    """A table for a notebook."""
    few = list(islice(rows, limit))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(shown(value))}</td>' for value in row)}</tr>" for row in few)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if columns else ""
    return f"<div>{table}<p>{_total(total, len(few)) if columns else 'yes' if total else 'no'}</p></div>"


def _total(total: int, given: int) -> str:
    """How many rows there are, and how many of them are not shown."""
    more = f", {total - given:,} more not shown" if total > given else ""
    return f"({total:,} row{'' if total == 1 else 's'}{more})"
