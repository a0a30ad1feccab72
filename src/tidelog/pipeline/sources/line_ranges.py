"""Files of lines, read by tasks themselves.

What      : `ranges` divides files on this machine's file system into pieces of some megabytes; `texts_of` gives a piece
            as texts of whole lines.
Idea      : lines that come through Spark are rows of Java before they are Arrow: six microseconds a line, where parsing
            it takes one. A task that opens the file itself hands its bytes to the parser as they are.
Invariant : every line is in one text: a line belongs to the piece that its first byte is in. Lines end at a newline; a
            text is at most one line longer than a piece.
Never     : no address but those of plain files: others are read by Spark, which knows how to get at them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

PIECE = 16 << 20
"""Bytes of a piece, at least."""
MOST = 1000
"""Pieces of all files together, at most: a task takes some hundredths of a second before it begins."""


class Range(NamedTuple):
    """A piece of a file: from a byte up to another one."""

    address: str
    start: int
    stop: int


def local_path(address: str) -> Path | None:
    """The file of an address that every task can open; None if it is elsewhere."""
    parts = urlsplit(address)
    return Path(unquote(parts.path)) if parts.scheme == "file" and not parts.netloc else None


def ranges(files: Iterable[tuple[str, int]]) -> list[Range]:
    """Files, given by address and size, in pieces; a compressed one is a piece of its own."""
    known = list(files)
    piece = max(PIECE, sum(size for _, size in known) // MOST)
    return [
        Range(address, start, size if address.endswith(".gz") else min(start + piece, size))
        for address, size in known
        for start in ([0] if address.endswith(".gz") else range(0, size, piece))
    ]


def texts_of(path: Path, start: int, stop: int) -> Iterator[bytes]:
    """The lines of a piece: one text, or several of a compressed file."""
    if path.suffix == ".gz":
        with gzip.open(path) as packed:
            yield from _in_pieces(packed)
        return
    with path.open("rb") as file:
        if start:
            file.seek(start - 1)
            file.readline()
        begin = file.tell()
        if begin < stop:
            text = file.read(stop - begin)
            yield text if text.endswith(b"\n") else text + file.readline()


def _in_pieces(file: gzip.GzipFile) -> Iterator[bytes]:
    while text := file.read(PIECE):
        yield text if text.endswith(b"\n") else text + file.readline()
