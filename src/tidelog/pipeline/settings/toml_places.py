"""Where a key stands in a TOML file.

What      : `Places` finds the line of a key such as `sources.edge.format`, so that a complaint can point at it.
Idea      : the standard reader gives values without places; a second, much simpler look at the lines finds headers and
            keys. It need not understand values: a key that it cannot see is answered with the nearest table above it.
Invariant : every question has an answer; for keys written plainly (`key = value` under a header) it is exact.
Never     : no value is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidelog.errors import Place

Key = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""([\w-]+)|"([^"]*)"|'([^']*)'""")


class Places:
    """The lines of one file, and the keys that begin on them."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._lines = text.split("\n")  # as TOML counts lines
        self._found = dict(_keys(self._lines))

    def of(self, *key: str | int) -> Place:
        """The place of a key, or of the nearest table that encloses it; the first line if there is none."""
        for length in range(len(key), 0, -1):
            if key[:length] in self._found:
                return self.at(*self._found[key[:length]])
        return self.at(1, 1)

    def at(self, line: int, column: int) -> Place:
        """A place by its numbers, with the line's text."""
        line = min(max(line, 1), len(self._lines))
        return Place(self._source, line, column, self._lines[line - 1].rstrip())


def _keys(lines: list[str]) -> Iterator[tuple[Key, tuple[int, int]]]:
    """Every header and key with its line and column; tables of one array are numbered from 0."""
    table: Key = ()
    counts: dict[Key, int] = {}
    for number, line in enumerate(lines, 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header and not key:
            table = _parts(header[2])
            if header[1] == "[[":
                index = counts.get(table, 0)
                counts[table] = index + 1
                table = (*table, index)
            yield table, (number, header.start(1) + 1)
        elif key:
            parts = _parts(key[1])
            yield (*table, *parts), (number, key.start(1) + 1)
            for length in range(1, len(parts)):
                yield (*table, *parts[:length]), (number, key.start(1) + 1)


def _parts(dotted: str) -> Key:
    return tuple(bare or double or single for bare, double, single in _PART.findall(dotted))
