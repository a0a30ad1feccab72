"""Changes on their way out: written down before the version is, handed to the sinks after it is.

What      : an `Outbox` keeps the rows of the change feed of a version until every sink has them.
Idea      : the transactional outbox. A state cannot be committed together with a foreign sink, so the change is put
            down first; after a crash, what belongs to a stored version is published (again), and what does not is
            dropped.
Invariant : for every stored version the rows are either in the outbox or in all sinks; publishing twice is harmless,
            because sinks know versions.
Never     : no sink is known here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import feather

_ENDING = ".feed"


class Outbox:
    """A folder with one file per version that is not published yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, version: int, rows: pa.Table) -> None:
        """Write the rows of a version down for good."""
        target = self._file(version)
        partial = target.with_suffix(".partial")
        feather.write_feather(rows, str(partial), compression="zstd")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(target)

    def waiting(self, stored: int) -> Iterator[tuple[int, pa.Table]]:
        """Stored versions that may not have reached all sinks; later ones never happened and are dropped."""
        for partial in self._folder.glob("*.partial"):
            partial.unlink()
        for file in sorted(self._folder.glob(f"*{_ENDING}"), key=_version):
            if _version(file) <= stored:
                yield _version(file), feather.read_table(str(file), memory_map=False)
            else:
                file.unlink()

    def done(self, version: int) -> None:
        """Every sink has the version."""
        self._file(version).unlink(missing_ok=True)

    def _file(self, version: int) -> Path:
        return self._folder / f"{version}{_ENDING}"


def _version(file: Path) -> int:
    return int(file.stem)
