"""The checksums that Hadoop keeps beside files of this machine.

What      : `verify` compares bytes of a file with the file of checksums beside it, if there is one.
Idea      : Spark writes `.NAME.crc` beside NAME on a local disk, and compares whenever it reads. Who reads without
            Spark has to do the same: one flipped bit may be another constant.
Source    : Hadoop's ChecksumFileSystem: `crc`, a zero, the bytes of a chunk as an int, and a CRC-32 for each chunk, all
            with the highest byte first.
Invariant : what differs raises, as does a file that has another size than the one that was planned with.
Never     : nothing is written, and no checksum is made for a file that has none.
"""

from __future__ import annotations

import struct
from pathlib import Path
from zlib import crc32

_BEGINNING = struct.Struct(">4sI")
_AT_ONCE = 1 << 24
"""Bytes that are in memory at once."""


def verify(path: str, start: int, stop: int, size: int) -> None:
    """Raise an OSError unless the file has this size and these bytes, or those of the chunks around, are as written."""
    file = Path(path)
    if file.stat().st_size != size:
        raise OSError(f"{path} has changed since it was listed")
    beside = file.with_name(f".{file.name}.crc")
    if not beside.exists():
        return
    with beside.open("rb") as kept, file.open("rb") as source:
        kind, chunk = _BEGINNING.unpack(kept.read(_BEGINNING.size).ljust(_BEGINNING.size))
        if kind != b"crc\0" or not chunk:
            raise OSError(f"{beside} holds no checksums")
        at = start - start % chunk
        source.seek(at)
        kept.seek(_BEGINNING.size + at // chunk * 4)
        while at < stop:
            some = memoryview(source.read(max(_AT_ONCE // chunk, 1) * chunk))
            sums = [crc32(some[first : first + chunk]) for first in range(0, min(len(some), stop - at), chunk)]
            if not sums or kept.read(4 * len(sums)) != struct.pack(f">{len(sums)}I", *sums):
                raise OSError(f"checksum error: {path} is not as it was written, between {at:,} and {at + len(some):,}")
            at += len(some)
