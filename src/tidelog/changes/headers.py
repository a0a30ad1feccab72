"""Does a file begin with the names of its columns?

What      : `looks_like_header` judges the first record of a text file that is read as a fact.
Idea      : a header gives itself away: it repeats the declared names, or stands above a column of numbers without being
            one, or uses the words that people use for columns and that do not occur again below.
Invariant : only the first lines are looked at.
Never     : a line is never left out because of this; the user is told (W302).
"""

from __future__ import annotations

from collections.abc import Sequence

_WORDS = {
    *("id", "name", "key", "value", "source", "target", "src", "dst", "from", "to", "start", "end", "parent", "child"),
    *("subject", "predicate", "object", "type", "kind", "label", "weight", "count", "amount", "date", "time", "year"),
    *("node", "user", "group", "role", "email", "price", "quantity", "total"),
}
_LEAST = 2


def looks_like_header(first: Sequence[str], below: Sequence[Sequence[str]], declared: Sequence[str] = ()) -> bool:
    """Whether the first record is likely a header, given some records below it and the declared column names."""
    words = [field.strip().lower() for field in first]
    if not words or any(_is_number(field) or not field for field in words):
        return False
    if [name.lower() for name in declared] == words:
        return True
    rows = [row for row in below if len(row) == len(words)]
    columns = list(zip(*rows)) if rows else []
    if any(all(map(_is_number, column)) for column in columns):
        return True
    again = any(word in {field.strip().lower() for field in column} for word, column in zip(words, columns))
    return len(rows) >= _LEAST and not again and sum(word.split("_")[-1] in _WORDS for word in words) == len(words)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
