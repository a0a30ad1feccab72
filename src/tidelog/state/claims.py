"""One writer at a time, where there is no lock.

What      : `Claims` is to a state at an address what `Lock` is to a directory: it says what a save begins to write, and
            what saves that came to nothing have left; `hold` gives the one that a state needs.
Idea      : a store of objects has no lock that a dead process gives back. It has a promise: of several writers that
            make the same entry of Delta's log, one succeeds and the others hear it. So writers need not keep each other
            out; each says before it writes which entry its save is to become. Once another save has become that entry,
            the save can never succeed, and what it wrote belongs to nobody.
Invariant : a claim is there before the files of its save, and names those that do not bear the save's id. Files go only
            when the log has passed the entry that was claimed, and only those that no entry names: so a writer that is
            at work loses nothing, however slow it is.
Never     : no waiting, and no clock.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress

from tidelog.errors import StateError
from tidelog.state.lock import Left, Lock
from tidelog.state.remote import Location, Remote

FOLDER = "_saves"
"""Readers of Delta tables pass over names that begin with an underscore."""
_CLAIM = re.compile(r"([0-9]{20})-([0-9a-f]{32})\.json")


def hold(directory: Location, *, for_one_save: bool) -> Lock | Claims:
    """The right to write into a directory, or what takes its place at an address."""
    return Claims(directory) if isinstance(directory, Remote) else Lock(directory, for_one_save=for_one_save)


class Claims:
    """What writers of one state tell each other."""

    is_exclusive = False

    def __init__(self, directory: Remote) -> None:
        self.announced: Collection[str] | None = ()
        self._folder = directory / FOLDER
        self._own: Remote | None = None

    def begin(self, identity: str, commit: int) -> None:
        """Say which entry of the log a save is to become."""
        self._own, self.announced = self._folder / f"{commit:020d}-{identity}.json", ()
        self._own.write_text(json.dumps({"files": []}))

    def announce(self, files: Collection[str]) -> None:
        """Say which files beside the table the save is about to write."""
        self.announced = files
        if self._own is not None and files:
            self._own.write_text(json.dumps({"files": sorted(files)}))

    def end(self) -> None:
        """The save is part of the state, or has removed what it wrote."""
        if self._own is not None:
            with suppress(StateError):  # a claim that stays is judged by the next writer
                self._own.unlink(missing_ok=True)
            self._own = None

    def left(self, last: str | None, commit: int) -> Iterator[Left]:
        """Saves that came to nothing, given the last entry of the log; each is forgotten when the next is asked for."""
        for claim in list(self._folder.iterdir()):
            found = _CLAIM.fullmatch(claim.name)
            if found is not None and int(found[1]) <= commit and claim != self._own:
                if found[2] != last:
                    yield Left(found[2], _files(claim))
                claim.unlink(missing_ok=True)

    def is_held(self) -> bool:
        """Nothing is held: a commit says whether it came first."""
        return True

    def release(self) -> None:
        """Nothing is held."""


def _files(claim: Remote) -> frozenset[str]:
    """The files that a claim names. One that was removed meanwhile names no files: who removed it removed them. One
    that is cut short was never announced whole, so nothing had been written under it.
    """
    try:
        return frozenset(json.loads(claim.read_text())["files"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return frozenset()
