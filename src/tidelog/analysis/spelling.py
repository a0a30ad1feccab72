"""Which name was meant?

What      : `nearest` finds the known name that a misspelled one resembles; `unknown_relation` is the error for a name
            that no relation has.
Idea      : `difflib`'s similarity, case ignored; two letters that changed places are similar enough, a different word
            is not. Very long names are not compared.
Never     : nothing is corrected: the user decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tidelog.errors import UsageError

_SHOWN, _LISTED, _COMPARED = 200, 8, 5000
_SIMILAR = 0.7


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that resembles another one most, if one does; never the name itself."""
    from difflib import SequenceMatcher  # not at the top: most names are known

    best, found = _SIMILAR, None
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(name.lower()[:_SHOWN])
    for number, other in enumerate(known):
        if other == name or number > _COMPARED or abs(len(other) - len(name)) > max(2, len(name) // 2):
            continue
        matcher.set_seq1(other.lower()[:_SHOWN])
        if matcher.real_quick_ratio() >= best and matcher.quick_ratio() >= best:
            ratio = matcher.ratio()
            if ratio > best or (ratio == best and found is None):
                best, found = ratio, other
    return found


def unknown_relation(relation: str, known: Sequence[str], inline: Collection[str] = ()) -> UsageError:
    """The error for a relation that is not there, with the name that was probably meant; inline ones are not stored."""
    if relation in inline:
        remedy = (
            f"ask engine.query for what it says of some values, or leave out inline in the declaration of {relation}"
        )
        return UsageError.of(
            "E821", f"{relation} is inline: its rules are used, its facts are not stored", remedy=remedy
        )
    listed = ", ".join(name[:_SHOWN] for name in known[:_LISTED]) or "none yet"
    shown = repr(relation[:_SHOWN]) + ("..." if len(relation) > _SHOWN else "")
    meant = nearest(relation, known)
    remedy = f"did you mean {meant}? known relations: {listed}" if meant else f"known relations: {listed}"
    return UsageError.of("E802", f"there is no relation {shown}", remedy=remedy)
