"""Which plans a call of the store runs, and over which rows.

What      : for facts that drive, rules as a whole and heads to be proved: the executables and their driving rows; and
            the same as plans, for a supply (local/supply.py) that has to know before they run.
Idea      : a call names facts and a stage; what it comes down to is a list of executables, which is the same whether
            they run or are announced.
Invariant : every rule and literal that the facts can drive is there once.
Never     : nothing runs here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tidelog.backends.local.joins.bundle import MOST_DRIVING
from tidelog.backends.local.joins.executable import Executable
from tidelog.backends.local.joins.preparation import NO_DRIVER, Crew, Preparation
from tidelog.backends.local.joins.row_lookups import first_of_each
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.facts import LocalFacts
from tidelog.backends.local.relations.relation import Relation
from tidelog.backends.local.supply import Supply
from tidelog.planning.lowered import LoweredRule
from tidelog.planning.plan import Driver
from tidelog.planning.views import Matching

Relations = Mapping[str, Relation]
_MANY_LITERALS = 4
"""From how many literals on it pays to ask a bundle first which of them match: asking takes about as long as two."""


def driven(
    prepared: Preparation,
    relations: Relations,
    driving: LocalFacts,
    blocking: LocalFacts,
    matching: Matching,
    ask_budget: Callable[[], None],
    scratch: Array | None = None,
) -> Iterator[tuple[Executable, Array]]:
    """The executable of each rule and literal that the facts drive, with the row numbers of the driving facts.

    `ask_budget` is called before each literal and raises when a budget is used up. With `scratch`, literals for which a
    few facts have no match are left out: a bundle finds them in one kernel call.
    """
    for name, rows in driving.parts.items():
        places = prepared.driven.get(name, ())
        if scratch is not None and len(rows) <= MOST_DRIVING and len(places) >= _MANY_LITERALS:
            useful = _with_matches(prepared.crew(name, Driver.LITERAL, matching), relations[name].table(rows), scratch)
        else:
            useful = (prepared.executable(rule, Driver.LITERAL, literal, matching) for rule, literal in places)
        for executable in useful:
            ask_budget()
            yield executable, rows
    for name, rows in blocking.parts.items():
        for rule, literal in prepared.blocked.get(name, ()):
            executable = prepared.executable(rule, Driver.LITERAL, literal, matching)
            first = first_of_each(relations[name].rows[rows], executable.plan.columns)
            yield executable, rows[first]


def _with_matches(crew: Crew, driving: Array, scratch: Array) -> Iterable[Executable]:
    """The executables of a crew that match, and those of which a bundle cannot tell."""
    if crew.bundle is None:
        return crew.everyone
    found = crew.bundle.matches(driving, scratch)
    return [*crew.others, *found.unfinished, *(executable for executable, _ in found.hits)]


def announce_driven(
    supply: Supply,
    prepared: Preparation,
    relations: Relations,
    driving: LocalFacts,
    blocking: LocalFacts,
    matching: Matching,
) -> None:
    """Tell a supply what `driven` will run."""
    found = driven(prepared, relations, driving, blocking, matching, lambda: None)
    calls = [(executable.plan, relations[executable.plan.relation or ""].rows[rows]) for executable, rows in found]
    supply.look_ups(prepared.stage, matching, calls)


def announce_all(supply: Supply, prepared: Preparation, rules: Sequence[LoweredRule], matching: Matching) -> None:
    """Tell a supply that all instances of rules will be enumerated."""
    calls = [(prepared.executable(rule, Driver.NOTHING, None, matching).plan, NO_DRIVER) for rule in rules]
    supply.look_ups(prepared.stage, matching, calls)


def announce_heads(
    supply: Supply, prepared: Preparation, relations: Relations, heads: LocalFacts, matching: Matching
) -> None:
    """Tell a supply that instances with given heads will be looked for."""
    calls = [
        (prepared.executable(rule, Driver.HEAD, None, matching).plan, relations[name].rows[rows])
        for name, rows in heads.parts.items()
        for rule in prepared.heads.get(name, ())
    ]
    supply.look_ups(prepared.stage, matching, calls)
