"""Every character that some layer below takes for something else.

What      : `SPECIAL` are the characters by who treats them specially; `NAMES` are names with one of them at the
            beginning, in the middle, at the end and alone, and words that mean something to a reader or to a disk.
Idea      : a layer that quotes wrongly is wrong for its own characters, so each one is tried where it hurts most.
"""

from __future__ import annotations

LINES = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What `str.splitlines` takes for the end of a line."""

CONTROLS = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
"""C0, DEL and C1: terminals, JSON, TOML, XML."""

DIRECTIONS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""What reorders the text around it."""

QUOTES = "\"'`\\/%"
"""JSON, TOML, rules, SQL, addresses."""

SHELLS = "$!&;()[]{}<>|*?#~^= \t,:@+-."
"""Shells, globs, partitions of tables, options."""

UNICODE = "\ufeff\ufffe\uffff\ufffd\xa0\xad\u200b\u200d\u3000\ue000\ud7ff\U0001f600\U0010fffe\U0010ffff\u0301\u212b"
"""Byte order marks, noncharacters, spaces, what is joined, composed or beyond sixteen bits."""

SPECIAL = "".join(dict.fromkeys(LINES + CONTROLS + DIRECTIONS + QUOTES + SHELLS + UNICODE))

WORDS = (
    "..", "...", "../up", "/etc", "C:\\x", "a/../b", "%2E%2E", "%00", "\\u2028", "\\n", "NaN", "null", "None", "true",
    "not", "count", "_", "__proto__", "-", "--", "-rf", "$(touch x)", "`touch x`", "con", "NUL", "x'); drop table t;--",
    "<script>", "e\u0301", "\u00e9", "Edge", "edge", "EDGE", "version=3", "part=1", "_tidelog.jsonl", "_SUCCESS",
    "_delta_log", "1.0", "1", "a\r\nb", "a\n\nb", "A" * 300, "é" * 300,
)  # fmt: skip

_SHAPES = ("?", "a?b", "?a", "a?")
NAMES = tuple(dict.fromkeys((*(shape.replace("?", one) for one in SPECIAL for shape in _SHAPES), *WORDS)))
"""Texts that a rule, a value or a source of batches may be; `@` leads names of our own."""

RELATIONS = tuple(name for name in NAMES if not name.startswith("@"))
"""Those that a relation may have."""


def shown_safely(text: str) -> bool:
    """Whether printed text holds nothing that a terminal would obey; lines end at a newline."""
    return not set(text) & (set(CONTROLS + DIRECTIONS + "\u2028\u2029\ufeff") - {"\n"})
