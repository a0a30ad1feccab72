"""Give the variables of a rule other names, put terms in their place, or others in the place of atoms.

What      : one walk over terms and literals that rebuilds them with renamed variables, and one with changed atoms. A
            variable's new name is a text; a term in its stead replaces the variable.
Invariant : everything but the variables, or the atoms, is kept, places included.
Never     : no decision about which names to give (see printer.py and builder.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Literal,
    Negation,
    Rule,
    Term,
    Variable,
    variables,
)

Names = Mapping[str, str] | Mapping[str, Term]
"""By the name of a variable: its new name, or what comes to stand in its place."""


def rule_variables(rule: Rule) -> Iterator[Variable]:
    """Every occurrence of a variable in a rule: the head's, then the body's, left to right."""
    yield from variables(rule.head)
    for literal in rule.body:
        yield from variables(literal)


def rename_rule(rule: Rule, names: Names) -> Rule:
    """The rule with the variables renamed; names that are not in the mapping stay."""
    return replace(
        rule, head=rename_atom(rule.head, names), body=tuple(rename_literal(literal, names) for literal in rule.body)
    )


def rename_atom(atom: Atom, names: Names) -> Atom:
    """The atom with its variables renamed."""
    return Atom(atom.relation, tuple(rename_term(term, names) for term in atom.terms), atom.place)


def with_atoms(literal: Literal, change: Callable[[Atom], Atom]) -> Literal:
    """The literal with its atoms changed, negated ones and those in aggregates' bodies too."""
    match literal:
        case Atom():
            return change(literal)
        case Negation(atom=atom):
            return Negation(change(atom), literal.place)
        case Aggregate(body=body):
            return replace(literal, body=tuple(with_atoms(inner, change) for inner in body))
    return literal


def rename_literal(literal: Literal, names: Names) -> Literal:
    """The literal with its variables renamed, in aggregates' bodies too."""
    match literal:
        case Atom():
            return rename_atom(literal, names)
        case Negation(atom=atom):
            return Negation(rename_atom(atom, names), literal.place)
        case Comparison(op=op, left=left, right=right):
            return Comparison(op, rename_term(left, names), rename_term(right, names), literal.place)
        case Aggregate(result=result, value=value, body=body):
            return replace(
                literal,
                result=rename_term(result, names),
                value=None if value is None else rename_term(value, names),
                body=tuple(rename_literal(inner, names) for inner in body),
            )


def apart(rule: Rule) -> Rule:
    """The rule with a name of its own for each aggregate's local variable: `y` in two aggregates are two variables.

    A variable is local if it occurs nowhere outside aggregates; it is then known in its aggregate only.
    """
    if sum(isinstance(literal, Aggregate) for literal in rule.body) < 2 and not _is_nested(rule.body):
        return rule
    taken = {variable.name for variable in rule_variables(rule)}
    outside = {variable.name for variable in variables(rule.head)}
    return replace(rule, body=_apart(rule.body, outside, taken))


def _is_nested(body: tuple[Literal, ...]) -> bool:
    return any(isinstance(one, Aggregate) and any(isinstance(inner, Aggregate) for inner in one.body) for one in body)


def _apart(body: tuple[Literal, ...], outside: set[str], taken: set[str]) -> tuple[Literal, ...]:
    """The literals of one scope; `outside` are the names of the scopes around it, `taken` all that are in use."""
    scope = set(outside)
    for literal in body:
        part = literal.result if isinstance(literal, Aggregate) else literal
        scope |= {variable.name for variable in variables(part)}
    known: set[str] = set()
    found: list[Literal] = []
    for literal in body:
        if not isinstance(literal, Aggregate):
            found.append(literal)
            continue
        inner = dict.fromkeys(variable.name for variable in _inside(literal) if variable.name not in scope)
        names = {name: fresh(f"{name}_", taken, 2) for name in inner if name in known}
        known.update(inner)
        value = None if literal.value is None else rename_term(literal.value, names)
        renamed = tuple(rename_literal(one, names) for one in literal.body)
        found.append(replace(literal, value=value, body=_apart(renamed, scope, taken)))
    return tuple(found)


def _inside(aggregate: Aggregate) -> Iterator[Variable]:
    if aggregate.value is not None:
        yield from variables(aggregate.value)
    for literal in aggregate.body:
        yield from variables(literal)


def fresh(word: str, taken: set[str], number: int) -> str:
    """The word with a number behind it, this one or a later one, that is not taken yet; now it is."""
    while f"{word}{number}" in taken:
        number += 1
    taken.add(f"{word}{number}")
    return f"{word}{number}"


def rename_term(term: Term, names: Names) -> Term:
    """The term with its variables renamed."""
    match term:
        case Variable(name=name):
            other = names.get(name, name)
            return Variable(other, term.place) if isinstance(other, str) else other
        case Constant():
            return term
        case Call(function=function, arguments=arguments):
            return Call(function, tuple(rename_term(argument, names) for argument in arguments), term.place)
