"""Where a state is: a directory, given as a path or as an address, or a place in a store of objects.

What      : `directory_of` gives the directory that an address means, or what takes its place there (remote.py).
Idea      : an address `file:` is a directory of this machine, with its locks and links; any other scheme is asked for
            among the file systems that Arrow knows.
Invariant : the result is absolute. A plain path is taken as it is, whatever signs it has.
Never     : nothing is made.
"""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path
from urllib.parse import unquote

from tidelog.errors import StateError
from tidelog.language.values import is_unicode
from tidelog.state.remote import Location, Remote

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(/)?")

_LONGEST, _SHOWN = 255, 200
"""In bytes, what file systems take for one step of a path; how much of a wrong path is shown."""


def directory_of(target: str | PathLike[str]) -> Location:
    """The directory of a path or of an address; E616 for an address that nobody here knows."""
    text = fspath(target)
    if "\0" in text or not is_unicode(text) or any(len(step.encode()) > _LONGEST for step in text.split("/")):
        raise StateError.of(
            "E616",
            f"{text[:_SHOWN]!r} cannot be the path of a state: no directory has such a name",
            remedy="give a directory; each step of a path has at most 255 bytes, and no NUL",
        )
    found = _SCHEME.match(text)
    if found is None:
        return Path(text).resolve()
    if found[1].lower() != "file":
        if found[2] is None:  # `a:/b` is a path
            return Path(text).resolve()
        return Remote.at(text)
    rest = text[found.end(1) + 1 :]
    host, slash, path = rest.removeprefix("//").partition("/") if rest.startswith("//") else ("", "", rest)
    if host not in ("", "localhost"):
        raise StateError.of(
            "E616", f"a state cannot be kept on another machine ({host})", remedy="give a directory, mounted here"
        )
    return Path(unquote(slash + path)).resolve()
