"""Files that may be compressed.

What      : `opened` gives the bytes of a file, unpacked if its name says that it is packed; `plain_ending` is the
            ending without that.
Idea      : `edge.csv.gz` is `edge.csv`, packed: readers see the second ending only.
Invariant : what is read is a stream: nothing is unpacked to disk, and a packed file that is damaged is refused (E306).
Never     : no guessing from the content.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from tidelog.errors import UpdateError

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ARROW = {".zst": "zstd", ".lz4": "lz4"}
PACKED = (*_OPENERS, *_ARROW)
"""The endings that say how a file is packed."""


def plain_ending(path: Path) -> str:
    """The ending that says the format, in lower case: `.csv` of `edge.csv.gz`."""
    ending = path.suffix.lower()
    return Path(path.stem).suffix.lower() if ending in PACKED else ending


def plain_name(path: Path) -> str:
    """The name without endings of format and packing."""
    stem = path.stem if path.suffix.lower() in PACKED else path.name
    return Path(stem).stem


def is_packed(path: Path) -> bool:
    """Whether the name says that the file is packed."""
    return path.suffix.lower() in PACKED


def is_empty(path: Path) -> bool:
    """Whether a file holds nothing, packed or not."""
    if not is_packed(path):
        return path.stat().st_size == 0
    with opened(path) as stream:
        return not stream.read(1)


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked."""
    try:
        with _stream(path) as stream:
            yield cast(BinaryIO, stream)
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise UpdateError.of("E306", f"{path} cannot be unpacked: {error}", remedy="pack the file again") from error


def _stream(path: Path) -> Any:  # noqa: ANN401 - five libraries, one shape
    ending = path.suffix.lower()
    if ending in _OPENERS:
        return _OPENERS[ending](path, "rb")
    if ending in _ARROW:
        return pa.CompressedInputStream(pa.OSFile(str(path), "rb"), _ARROW[ending])
    return path.open("rb")
