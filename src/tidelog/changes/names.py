"""Names that a relation may have.

What      : `check_names` refuses what cannot be the name of a user's relation.
Idea      : any text may be one, because names are never code, paths or queries; ours begin with @.
Invariant : a name that passes can be written in quotes in a rule, printed and saved.
Never     : no facts, no rules.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.errors import UsageError
from tidelog.language.values import is_unicode


def check_names(names: Iterable[object]) -> None:
    """Raise E805 for the first name that no relation can have."""
    for name in names:
        if not isinstance(name, str):
            raise UsageError.of("E805", f"the name of a relation is a string, not {name!r}", remedy="use a string")
        if not name or name.startswith("@"):
            sentence = f"relation names must not begin with @: {name}" if name else "a relation needs a name"
            raise UsageError.of("E805", sentence, remedy="choose another name")
        if not is_unicode(name):
            raise UsageError.of("E805", f"{name!r} is not valid Unicode", remedy="remove the lone surrogates")
