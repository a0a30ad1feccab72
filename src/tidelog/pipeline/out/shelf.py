"""A folder that we publish into, and what of it is ours.

What      : a `Shelf` holds parts, each a folder of files; it puts a part in its place whole, and removes parts again.
Idea      : a manifest beside the parts lists every file that we wrote. A part is written under a name that nobody else
            uses and then renamed, so readers see all of it or nothing. What stands in the way and is not listed is
            somebody else's: it is moved aside, never removed.
Invariant : nothing is removed that the manifest does not list. A folder without a manifest, of an older release or of
            somebody else, is adopted: new parts stand beside what is there. A manifest that a crash tore is as good as
            its whole lines, and less in it means that less is removed.
Never     : no fact, no relation, no Spark; and no storage but this machine's.

The manifest is a file of JSON lines: who owns the folder, which part is being written,
the files of each part, and the parts that were removed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from tidelog.pipeline.out.folders import OWN

MANIFEST = f"{OWN}.jsonl"
"""Readers of tables pass over names that begin with an underscore."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""What an address elsewhere begins with, hdfs:/ for instance; one letter is a drive."""
_KEPT = f"{OWN}-kept"
_LONG = 10_000
"""A manifest of this length, in lines, is written anew when a run begins: most of what it says may be gone."""


def local_folder(address: str) -> Path | None:
    """The folder of this machine that an address means, None if it is elsewhere."""
    if address.startswith("file:/"):
        return Path(unquote(address.removeprefix("file:").removeprefix("//")))
    return None if "://" in address or _SCHEME.match(address) else Path(address)


class Shelf:
    """A folder with a manifest. `owner` says whose parts it holds, None while nobody has put one there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.owner: str | None = None
        self._parts: dict[str, list[str]] = {}
        self._writing: set[str] = set()
        self._is_torn = False
        for entry in self._read():
            self._take(entry)
        self._writing = {name for name in self._writing if (folder / name).exists()}

    @property
    def parts(self) -> Collection[str]:
        """The parts that we put here."""
        return self._parts.keys()

    def put(self, owner: str, part: str, write: Callable[[Path], None]) -> None:
        """Have a part written, and put it in its place; whatever of ours stands there is replaced."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._is_torn or self._writing:
            self._tidy()
        if self.owner is None:
            self._note({"owner": owner})
        aside = self.folder / f"{OWN}-{uuid4().hex}"
        self._note({"writing": aside.name})
        write(aside)
        self._clear(part)
        self._note({"part": part, "files": _files(aside)})
        aside.rename(self.folder / part)
        self._writing.discard(aside.name)

    def remove(self, parts: Iterable[str]) -> None:
        """Remove parts that we put here; files that somebody added stay."""
        for part in [part for part in parts if part in self._parts]:
            self._remove(part)
            self._note({"gone": part})

    def _clear(self, part: str) -> None:
        """Make room for a part: ours is removed, everything else is moved aside."""
        self._remove(part)
        if os.path.lexists(self.folder / part):
            (self.folder / part).rename(self.folder / f"{_KEPT}-{uuid4().hex}-{part[:100]}")

    def _remove(self, part: str) -> None:
        """Remove the files of a part, and its folders if nothing else is in them."""
        target, listed = self.folder / part, self._parts.get(part)
        if listed is None or target.is_symlink() or not target.is_dir():
            return
        for name in listed:
            with suppress(FileNotFoundError):
                (target / name).unlink()
        folders = {folder for name in listed for folder in Path(name).parents} | {Path()}
        for folder in sorted(folders, key=lambda one: -len(one.parts)):
            with suppress(OSError):
                (target / folder).rmdir()

    def _tidy(self) -> None:
        """Remove what a crash left half written, and write the manifest anew."""
        for name in self._writing:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self._writing, self._is_torn = set(), False
        entries: list[dict[str, Any]] = [{"part": part, "files": files} for part, files in self._parts.items()]
        if self.owner is not None:
            entries.insert(0, {"owner": self.owner})
        renewed = self.folder / f"{OWN}-{uuid4().hex}.partial"
        renewed.write_text("".join(map(_line, entries)), encoding="utf-8")
        renewed.replace(self.folder / MANIFEST)

    # -- the manifest ----------------------------------------------------------------------------------------------

    def _note(self, entry: dict[str, Any]) -> None:
        with (self.folder / MANIFEST).open("a", encoding="utf-8") as file:
            file.write(_line(entry))
        self._take(entry)

    def _take(self, entry: dict[str, Any]) -> None:
        match entry:
            case {"owner": str(owner)}:
                self.owner = owner
            case {"writing": str(name)} if _is_own(name):
                self._writing.add(name)
            case {"part": str(part), "files": list(files)} if _is_step(part) and all(map(_is_inside, files)):
                self._parts[part] = files
            case {"gone": str(part)}:
                self._parts.pop(part, None)
            case _:
                self._is_torn = True

    def _read(self) -> Iterable[dict[str, Any]]:
        try:
            *lines, rest = (self.folder / MANIFEST).read_bytes().split(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return
        self._is_torn = bool(rest) or len(lines) > _LONG
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = None
            yield entry if isinstance(entry, dict) else {}


def _line(entry: dict[str, Any]) -> str:
    return json.dumps(entry) + "\n"


def _files(folder: Path) -> list[str]:
    """Every file below a folder, by its path from there."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def _is_own(name: str) -> bool:
    return name.startswith(f"{OWN}-") and _is_step(name)


def _is_step(name: str) -> bool:
    """Whether a name is one step downwards."""
    return name not in ("", ".", "..") and "/" not in name and "\0" not in name


def _is_inside(path: object) -> bool:
    return isinstance(path, str) and all(map(_is_step, path.split("/")))
