"""Names that a relation may have.

What      : `check_names` refuses what cannot be the name of a user's relation with facts.
Idea      : any text may be one, because names are never code, paths or queries; ours begin with @.
Invariant : a name that passes can be written in quotes in a rule, printed and saved.
Never     : no facts, no rules.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tidelog.errors import UpdateError, UsageError, expect
from tidelog.language.values import is_unicode


def asked_facts(facts: Mapping[str, object] | None, word: str) -> Mapping[str, object]:
    """What an update inserts or deletes, by relation; E816 for what is no mapping."""
    if facts is None:
        return {}
    expect(facts, Mapping, f"what to {word}", 'a mapping from relations to facts: {"edge": [(1, 2)]}')
    return facts


def check_names(names: Iterable[object], inline: Collection[str] = ()) -> None:
    """Raise E805 for the first name that no relation can have, E309 for that of an inline one, which has no facts."""
    for name in names:
        if not isinstance(name, str):
            raise UsageError.of("E805", f"the name of a relation is a string, not {name!r}", remedy="use a string")
        if not name or name.startswith("@"):
            sentence = f"relation names must not begin with @: {name}" if name else "a relation needs a name"
            raise UsageError.of("E805", sentence, remedy="choose another name")
        if not is_unicode(name):
            raise UsageError.of("E805", f"{name!r} is not valid Unicode", remedy="remove the lone surrogates")
        if name in inline:
            sentence = f"{name} is inline, and an inline relation has no facts"
            raise UpdateError.of("E309", sentence, remedy=f"leave out inline in the declaration of {name}")
