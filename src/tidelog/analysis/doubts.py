"""What is probably not meant?

What      : variables that occur once in a rule (W202), relations that are read but that nobody fills and no rule
            derives (W201), and inserted relations that no rule knows (W203), each with the name that was likely meant.
Idea      : such programs are right and their results silent: `e(x, alice)` matches everything, `egde(x, y)` nothing.
            Names are typos of each other if one or two letters differ; names that differ in their numbers only are not.
Invariant : a declaration silences doubts about a relation, a leading `_` those about a variable.
Cost      : grows with the rules that are asked about, not with the program.
Never     : nothing is refused: doubts are warnings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

from tidelog.analysis.grouping import occurrences
from tidelog.errors import Place, Problem
from tidelog.language.terms import Rule, Variable, atoms, variables

_SHORT, _LONG = 3, 6
_NUMBERING = re.compile(r"[\d_]+")


def is_typo(name: str, other: str) -> bool:
    """Whether two names differ by a slip of the fingers: one letter, or two in a long name."""
    if name == other or min(len(name), len(other)) < _SHORT or _NUMBERING.sub("", name) == _NUMBERING.sub("", other):
        return False
    allowed = 1 if min(len(name), len(other)) < _LONG else 2
    return abs(len(name) - len(other)) <= allowed and _distance(name.lower(), other.lower()) <= allowed


def meant(name: str, known: Iterable[str]) -> str | None:
    """The known name of which another one is a typo, if there is one."""
    return next((other for other in known if is_typo(name, other)), None)


def single_variables(rules: Iterable[Rule]) -> Iterator[Problem]:
    """Variables that occur once, outside `_` and names that begin with it (W202).

    Only rules that somebody wrote are looked at: those that a program makes have no place in a text, and no typos.
    """
    for rule in rules:
        if rule.place is None:
            continue
        counts = occurrences(rule)
        if 1 not in counts.values():
            continue
        found = (variable for part in (rule.head, *rule.body) for variable in variables(part))
        for variable in found:
            if counts[variable.name] == 1 and not variable.name.startswith("_"):
                yield _single(variable, variable.place or rule.place)


def _single(variable: Variable, place: Place | None) -> Problem:
    name = variable.name
    return Problem(
        "W202",
        f"variable {name} occurs only once, so it matches anything",
        place,
        f'write _ or _{name} for any value, "{name}" for the text',
    )


def unfilled(
    rules: Iterable[Rule],
    is_known: Callable[[str], bool],
    names: Callable[[], Iterable[str]],
    *,
    typos_only: bool = True,
) -> Iterator[Problem]:
    """Relations that the given rules read, but that have no facts, no rules and no declaration (W201).

    `names` lists the relations that have; it is asked only when one has not.
    """
    seen: set[str] = set()
    for relation, place in _read(rule for rule in rules if rule.place is not None):
        if relation in seen or is_known(relation):
            continue
        seen.add(relation)
        likely = meant(relation, names())
        if likely is None and typos_only:
            continue
        question = f"did you mean {likely}? " if likely else ""
        yield Problem(
            "W201",
            f"{relation} has no facts, and no rule derives it",
            place,
            f"{question}a declaration, .decl {relation}(...), says that it may be empty",
        )


def strangers(inserted: Iterable[str], known: Iterable[str]) -> Iterator[Problem]:
    """Relations that facts are inserted into although no rule knows them, if another name was likely meant (W203).

    Classes and properties are passed over: a graph has many that no rule reads.
    """
    names = tuple(known)
    for relation in inserted:
        likely = None if ":" in relation else meant(relation, names)
        if likely is not None:
            yield Problem(
                "W203",
                f"facts of {relation} are inserted, which no rule reads",
                None,
                f"did you mean {likely}? a declaration, .decl {relation}(...), says that it is meant",
            )


def _read(rules: Iterable[Rule]) -> Iterator[tuple[str, Place | None]]:
    for rule in rules:
        for literal in rule.body:
            for atom, _ in atoms(literal):
                yield atom.relation, atom.place or rule.place


def _distance(left: str, right: str) -> int:
    """How many letters have to be changed, added, left out or swapped with their neighbour.

    What both begin and end with costs nothing, and is left out: IRIs of one vocabulary share most of their letters.
    """
    for _ in range(2):  # from the front, then from the back, both turned around
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right)))
        left, right = left[same:][::-1], right[same:][::-1]
    before: list[int] = []
    above = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1]
