"""The checksums that Hadoop keeps beside files of this machine.

What      : `CheckedFile` is a file for Arrow to read; what is read of it is compared with the file of checksums beside
            it, if there is one.
Idea      : Spark writes `.NAME.crc` beside NAME on a local disk, and compares whenever it reads. Who reads without
            Spark has to do the same: one flipped bit may be another constant. As in Hadoop the file itself compares, so
            footers are compared, too, every byte is read once, and what nobody reads is not looked at.
Source    : Hadoop's ChecksumFileSystem: `crc`, a zero, the bytes of a chunk as an int, and a CRC-32 for each chunk, all
            with the highest byte first. Checksums that are missing or a folder are none; those that nobody can
            understand are an error.
Invariant : what differs raises, as does a file that has another size than the one that was planned with.
Never     : nothing is written, and no checksum is made for a file that has none.
"""

from __future__ import annotations

import io
import os
import struct
from pathlib import Path
from zlib import crc32

_BEGINNING = struct.Struct(">4sI")


class CheckedFile(io.RawIOBase):
    """A file whose bytes are as they were written; reading others raises an OSError."""

    def __init__(self, path: str, size: int | None = None) -> None:
        super().__init__()
        self._path, self._at = path, 0
        self._source = Path(path).open("rb")  # noqa: SIM115 - closed with this file
        self._sums: io.BufferedReader | None = None
        try:
            self.size = os.fstat(self._source.fileno()).st_size
            if size not in (None, self.size):
                raise OSError(f"{path} has changed since it was listed")
            self._sums, self._chunk = _checksums(Path(path))
        except BaseException:
            self.close()
            raise

    def readable(self) -> bool:
        """Bytes can be read."""
        return True

    def seekable(self) -> bool:
        """They can be read from any place."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def tell(self) -> int:
        """The place where the next bytes are read."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """The next bytes, all that are left if no number is given; the chunks that they are in are compared."""
        start = min(self._at, self.size)
        stop = self.size if size < 0 else min(start + size, self.size)
        first = start - start % self._chunk
        last = min(-(-stop // self._chunk) * self._chunk, self.size)
        self._source.seek(first)
        found = self._source.read(last - first) if start < stop else b""
        if len(found) < stop - first and start < stop:
            raise OSError(f"{self._path} has changed since it was listed")
        if found and self._sums is not None:
            self._compare(self._sums, first, memoryview(found))
        self._at = stop
        return found[start - first : stop - first]

    def close(self) -> None:
        """Close the file, and that of the checksums."""
        self._source.close()
        if self._sums is not None:
            self._sums.close()
        super().close()

    def _compare(self, kept: io.BufferedReader, first: int, found: memoryview) -> None:
        """Raise if bytes, which begin with a chunk, are not those that were written."""
        kept.seek(_BEGINNING.size + first // self._chunk * 4)
        sums = [crc32(found[at : at + self._chunk]) for at in range(0, len(found), self._chunk)]
        if kept.read(4 * len(sums)) != struct.pack(f">{len(sums)}I", *sums):
            end = first + len(found)
            raise OSError(f"checksum error: {self._path} is not as it was written, between {first:,} and {end:,}")


def _checksums(path: Path) -> tuple[io.BufferedReader | None, int]:
    """The file of checksums beside a file, and how many bytes a chunk has; none, and any number."""
    beside = path.with_name(f".{path.name}.crc")
    try:
        kept = beside.open("rb")
    except (FileNotFoundError, IsADirectoryError):
        return None, 1
    kind, chunk = _BEGINNING.unpack(kept.read(_BEGINNING.size).ljust(_BEGINNING.size))
    if kind != b"crc\0" or not chunk:
        kept.close()
        raise OSError(f"{beside} holds no checksums")
    return kept, chunk
