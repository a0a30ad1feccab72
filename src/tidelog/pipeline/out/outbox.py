"""Changes on their way out: written down before the version is, handed to the sinks after it is.

What      : an `Outbox` keeps the rows of the change feed of a version until every sink has them.
Idea      : the transactional outbox. A state cannot be committed together with a foreign sink, so the change is put
            down first; after a crash, what belongs to a stored version is published (again), and what does not is
            dropped. Where no lock keeps out a second job, rows bear the id of their save: what another job has put down
            for a version that it could not store is never taken for the rows of that version.
Invariant : for every stored version the rows are either in the outbox or in all sinks; publishing twice is harmless,
            because sinks know versions.
Never     : no sink is known here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import feather

from tidelog.state.remote import Location, Remote

_ENDING, _WHOLE = ".feed", ".whole"


class Outbox:
    """A folder with one file per version that is not published yet."""

    def __init__(self, folder: Location) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, version: int, rows: pa.Table, save: str = "") -> None:
        """Write the rows of a version down, with the id of the save that will store it, if others may save as well."""
        target = self._folder / f"{_name(version, save)}{_ENDING}"
        if isinstance(target, Remote):
            out = pa.BufferOutputStream()
            feather.write_feather(rows, out, compression="zstd")
            target.write_bytes(out.getvalue())
            return
        partial = target.with_suffix(".partial")
        feather.write_feather(rows, str(partial), compression="zstd")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(target)

    def put_whole(self, version: int, save: str = "") -> None:
        """Note that all facts of a version are its change; rows are not written, because the engine has the facts."""
        target = self._folder / f"{_name(version, save)}{_WHOLE}"
        if isinstance(target, Remote):
            target.write_bytes(b"")
            return
        with target.open("wb") as file:
            os.fsync(file.fileno())

    def waiting(
        self, stored: int, saves: Callable[[], Collection[str]] = frozenset
    ) -> Iterator[tuple[int, pa.Table | None]]:
        """Stored versions that may not have reached all sinks; later ones never happened and are dropped.

        None stands for a whole version. It is the first one and thus the last stored: nothing is applied before it is
        published. Of rows that bear the id of a save those of other `saves` than the stored ones are dropped, once
        their version is stored; until then they may be those of a job that is at work.
        """
        for partial in self._folder.glob("*.partial"):
            partial.unlink()
        files: list[Location] = [file for ending in (_ENDING, _WHOLE) for file in self._folder.glob(f"*{ending}")]
        for file in sorted(files, key=_version):
            save = file.stem.partition(".")[2]
            if _version(file) > stored:
                if not save:
                    file.unlink()
            elif save and save not in saves():
                file.unlink(missing_ok=True)
            else:
                yield _version(file), None if file.name.endswith(_WHOLE) else _read(file)

    def done(self, version: int) -> None:
        """Every sink has the version."""
        if isinstance(self._folder, Remote):
            for file in self._folder.glob(f"{version}.*"):
                file.unlink(missing_ok=True)
            return
        for ending in (_ENDING, _WHOLE):
            (self._folder / f"{version}{ending}").unlink(missing_ok=True)


def _name(version: int, save: str) -> str:
    return f"{version}.{save}" if save else str(version)


def _read(file: Location) -> pa.Table:
    source = str(file) if isinstance(file, Path) else pa.BufferReader(file.read_bytes())
    return feather.read_table(source, memory_map=False)


def _version(file: Location) -> int:
    return int(file.stem.partition(".")[0])
