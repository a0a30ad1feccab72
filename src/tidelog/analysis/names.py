"""Is every rule known by one name only?

What      : rule names that are given twice (E108).
Idea      : a name is how an update removes a rule, so it must mean one rule. The parser sees one text only; rules of
            several texts meet here.
Never     : unnamed rules are known by their canonical text (language/printer.py) and may repeat harmlessly.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.errors import Problem
from tidelog.language.terms import Program, Rule


def problems(program: Program) -> Iterator[Problem]:
    """Names that a second rule carries."""
    first: dict[str, Rule] = {}
    for rule in program.rules:
        if rule.name is None:
            continue
        before = first.setdefault(rule.name, rule)
        if before is not rule:
            related = ((before.place, f"the first rule named {rule.name}"),) if before.place else ()
            yield Problem("E108", f"two rules have the name {rule.name}", rule.place, "rename one of them", related)
