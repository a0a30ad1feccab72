"""What else had to hold: the literals of a rule instance that are no atoms, in words.

What      : `conditions` tells, for one instance, which facts were absent, which comparisons held and what each
            aggregate counted; `filled` writes a literal with the values that are known.
Idea      : a reader wants the values, not the variables: `there is no edge("n1", _)`. An aggregate names its first
            members and says how many there are.
Invariant : no variable stays open: what has no value is existential and shows as `_`.
Never     : no search for proofs; members of aggregates are looked up only for instances that end up in a proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key, partial

from tidelog.language.partial import holds
from tidelog.language.printer import print_fact, print_literal, print_value
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Literal,
    Negation,
    Term,
    Variable,
)
from tidelog.provenance.instances import Bound, Facts, Instance, given, is_bound, members, scope_of

_MEMBERS = 3
"""How many members of an aggregate are shown; of a least or greatest value the best ones."""
_BETTER = {"min": "less", "max": "greater"}


def conditions(instance: Instance, facts: Facts) -> tuple[str, ...]:
    """The other literals of an instance in the order of its rule."""
    rule, bound = instance.rule, instance.bound
    scope = scope_of(rule.body) | bound.keys()
    return tuple(told(literal, bound, scope, facts) for literal in rule.body if not isinstance(literal, Atom))


def told(literal: Literal, bound: Bound, scope: set[str], facts: Facts) -> str:
    """A literal that holds, in words."""
    match literal:
        case Negation(atom=atom):
            return f"there is no {filled(atom, bound)}"
        case Comparison(op=op, left=left, right=right) if is_bound(left, bound) and is_bound(right, bound):
            return print_literal(Comparison(op, Constant(given(left, bound)), Constant(given(right, bound))))
        case Aggregate(result=result):
            of_what = f"{print_value(given(result, bound))} is the {literal.function}"
            return f"{of_what} {_counted(literal, bound, scope, facts)}"
    return filled(literal, bound)


def filled(literal: Literal, bound: Bound) -> str:
    """A literal with the values that are known; variables without a value show as `_`."""
    match literal:
        case Atom(relation=relation, terms=terms):
            return print_literal(Atom(relation, tuple(_filled(term, bound) for term in terms)))
        case Negation(atom=atom):
            return f"!{filled(atom, bound)}"
        case Comparison(op=op, left=left, right=right):
            return print_literal(Comparison(op, _filled(left, bound, "x"), _filled(right, bound, "x")))
        case Aggregate(result=result, function=function, value=value, body=body):
            inside = tuple(_inside(one, bound) for one in body)
            return print_literal(Aggregate(_filled(result, bound, "x"), function, value, inside))


def _inside(literal: Literal, bound: Bound) -> Literal:
    """A literal of an aggregate with the values of its group; its own variables keep their names."""
    match literal:
        case Atom(relation=relation, terms=terms):
            return Atom(relation, tuple(_filled(term, bound, "x") for term in terms))
        case Negation(atom=Atom(relation=relation, terms=terms)):
            return Negation(Atom(relation, tuple(_filled(term, bound, "x") for term in terms)))
        case Comparison(op=op, left=left, right=right):
            return Comparison(op, _filled(left, bound, "x"), _filled(right, bound, "x"))
    return literal


def _filled(term: Term, bound: Bound, open_: str = "") -> Term:
    """A term with the values that are known; `open_` keeps the names of those that are not."""
    match term:
        case Variable():
            return Constant(bound[term.name]) if term.name in bound else term if open_ else Variable("_:open")
        case Call(function=function, arguments=arguments):
            if is_bound(term, bound):
                return Constant(given(term, bound))
            return Call(function, tuple(_filled(argument, bound, "x") for argument in arguments))
    return term


def _counted(goal: Aggregate, bound: Bound, scope: set[str], facts: Facts) -> str:
    """What an aggregate was taken over: its first members, and how many there are."""
    found = members(goal, bound, scope, facts)
    if not found:
        return f"of nothing: there is no {_open(goal, bound)}"
    better = _BETTER.get(goal.function)
    if better is not None:
        found.sort(key=cmp_to_key(partial(_order, goal, better)))
    shown = "; ".join(_member(goal, each) for each in found[:_MEMBERS])
    none_is = "" if better is None else f", none {better} than these"
    more = f"; ... {len(found) - _MEMBERS:,} more{none_is}" if len(found) > _MEMBERS else ""
    return f"of {len(found):,}: {shown}{more}"


def _order(goal: Aggregate, better: str, one: Bound, other: Bound) -> int:
    """Members with better values come first."""
    assert goal.value is not None
    left, right, op = given(goal.value, one), given(goal.value, other), "<" if better == "less" else ">"
    return -1 if holds(op, left, right) else int(holds(op, right, left))


def _member(goal: Aggregate, each: Bound) -> str:
    """One member: the facts it is made of, with the value that is aggregated unless it is plainly there."""
    made = _facts(goal.body, each)
    if goal.value is None or isinstance(goal.value, Variable):
        return made or "true"
    return f"{print_value(given(goal.value, each))} from {made}" if made else print_value(given(goal.value, each))


def _facts(body: Iterable[Literal], each: Bound) -> str:
    atoms = [literal for literal in body if isinstance(literal, Atom)]
    return ", ".join(print_fact(one.relation, [given(term, each) for term in one.terms]) for one in atoms)


def _open(goal: Aggregate, bound: Bound) -> str:
    atoms = [filled(literal, bound) for literal in goal.body if isinstance(literal, Atom)]
    return " with ".join(atoms) or print_literal(goal)
