"""What callers may say about versions and batches.

What      : `check_number` refuses a version or a batch that is no number of one; `check_source` the name of a stream.
Idea      : both end up in the log of a Delta table, which holds 64 bits; what does not fit is refused before any work.
Invariant : what passes is stored and read back equal.
Never     : no file is touched here.
"""

from __future__ import annotations

from tidelog.errors import UsageError

_GREATEST = 2**63 - 1


def check_number(what: str, number: object) -> None:
    """Refuse what counts no version or batch; None counts nothing and is fine."""
    if number is None or (type(number) is int and 0 <= number <= _GREATEST):
        return
    shown = repr(number) if len(repr(number)) <= _SHOWN else f"a {type(number).__name__}"
    raise UsageError.of("E816", f"{shown} is the number of no {what}", remedy="give a whole number from 0 to 2^63 - 1")


def check_source(source: object) -> None:
    """Refuse what cannot be the name of a stream of batches."""
    try:
        is_name = isinstance(source, str) and bool(source.encode())
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise UsageError.of("E816", f"{source!r} is the name of no source", remedy="give a name in valid Unicode")


_SHOWN = 60
