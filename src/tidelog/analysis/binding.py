"""Which variables does a body bind?

What      : the variables that have a value once the literals of a body are evaluated, in whatever order works.
Idea      : positive atoms bind their variables; `v = term` binds `v` once the term's variables are bound; an aggregate
            binds its result once its group variables are bound. A literal waits until the last variable that it needs
            is bound.
Invariant : the answer does not depend on the order in which the literals are written.
Never     : it does not judge (safety.py does) and does not choose an order (planning does).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tidelog.analysis.grouping import shared_variables
from tidelog.language.terms import Aggregate, Atom, Comparison, Literal, Variable, variables


def bound_variables(body: Iterable[Literal], given: Iterable[str], in_rule: Counter[str]) -> set[str]:
    """The variables that the literals of a body bind, when the `given` ones are bound already.

    `in_rule` holds the occurrences in the whole rule (grouping.occurrences). Linear in the size of the body.
    """
    bound: set[str] = set()
    waiting: dict[str, list[int]] = {}
    missing: list[int] = []
    gives: list[str] = []
    ready: list[str] = [*given]
    for literal in body:
        if isinstance(literal, Atom):
            ready.extend(term.name for term in literal.terms if isinstance(term, Variable))
        for name, needed in bindings(literal, in_rule):
            for need in needed:
                waiting.setdefault(need, []).append(len(gives))
            missing.append(len(needed))
            gives.append(name)
            if not needed:
                ready.append(name)
    while ready:
        name = ready.pop()
        if name in bound:
            continue
        bound.add(name)
        for step in waiting.get(name, ()):
            missing[step] -= 1
            if not missing[step]:
                ready.append(gives[step])
    return bound


def bindings(literal: Literal, in_rule: Counter[str]) -> Iterator[tuple[str, set[str]]]:
    """What a literal other than an atom can bind, and the variables that it needs for that."""
    match literal:
        case Comparison(op="=", left=left, right=right):
            for side, other in ((left, right), (right, left)):
                if isinstance(side, Variable):
                    yield side.name, {variable.name for variable in variables(other)}
        case Aggregate(result=Variable(name=name)):
            yield name, set(shared_variables(literal, in_rule))
