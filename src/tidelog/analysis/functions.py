"""Are functions and aggregates called as they are defined?

What      : unknown functions, wrong numbers of arguments, and aggregates with a missing or superfluous value (E107).
Idea      : one table of what language/values.py can compute. The parser refuses the same mistakes in text, with the
            same code; this question is for programs that were built without text.
Invariant : a program without problems calls only functions that language/values.py has.
Never     : no types of arguments (types.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.errors import Place, Problem
from tidelog.language.terms import Aggregate, Atom, Call, Comparison, Literal, Negation, Program, Term
from tidelog.language.values import AGGREGATES

MANY = 10**6

FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("+", "-", "*", "/", "%", "^"), (2, 2)),
    **dict.fromkeys(("neg", "abs", "strlen"), (1, 1)),
    **dict.fromkeys(("min", "max", "cat"), (2, MANY)),
    "substr": (3, 3),
}
"""The fewest and the most arguments of each function."""


def problems(program: Program) -> Iterator[Problem]:
    """Every misuse of a function or an aggregate."""
    for rule in program.rules:
        for term in rule.head.terms:
            yield from _term(term, rule.place)
        for literal in rule.body:
            yield from _literal(literal, rule.place)


def _literal(literal: Literal, place: Place | None) -> Iterator[Problem]:
    place = literal.place or place
    match literal:
        case Atom(terms=terms) | Negation(atom=Atom(terms=terms)):
            for term in terms:
                yield from _term(term, place)
        case Comparison(left=left, right=right):
            yield from _term(left, place)
            yield from _term(right, place)
        case Aggregate():
            yield from _aggregate(literal, place)


def _aggregate(aggregate: Aggregate, place: Place | None) -> Iterator[Problem]:
    name, value = aggregate.function, aggregate.value
    if name not in AGGREGATES:
        yield Problem("E107", f"there is no aggregate {name}", place, f"use one of {', '.join(AGGREGATES)}")
    elif value is not None and name == "count":
        yield Problem("E107", "count takes no value", place, "write count : { ... }")
    elif value is None and name != "count":
        yield Problem("E107", f"{name} needs a value", place, f"write {name} v : {{ ... }}")
    for term in (aggregate.result, *(() if value is None else (value,))):
        yield from _term(term, place)
    for literal in aggregate.body:
        yield from _literal(literal, place)


def _term(term: Term, place: Place | None) -> Iterator[Problem]:
    if not isinstance(term, Call):
        return
    place = term.place or place
    fewest, most = FUNCTIONS.get(term.function, (0, MANY))
    if term.function not in FUNCTIONS:
        yield Problem("E107", f"there is no function {term.function}", place, f"use one of {' '.join(FUNCTIONS)}")
    elif not fewest <= len(term.arguments) <= most:
        wanted = f"{fewest}" if fewest == most else f"at least {fewest}"
        sentence = f"{term.function} takes {wanted} argument{'' if wanted == '1' else 's'}, not {len(term.arguments)}"
        yield Problem("E107", sentence, place, "give it the arguments it needs")
    for argument in term.arguments:
        yield from _term(argument, place)
