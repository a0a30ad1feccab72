"""Regular expressions, by RE2.

What      : `matches` says which texts a pattern describes as a whole; `problem` what is wrong with a pattern.
Idea      : RE2 takes time that is linear in the text, whatever the pattern; rules come from users, and a backtracking
            matcher can be made to run for ever by a pattern of ten characters. It comes with pyarrow.
Source    : R. Cox, "Regular expression matching in the wild" (2010); the syntax is RE2's. It has no look-ahead, no
            look-behind and no back-references, and knows classes such as [[:digit:]].
Invariant : a pattern is right or wrong by itself: what is written around it to match whole texts changes nothing.
Never     : no values and no rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

_NOTHING = ("",)
"""Of no texts at all a pattern would not be read."""


def matches(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Whether the pattern describes the whole of each text; ValueError if it is no regular expression."""
    return _run(_whole(pattern), texts)


def problem(pattern: str) -> str | None:
    """What is wrong with a pattern, in words; None if nothing is."""
    try:
        _whole(pattern)
    except ValueError as error:
        return str(error)
    return None


@lru_cache(maxsize=1024)
def _whole(pattern: str) -> str:
    """The pattern for whole texts. One that ends inside a quotation (after \\Q) needs its end before ours."""
    _run(pattern, _NOTHING)
    written = rf"\A(?:{pattern})\z"
    try:
        _run(written, _NOTHING)
    except ValueError:
        written = rf"\A(?:{pattern}\E)\z"
        _run(written, _NOTHING)
    return written


def _run(pattern: str, texts: Sequence[str]) -> list[bool]:
    import pyarrow as pa  # here, because a program is read without it
    import pyarrow.compute as pc

    try:
        found = pc.match_substring_regex(pa.array(texts, pa.large_string()), pattern=pattern)
        return found.to_pylist()  # type: ignore[no-any-return]
    except pa.ArrowInvalid as error:
        raise ValueError(str(error).removeprefix("Invalid regular expression: ")) from error
