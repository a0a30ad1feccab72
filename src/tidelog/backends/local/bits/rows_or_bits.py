"""By rows or in bits: who decides.

What      : `way` is what has been asked for: ROWS and BITS force one of the two wherever it is possible, AUTO lets the
            cost rule decide (at_once.py); `computing` asks for one inside a block.
Idea      : results do not depend on it, so the choice is no option of an engine. Measurements and tests compare both.
Invariant : a block concerns the thread that opened it. Outside of blocks the environment variable TIDELOG_BITS decides:
            `rows`, `bits`, or anything else for AUTO.
Never     : a stage that is no rule over pairs is computed in bits, whatever is asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum


class Way(StrEnum):
    """How a stage of rules over pairs is derived."""

    AUTO = "auto"
    ROWS = "rows"
    BITS = "bits"


_BY_WORD = {str(one): one for one in Way}
_ASKED: ContextVar[Way | None] = ContextVar("way", default=None)


def way() -> Way:
    """What has been asked for."""
    asked = _ASKED.get()
    if asked is not None:
        return asked
    return _BY_WORD.get(os.environ.get("TIDELOG_BITS", ""), Way.AUTO)


@contextmanager
def computing(asked: Way) -> Iterator[None]:
    """Derive stages this way inside the block."""
    before = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(before)
