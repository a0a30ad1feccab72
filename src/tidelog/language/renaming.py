"""Give the variables of a rule other names.

What      : one walk over terms and literals that rebuilds them with renamed variables.
Invariant : everything but the names is kept, places included.
Never     : no decision about which names to give (see printer.py and builder.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


def rule_variables(rule: Rule) -> Iterator[Variable]:
    """Every occurrence of a variable in a rule: the head's, then the body's, left to right."""
    yield from variables(rule.head)
    for literal in rule.body:
        yield from variables(literal)


def rename_rule(rule: Rule, names: Mapping[str, str]) -> Rule:
    """The rule with the variables renamed; names that are not in the mapping stay."""
    return replace(
        rule, head=rename_atom(rule.head, names), body=tuple(rename_literal(literal, names) for literal in rule.body)
    )


def rename_atom(atom: Atom, names: Mapping[str, str]) -> Atom:
    """The atom with its variables renamed."""
    return Atom(atom.relation, tuple(rename_term(term, names) for term in atom.terms), atom.place)


def rename_literal(literal: Literal, names: Mapping[str, str]) -> Literal:
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


def rename_term(term: Term, names: Mapping[str, str]) -> Term:
    """The term with its variables renamed."""
    match term:
        case Variable(name=name):
            return Variable(names.get(name, name), term.place)
        case Constant():
            return term
        case Call(function=function, arguments=arguments):
            return Call(function, tuple(rename_term(argument, names) for argument in arguments), term.place)
