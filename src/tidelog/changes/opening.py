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
import io
import lzma
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from tidelog.errors import UpdateError

_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_ARROW = {".zst": "zstd", ".lz4": "lz4"}
_DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)
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


def is_file(path: Path) -> bool:
    """Whether a file is there; there is none of a name that the system does not take."""
    return _mode(path, stat.S_ISREG)


def is_folder(path: Path) -> bool:
    """Whether a folder is there."""
    return _mode(path, stat.S_ISDIR)


def _mode(path: Path, is_one: Callable[[int], bool]) -> bool:
    try:
        return is_one(path.stat().st_mode)
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def no_file(path: Path, remedy: str) -> UpdateError:
    """The error for a path at which no file can be read."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        reason = "does not exist"
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    else:
        reason = "is a folder" if stat.S_ISDIR(mode) else "cannot be read" if stat.S_ISREG(mode) else "is no file"
    return UpdateError.of("E307", f"{path} {reason}", remedy=remedy)


@contextmanager
def opened_plainly(path: Path, remedy: str) -> Iterator[BinaryIO]:
    """The bytes of a file or a FIFO, as they are; E307 with the reason if it cannot be opened."""
    try:
        file = path.open("rb")
    except (OSError, ValueError) as error:
        raise no_file(path, remedy) from error
    with file:
        yield file


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked."""
    try:
        with _stream(path) as stream:
            yield cast(BinaryIO, stream)
    except (*_DAMAGED, pa.ArrowInvalid) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not the content's
            raise no_file(path, "look after the file") from error
        if not is_packed(path) or (isinstance(error, pa.ArrowInvalid) and _unpacks(path)):
            raise  # what is wrong is the text
        raise UpdateError.of("E306", f"{path} cannot be unpacked: {error}", remedy="pack the file again") from error


def _unpacks(path: Path) -> bool:
    """Whether a file can be unpacked to its end: Arrow has one error for damaged files and for what is in them."""
    try:
        with _stream(path) as stream:
            while stream.read(1 << 20):
                pass
    except (*_DAMAGED, pa.ArrowInvalid):
        return False
    return True


def _stream(path: Path) -> Any:  # noqa: ANN401 - five libraries, one shape
    ending = path.suffix.lower()
    if ending in _OPENERS:
        return _OPENERS[ending](path, "rb")
    if ending in _ARROW:
        unpacked = pa.CompressedInputStream(pa.OSFile(str(path), "rb"), _ARROW[ending])
        return io.BufferedReader(unpacked)  # Arrow's streams have no lines
    return path.open("rb")
