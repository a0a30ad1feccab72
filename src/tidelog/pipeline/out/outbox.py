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

_ENDING, _WHOLE = ".feed", ".whole"


class Outbox:
    """A folder with one file per version that is not published yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, version: int, rows: pa.Table) -> None:
        """Write the rows of a version to the disk."""
        target = self._folder / f"{version}{_ENDING}"
        partial = target.with_suffix(".partial")
        feather.write_feather(rows, str(partial), compression="zstd")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(target)

    def put_whole(self, version: int) -> None:
        """Note that all facts of a version are its change; rows are not written, because the engine has the facts."""
        with (self._folder / f"{version}{_WHOLE}").open("wb") as file:
            os.fsync(file.fileno())

    def waiting(self, stored: int) -> Iterator[tuple[int, pa.Table | None]]:
        """Stored versions that may not have reached all sinks; later ones never happened and are dropped.

        None stands for a whole version. It is the first one and thus the last stored: nothing is applied before it is
        published.
        """
        for partial in self._folder.glob("*.partial"):
            partial.unlink()
        files = [file for ending in (_ENDING, _WHOLE) for file in self._folder.glob(f"*{ending}")]
        for file in sorted(files, key=_version):
            if _version(file) > stored:
                file.unlink()
            else:
                rows = None if file.suffix == _WHOLE else feather.read_table(str(file), memory_map=False)
                yield _version(file), rows

    def done(self, version: int) -> None:
        """Every sink has the version."""
        for ending in (_ENDING, _WHOLE):
            (self._folder / f"{version}{ending}").unlink(missing_ok=True)


def _version(file: Path) -> int:
    return int(file.stem)
