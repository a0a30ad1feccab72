"""Names as folders.

What      : `folder_name` gives the folder for a name of any kind; `folder_in_bytes` a second one, for disks on which
            the first is taken by a name that differs only in the case of its letters.
Idea      : percent-encoding, as in addresses: letters, digits and `_ - ~ .` stay, so a harmless name is its own folder.
            What a path, a disk or a reader of tables would take for something else is encoded as well: dots at the
            ends, names of devices, our own names. What is too long is cut, and told apart by a digest.
Invariant : a folder name is one step of a path: no separator, not empty, neither `.` nor `..`, at most 255 bytes, all
            of it ASCII. Different names have different folders (those that are cut as far as SHA-256 tells them apart),
            and `%-` comes only from a cut.
Never     : nothing is looked up or written here.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

LONGEST = 255
"""In bytes: what file systems take."""

OWN = "_tidelog"
"""Names of ours begin with this, and no folder of a relation does."""

_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_CUT = "%-"


def folder_name(name: str, room: int = LONGEST) -> str:
    """The folder for a name, in at most that number of bytes."""
    spelled = re.sub(r"^\.|\.$", "%2E", quote(name, safe="", errors="surrogatepass"))
    if spelled.partition(".")[0].lower() in _DEVICES or spelled.lower().startswith(OWN):
        spelled = f"%{ord(spelled[0]):02X}{spelled[1:]}"
    return _cut(spelled, name, room)


def folder_in_bytes(name: str, room: int = LONGEST) -> str:
    """Another folder for a name, without a letter: different also where upper and lower case are the same."""
    return _cut("".join(f"%{byte:02X}" for byte in name.encode(errors="surrogatepass")), name, room, "bytes")


def _cut(spelled: str, name: str, room: int, way: str = "") -> str:
    if spelled and len(spelled) <= room:
        return spelled
    digest = hashlib.sha256((way + name).encode(errors="surrogatepass")).hexdigest()
    kept = re.sub(r"%.?$", "", spelled[: room - len(_CUT) - len(digest)])
    return f"{kept}{_CUT}{digest}"
