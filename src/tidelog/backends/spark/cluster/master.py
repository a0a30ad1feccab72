"""Addresses of Spark clusters.

What      : `problem` says what is wrong with a text that should be a master, and what to write instead.
Idea      : a misspelt `local[*]` would start Java, wait, and end in its stack; a look at the text tells at once.
Invariant : whatever Spark takes is let through; whether anybody answers there, Spark finds out.
Never     : Spark is not imported, so that pipelines can be checked without it.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from tidelog.visible import visible

_MASTERS = ("local[*]", "local", "yarn")
_MASTER = re.compile(
    r"local(\[(\*|\d+)(,\s*\d+)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn|(spark|k8s|mesos|sc)://\S+"
)


def problem(master: str) -> tuple[str, str] | None:
    """A sentence and a remedy, if the text is no address of a cluster."""
    if _MASTER.fullmatch(master):
        return None
    close = get_close_matches(master, _MASTERS, 1, 0.5)
    meant = f"did you mean {close[0]}? " if close else ""
    remedy = f"{meant}use local[*], local[4], spark://host:7077, yarn or k8s://https://host:443"
    return f"{visible(master)} is no master of Spark", remedy
