"""Text that a terminal and a reader of lines can be shown.

What      : `visible` writes characters that would move, hide or reorder text as escapes; `visible_json` does so inside
            a text of JSON.
Idea      : names and values may hold every character, so every message passes through here, once, before it
            is printed. What is stored and published stays as it is.
Invariant : what comes out holds no C0 or C1 control, no separator of lines, no mark of writing direction, no byte
            order mark and no lone surrogate; so it is one line, and every encoding of Unicode takes it. JSON that went
            through `visible_json` reads back as what it was.
Never     : nothing is decided by what comes out of here, and nothing imports less than this: it knows only text.
"""

from __future__ import annotations

import re

UNSEEN = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the direction of writing
    "\u2028\u2029\ufeff"  # separators of lines and paragraphs, the byte order mark
    "\ud800-\udfff"  # surrogates
)
"""The characters, as ranges of a regular expression."""

_UNSEEN = re.compile(f"[{UNSEEN}]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def visible(text: str) -> str:
    """The text with its unseen characters as escapes, such as `\\x1b` and `\\u202e`."""
    return _UNSEEN.sub(_escape, text)


def visible_json(text: str) -> str:
    """JSON on one line with the unseen characters of its strings as escapes of JSON."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
