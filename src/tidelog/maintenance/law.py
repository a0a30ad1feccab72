"""What is told when the one law is broken.

What      : `violations` turns the differences between a materialisation and its recomputation into problems.
Idea      : a few facts of each relation show what is wrong; all of them would drown it.
Invariant : no difference, no problem. Only relations of the user are named: facts of hidden relations are counted, by
            the relation that they serve.
Never     : nothing is recomputed here (a backend does that).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from tidelog.changes.change import FactTable
from tidelog.errors import Problem
from tidelog.language.printer import print_fact
from tidelog.maintenance.schedule import Schedule
from tidelog.planning.lowered import is_hidden

_SHOWN = 3
Compare: TypeAlias = Callable[[Schedule], Mapping[str, tuple[FactTable, FactTable]]]
"""What a backend does: recompute, and give for each relation what is missing and what is too much."""


def violations(compare: Compare, schedule: Schedule) -> list[Problem]:
    """The problems of relations that lack facts (first of each pair) or have too many (second)."""
    return [
        Problem("E901", f"the materialisation {word}: {fact}")
        for relation, (missing, extra) in compare(schedule).items()
        for word, table in (("lacks", missing), ("has too much", extra))
        for fact in _told(relation, table, schedule)
    ]


def _told(relation: str, table: FactTable, schedule: Schedule) -> Iterator[str]:
    if not is_hidden(relation):
        yield from (print_fact(relation, fact) for fact in islice(table, _SHOWN))
    elif len(table):
        yield f"{len(table):,} facts of {schedule.name_of(relation)}"
