"""Micro-batches become updates.

What      : `parts_of` takes a micro-batch apart, in the order of its files and lines; `Waiting` holds the next parts.
Idea      : Spark brings the files that are waiting, in no order that could be relied on among files of one moment;
            inside a micro-batch we go by name. A line is a transaction: if one of its facts is bad, all of it is
            rejected. The lines of a part (a file, or as many as `files_per_batch` says) are settled together, with
            `latest` those of all parts that wait (settling.py). A part is cut before its lines have more than
            MOST_BYTES, so that neither a large file nor a large micro-batch is ever held as a whole. Rows that nothing
            orders among each other may come in another order when the micro-batch comes again; no part is cut between
            them, and a part that has such rows is stored as a whole or not at all.
Invariant : every line that is not blank is an update or a reject, in its place. Same micro-batch, same parts. At most
            MOST_BYTES of lines are held, or one line, or the rows that nothing orders, or one part that is worked on
            and the next one.
Never     : nothing is applied here.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice

from pyspark.sql import DataFrame

from tidelog.changes.update import Update, net, read_update
from tidelog.errors import TidelogError
from tidelog.pipeline.follow.pieces import Row, have_places, rank, rows_in_order
from tidelog.pipeline.follow.rows import line_of
from tidelog.pipeline.settings.config import NOT_TEXT, UpdateSource
from tidelog.pipeline.sources.rejects import Reject, readable

MOST_BYTES = 16 << 20
"""The most bytes of the lines of a part: in memory they take some ten times as much."""

_SOURCE = "updates"
_PLACED = ("jsonl", "parquet")
"""Formats whose `file` and `o1` are places already."""
_BLANK = b" \t\r"
Found = tuple["str | bytes", str, int, "str | None"]
"""A line, its file and its number, and why it is no update if that is known."""


@dataclass(frozen=True, slots=True)
class Line:
    """One transaction of a batch, and where it stood."""

    update: Update
    file: str
    number: int
    text: str

    def reject(self, reason: str) -> Reject:
        """The line as a reject."""
        return Reject(_SOURCE, self.file, self.number, self.text, reason)


@dataclass(frozen=True, slots=True)
class Part:
    """What is settled together: transactions in order, and between them the lines that are refused."""

    lines: tuple[Line | Reject, ...]
    size: int = 0
    """The bytes of its lines."""
    is_ordered: bool = True
    """Whether its lines have the same order when it comes again."""


def parts_of(batch: DataFrame, source: UpdateSource) -> Generator[Part]:
    """The parts of a micro-batch, in the order of its files, each made when it is asked for."""
    lines: list[Line | Reject] = []
    files, size, last, is_ordered = 0, 0, None, True
    with closing(rows_in_order(batch)) as rows:
        for together, is_alone in _inseparable(rows, source, batch.columns):
            file, more = together[0][1], sum(_bytes_of(text) for text, *_ in together)
            files += file != last
            if lines and (files > source.files_per_batch or size + more > MOST_BYTES):
                yield Part(tuple(lines), size, is_ordered)
                lines, files, size, is_ordered = [], 1, 0, True
            lines.extend(map(_line_of, together))
            size, last, is_ordered = size + more, file, is_ordered and is_alone
        if lines:
            yield Part(tuple(lines), size, is_ordered)


class Waiting:
    """The parts of a micro-batch that are still to be settled."""

    def __init__(self, parts: Iterator[Part]) -> None:
        self._parts = parts
        self._next: deque[Part] = deque()
        self._size = 0

    def first(self, most: int = 1) -> Sequence[Part]:
        """The first parts: at most that number, and as many as may be held; none if all are settled."""
        while len(self._next) < most and (not self._next or self._size < MOST_BYTES):
            part = next(self._parts, None)
            if part is None:
                break
            self._next.append(part)
            self._size += part.size
        return list(islice(self._next, most))

    def settled(self, count: int) -> None:
        """The first parts are dealt with."""
        for _ in range(count):
            self._size -= self._next.popleft().size


def announced(part: Part, rules: frozenset[str]) -> Update | None:
    """What a part will ask for, as far as can be said before it is checked; None if it cannot."""
    try:
        return net([line.update for line in part.lines if isinstance(line, Line)], rules)
    except TidelogError:
        return None


def read_line(text: str | bytes, file: str, number: int) -> Line | Reject:
    """A line as a transaction, or as a reject with the reason why it cannot be one."""
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            shown = error.object.decode(errors="backslashreplace")
            return Reject(_SOURCE, file, number, shown, NOT_TEXT)
    try:
        return Line(read_update(text, readable(file), number), file, number, text)
    except TidelogError as error:
        return Reject(_SOURCE, file, number, text, error.problems[0].sentence)


def _line_of(found: Found) -> Line | Reject:
    text, file, number, reason = found
    return Reject(_SOURCE, file, number, str(text), reason) if reason else read_line(text, file, number)


def _bytes_of(text: str | bytes) -> int:
    return len(text) if isinstance(text, bytes) or text.isascii() else len(text.encode(errors="surrogatepass"))


def _inseparable(
    rows: Iterator[Row], source: UpdateSource, columns: Sequence[str]
) -> Iterator[tuple[Sequence[Found], bool]]:
    """The lines of a micro-batch, and whether a line is alone; others are those of rows that nothing orders."""
    counted = Counter[str]()
    if source.format in _PLACED or have_places(columns):
        yield from (([line], True) for line in _lines_of(rows, source, columns, counted))
        return
    for _, alike in groupby(rows, rank(columns)):
        found = list(alike)
        lines = list(_lines_of(iter(found), source, columns, counted))
        if len(found) == 1:
            yield from (([line], True) for line in lines)
        elif lines:
            yield lines, False


def _lines_of(
    rows: Iterator[Row], source: UpdateSource, columns: Sequence[str], counted: Counter[str]
) -> Iterator[Found]:
    """The lines of rows in order; blank ones are counted and left out."""
    found: Iterator[tuple[str | bytes, str, str | None]]
    found = _of_rows(rows, source) if "op" in columns else _of_texts(rows)
    for text, file, reason in found:
        counted[file] += 1
        if not isinstance(text, bytes) or text.strip(_BLANK):
            yield text, file, counted[file], reason


def _of_texts(rows: Iterator[Row]) -> Iterator[tuple[bytes, str, None]]:
    """The lines of files, and those of messages (updates.line), of which each may have several or, if empty, none."""
    for row in rows:
        if "line" in row:
            yield bytes(row["line"]), row["file"], None
        else:
            for text in bytes(row["content"] or b"").removeprefix(BOM_UTF8).split(b"\n"):
                yield text, row["file"], None


def _of_rows(rows: Iterator[Row], source: UpdateSource) -> Iterator[tuple[str, str, str | None]]:
    """Rows as lines of an update file."""
    for row in rows:
        text, reason = line_of(row, source.columns)
        yield text, str(row["file"]), reason
