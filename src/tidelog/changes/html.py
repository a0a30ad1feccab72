"""Engines, changes and proofs as HTML, for notebooks.

What      : functions that turn what a user holds into a fragment of HTML: tables cut with a count, trees that fold.
Idea      : a notebook shows the value of a cell; a table of facts says more than a count, and a proof is a tree.
Invariant : everything that comes from facts or rules is escaped; a fragment has no script, no style sheet and no link.
Never     : no more facts are read than are shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from tidelog.changes.tables import html_table
from tidelog.language.terms import Value

_FEW = 5


def lines_html(text: str) -> str:
    """Lines of text as they stand."""
    return f"<pre>{escape(text)}</pre>"


def folded(title: str, content: str, *, is_open: bool = False) -> str:
    """A title with something under it that can be folded away."""
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{content}</details>"


def change_html(title: str, sides: Iterable[tuple[str, Mapping[str, Iterable[Sequence[Value]]]]]) -> str:
    """A change: for each sign and relation the first facts, and how many there are."""
    parts = []
    for sign, tables in sides:
        for relation, table in tables.items():
            size = len(table)  # type: ignore[arg-type]
            width = len(next(iter(table), ()))
            names = [f"c{number}" for number in range(1, width + 1)]
            parts.append(
                folded(f"{sign}{size:,} {relation}", html_table(names, table, size, _FEW), is_open=size <= _FEW)
            )
    return f"<div><p><b>{escape(title)}</b></p>{''.join(parts)}</div>"
