"""Facts that stay where they are while a version is saved and opened.

What      : `FarStore`, what a state asks of a backend whose large relations are files already; `describe` makes these
            files part of a state, and `StoredFar` is such a relation when a version is opened.
Idea      : the table of a state holds every fact as values, for every reader. Beside it, in a folder that readers of
            the table pass over, are the backend's own files of ids. A commit names one description of them, and the
            description says since which version a relation's files have to be corrected by the rows of the table.
Invariant : a file is in the state before the description that names it, and the description before the commit that
            names it. Files are linked, or copied where they cannot be; they are never changed.
Never     : no fact is looked at, and none is brought to this process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from tidelog.state.rows import Numbers

FOLDER = "_segments"
"""The folder of files that are no rows of the table; readers of Delta tables pass over names with an underscore."""
_OURS = re.compile(r"\.?(store-)?[0-9a-f]{32}[-.]")
"""How names in it begin: with the id of the save, or of the job, that wrote the file."""

GONE, DERIVED, EXPLICIT = 0, 1, 2
"""What the rows since a version say about a fact."""


class FarRelation(NamedTuple):
    """A relation in files: its shape, and how many of its facts have changed since they were written."""

    arity: int
    size: int
    overlaid: int


class FarStore(Protocol):
    """Where a backend has its large relations."""

    def relations(self) -> Mapping[str, FarRelation]:
        """The relations that are in files, as of the last commit."""

    def settle(self, relations: Iterable[str]) -> None:
        """Write relations anew, so that nothing of them has changed since."""

    def write_rows(self, relation: str, version: int, directory: str, name: str) -> list[tuple[str, int]]:
        """Have the facts written as rows (rows.py) into files that begin with a name: their names and rows."""

    def describe(self, known: set[str]) -> tuple[dict[str, Any], list[str]]:
        """All that is needed to open the files again, with their names, and their addresses.

        `known` are the names of files that were described before. A relation "is_current" if its files, with the one
        of what has "changed" since the others were written, say all about it.
        """

    def restore(self, files: StoredFiles, relations: Sequence[StoredFar]) -> None:
        """Open relations in the files of a state."""

    def import_rows(self, rows: StoredRows) -> Mapping[str, int]:
        """Make files of relations from the rows of a state that has none; how many facts each relation has."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Large relations, by name with arity and size, that are rows of the table only; and the files of the table."""

    paths: Sequence[str]
    relations: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class StoredFar:
    """A relation whose files are opened, with the facts that have changed since they were written."""

    relation: str
    arity: int
    size: int
    said: Mapping[str, Any]
    facts: pa.Table
    states: Numbers


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files of a version: the folder that they are in, and what is said about all relations together."""

    folder: str
    said: Mapping[str, Any]


class Description(NamedTuple):
    """A description of files, and the name that a commit calls it by."""

    name: str
    said: Mapping[str, Any]


def describe(
    directory: Path, far: FarStore, identity: str, versions: tuple[int, int], before: Description | None
) -> Description:
    """Make the files of a backend part of the state; `versions` are the present one and the last one that was saved."""
    described = set() if before is None else {name for name, _ in _sizes(before.said)}
    said, addresses = far.describe(described)
    known = before.said["relations"] if before is not None else {}
    for name, each in said["relations"].items():
        earlier = known.get(name)
        if each.pop("is_current", False):
            each["since"] = versions[0]
        elif earlier is not None and _files(earlier) <= _files(each):
            each["since"] = earlier["since"]
        else:
            each["since"] = versions[0 if not each.pop("overlaid") else 1]
        each.pop("overlaid", None)
    if before is not None and said == before.said:
        return before
    folder = directory / FOLDER
    folder.mkdir(exist_ok=True)
    for address in addresses:
        _link(address, folder)
    path = folder / f"store-{identity}.json"
    path.write_text(json.dumps(said), encoding="utf-8")
    for synced in (path, folder):
        sync(synced)
    return Description(path.name, said)


def read(directory: Path, name: str) -> Description:
    """A description; a ValueError or OSError if it, or a file that it names, is missing or damaged."""
    folder = directory / FOLDER
    said = json.loads((folder / name).read_text(encoding="utf-8"))
    for file, size in _sizes(said):
        if (folder / file).stat().st_size != size:
            raise ValueError(f"{file} has another size")
    return Description(name, said)


def files_of(directory: Path, names: Iterable[str]) -> set[str]:
    """The files that descriptions name, and their own."""
    found = set()
    for name in set(names) - {""}:
        with suppress(FileNotFoundError):  # a version that was forgotten needs none
            said = json.loads((directory / FOLDER / name).read_text(encoding="utf-8"))
            found |= {name, *(file for file, _ in _sizes(said))}
    return found


def remove_all_but(directory: Path, names: set[str]) -> tuple[int, int]:
    """Remove the other files of the folder that saves have written; how many, and of how many bytes."""
    folder, count, size = directory / FOLDER, 0, 0
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name not in names and _OURS.match(path.name):
            size += path.stat().st_size
            path.unlink()
            count += 1
    return count, size


def _sizes(said: Mapping[str, Any]) -> list[tuple[str, int]]:
    orders = [*said["texts"], *(order for each in said["relations"].values() for order in each["orders"])]
    changed = [each["changed"] for each in said["relations"].values() if "changed" in each]
    return [(name, size) for order in (*orders, *changed) for _, name, _, size in order["files"]]


def _files(relation: Mapping[str, Any]) -> set[str]:
    changed = [relation["changed"]] if "changed" in relation else []
    return {name for order in (*relation["orders"], *changed) for _, name, _, _ in order["files"]}


def _link(address: str, folder: Path) -> None:
    """Have a file in the folder too."""
    target = folder / address.rsplit("/", 1)[-1]
    if target.exists():
        return
    from pyarrow import fs  # not at the top: every engine would load clients of four clouds, 10 MB

    if "://" in address and not address.startswith("file:"):
        fs.copy_files(address, target.as_uri())
        return
    source = fs.FileSystem.from_uri(address)[1] if address.startswith("file:") else address
    try:
        os.link(source, target)
    except OSError:  # another disk, or one that knows no links
        draft = target.with_suffix(".draft")
        shutil.copyfile(source, draft)
        sync(draft)
        draft.rename(target)


def sync(path: Path) -> None:
    """Have the system write a file or a directory down."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
