"""Addresses of files, as Arrow and as Spark spell them.

What      : `place` gives the file system of an address and the path there; `for_spark` is the address that Spark takes.
Idea      : a store of objects that speaks S3 is `s3:` to Arrow and delta-rs and `s3a:` to Hadoop, and each refuses or
            misreads the name of the other. People write the one that they know; it is changed where it is handed over.
Invariant : a plain path and an address of any other scheme are handed over as they are.
Never     : nothing is opened. Credentials are read by each library from where it looks for them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_S3, _S3A = "s3://", "s3a://"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|file:/")


def place(address: str) -> tuple[FileSystem, str]:
    """The file system of an address, and the path there: a plain path, or what Arrow knows (file:, s3:, hdfs:, gs:)."""
    from pyarrow import fs  # not at the top: every engine would load clients of four clouds, 10 MB

    if is_address(address):
        found: tuple[FileSystem, str] = fs.FileSystem.from_uri(for_arrow(address))
        return found
    return fs.LocalFileSystem(), address


def is_address(text: str) -> bool:
    """Whether a text is an address with a scheme, and no plain path."""
    return _SCHEME.match(text) is not None


def for_arrow(address: str) -> str:
    """The address as Arrow and delta-rs spell it."""
    return _S3 + address[len(_S3A) :] if address[: len(_S3A)].lower() == _S3A else address


def for_spark(address: str) -> str:
    """The address as Spark spells it."""
    return _S3A + address[len(_S3) :] if address[: len(_S3)].lower() == _S3 else address
