"""Stages of missing values that have no facts, known before they are derived.

What      : `is_empty` says of a stage that finds instances without a value (planning/undefined.py) that there are none.
Idea      : two integers can always be compared. Files know which kinds of constants a column holds (its tags), so for
            most rules with an order nothing has to be looked at. Arithmetic is another matter: it may overflow.
Invariant : True only if no rule of the stage has an instance; False says nothing.
Never     : no facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidelog.backends.spark.values.ids import INTEGER
from tidelog.language.partial import ALL, UNDEFINED, as_function
from tidelog.language.terms import Atom, Call, Comparison, Constant, Term, Variable
from tidelog.planning.lowered import LoweredRule, Stage

Tags = Callable[[str], Sequence[int] | None]
"""For every column of a relation a number with one bit for each tag that occurs in it; None if that is not known."""
_ORDERS = frozenset(map(as_function, ("<", "<=", ">", ">=")))


def is_empty(stage: Stage, tags: Tags) -> bool:
    """Whether every rule of the stage waits for a value to be missing that cannot be."""
    return stage.finds_undefined and not stage.groups and all(_is_void(rule, tags) for rule in stage.rules)


def _is_void(rule: LoweredRule, tags: Tags) -> bool:
    integers = {variable for literal in rule.body if isinstance(literal, Atom) for variable in _integers(literal, tags)}
    wanted = [one.left for one in rule.body if isinstance(one, Comparison) and one.op == UNDEFINED]
    return any(_has_value(term, integers) for term in wanted)


def _integers(atom: Atom, tags: Tags) -> set[Variable]:
    """The variables of an atom that stand for small integers."""
    pairs = zip(atom.terms, tags(atom.relation) or ())
    return {term for term, found in pairs if isinstance(term, Variable) and found == 1 << INTEGER}


def _has_value(term: Term, integers: set[Variable]) -> bool:
    match term:
        case Call(function, arguments) if function == ALL:
            return all(_has_value(one, integers) for one in arguments)
        case Call(function, arguments) if function in _ORDERS:
            return all(one in integers or (isinstance(one, Constant) and type(one.value) is int) for one in arguments)
    return False
