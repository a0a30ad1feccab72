"""Is negation or aggregation used inside a recursion?

What      : a program has one meaning only if no relation depends on its own negation or aggregation. One exception is
            the least or greatest of values that only get better (optima.py).
Idea      : such a dependency is a non-monotone literal that reads its own component (Przymusinski 1989; the ZodiacEdge
            paper, section 4.2: the HRDG must be acyclic). The shortest way back from it names the cycle.
Invariant : no problem is reported if and only if the program can be stratified, or all that hinders it is a `min` or
            `max` that is monotone.
Never     : no repair; the user decides which rule of the cycle to change.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.analysis.components import Component, components, relations_read
from tidelog.analysis.optima import Verdict, takes_optima, verdict
from tidelog.errors import Place, Problem
from tidelog.language.terms import Aggregate, Atom, Program, Rule, atoms

CYCLES_PER_COMPONENT = 10
"""A component with more violations than this is reported by its first ones: repairing those changes the rest."""

RULES_PER_CYCLE = 20
"""A longer cycle is shown by this many of its rules."""


def problems(program: Program, *, allows_optima: bool = True) -> Iterator[Problem]:
    """One problem for each way in which a relation depends on its own negation (E204) or aggregation (E205).

    `allows_optima` says whether a monotone `min` or `max` is allowed in a cycle.
    """
    for component in components(program.rules):
        if component.is_recursive:
            for index, violation in enumerate(_violations(component, allows_optima)):
                if index == CYCLES_PER_COMPONENT:
                    break
                yield _problem(component, *violation)


def _violations(component: Component, allows_optima: bool) -> Iterator[tuple[Rule, Atom, Place | None, str | None]]:
    """Rules with a non-monotone atom of their own component, once for each pair of head and atom relation.

    Last comes why an aggregate is not allowed; None for a negation.
    """
    seen: set[tuple[str, str]] = set()
    judged = verdict(component) if takes_optima(component) else Verdict()
    if judged.reason is None and not allows_optima:
        judged = Verdict("an algorithm as published takes no aggregate of what it is deriving")
    for rule in component.rules:
        for literal in rule.body:
            if isinstance(literal, Aggregate) and judged.reason is None:
                continue
            for atom, is_monotone in atoms(literal):
                pair = rule.head.relation, atom.relation
                if not is_monotone and atom.relation in component.relations and pair not in seen:
                    seen.add(pair)
                    reason = judged.reason if isinstance(literal, Aggregate) else None
                    yield rule, atom, literal.place or atom.place or rule.place, reason


def _problem(component: Component, rule: Rule, atom: Atom, place: Place | None, reason: str | None) -> Problem:
    is_aggregate = reason is not None
    code, what = ("E205", "aggregation") if is_aggregate else ("E204", "negation")
    cycle = [(rule, atom.relation), *way_back(component, atom.relation, rule.head.relation)]
    steps = [f"{step.head.relation} reads {read}" for step, read in cycle]
    steps[0] = f"{rule.head.relation} reads {'{' + atom.relation + '}' if is_aggregate else '!' + atom.relation}"
    if len(steps) > RULES_PER_CYCLE:
        steps[RULES_PER_CYCLE - 1 : -1] = [f"... {len(steps) - RULES_PER_CYCLE} more ..."]
    related = [
        (step.place, f"rule {number} of the cycle{f', {step.name},' if step.name else ''} derives {step.head.relation}")
        for number, (step, _) in enumerate(cycle[:RULES_PER_CYCLE], start=1)
        if step.place is not None
    ]
    return Problem(
        code,
        f"{rule.head.relation} depends on its own {what}: {', '.join(steps)}{f'; {reason}' if reason else ''}",
        place,
        f"change one rule of the cycle so that {atom.relation} no longer needs {rule.head.relation}"
        if atom.relation != rule.head.relation
        else f"{'aggregate' if is_aggregate else 'negate'} a relation that does not need {rule.head.relation}",
        tuple(related),
    )


def way_back(component: Component, start: str, goal: str) -> list[tuple[Rule, str]]:
    """The shortest chain of rules that derive `start` by reading ... `goal`, with the relation that each reads."""
    if start == goal:
        return []
    deriving: dict[str, list[Rule]] = {}
    for rule in component.rules:
        deriving.setdefault(rule.head.relation, []).append(rule)
    reached_by: dict[str, tuple[Rule, str]] = {}
    frontier = [start]
    for relation in frontier:
        for rule in deriving[relation]:
            for read in relations_read(rule):
                if read in component.relations and read not in reached_by:
                    reached_by[read] = (rule, read)
                    frontier.append(read)
        if goal in reached_by:
            break
    chain = [reached_by[goal]]
    while chain[-1][0].head.relation != start:
        chain.append(reached_by[chain[-1][0].head.relation])
    return chain[::-1]
