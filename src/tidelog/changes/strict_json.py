"""JSON whose objects say everything once.

What      : `read_json` reads a text of JSON and refuses an object with a key that occurs twice.
Idea      : the standard reader takes the last of two values and says nothing; an update whose first `insert` disappears
            is no update that anybody meant.
Invariant : what cannot be read is a ValueError, whatever is wrong with it: depth and length as well.
Never     : no opinion about what the content means.
"""

from __future__ import annotations

import json
from typing import Any


class RepeatedKeyError(ValueError):
    """An object says something twice."""


def read_json(text: str | bytes) -> Any:  # noqa: ANN401 - JSON is any of its types
    """The content of a text of JSON; a ValueError says why it has none."""
    try:
        return json.loads(text, object_pairs_hook=_object)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise RepeatedKeyError(f"the key {key!r} occurs twice in one object")
        found[key] = value
    return found
