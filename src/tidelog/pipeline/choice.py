"""Which backend a pipeline runs on, and why.

What      : `choose_backend` answers `auto` by the number of facts against the memory of this machine.
Idea      : the compiled store on the driver is faster by far as long as everything fits; so the question is only
            whether it does, with room for what the rules derive.
Invariant : the answer comes with its reason in words; a name that the user gave is never overruled.
Never     : nothing is measured while a run goes on.
"""

from __future__ import annotations

import os

BYTES_PER_VALUE = 40
"""About what one value of an explicit fact costs: its id, its share of the indexes and of the dictionary."""
GROWTH = 6
"""How many times the explicit facts the materialisation is assumed to be."""
SHARE = 0.5
"""The share of memory that facts may take."""


def choose_backend(asked: str, values: int, memory: int | None = None) -> tuple[str, str]:
    """The backend to use for facts with so many values in all, and the reason."""
    if asked != "auto":
        return asked, "chosen in the pipeline file"
    have = memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    need = values * BYTES_PER_VALUE * GROWTH
    fits = need <= have * SHARE
    sentence = f"{values:,} values, with what follows about {_size(need)} of {_size(int(have * SHARE))} allowed"
    return ("local", f"{sentence}: fits the driver") if fits else ("spark", f"{sentence}: does not fit the driver")


def _size(count: int) -> str:
    """Bytes for people."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
