"""Rules as shards run them: over ids, or over integers where a rule computes.

What      : constants become the ids that facts carry; a rule that only compares for equality never needs values.
Idea      : small integers are their own ids (values/ids.py), so arithmetic and order on integers need no dictionary
            either. Anything else behind a number (a string's order, a float's sum) is for another path.
Invariant : `over_ids` gives None rather than rules that a shard could evaluate wrongly; columns listed in `numeric`
            must hold small integers only, which the shard checks.
Never     : no data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import STANDARD, Naming
from tidelog.language.terms import Atom, Call, Comparison, Constant, Negation, Term, Variable, variables
from tidelog.planning.lowered import BodyLiteral, LoweredRule, Stage

_ON_INTEGERS = frozenset({"+", "-", "*", "/", "%", "^", "neg", "abs", "min", "max"})
_ORDERS = frozenset({"<", "<=", ">", ">="})


@dataclass(frozen=True)
class IdRules:
    """Rules whose constants are ids, or (`is_numeric`) integers; and the columns that arithmetic reads."""

    rules: tuple[LoweredRule, ...]
    is_numeric: bool
    numeric: frozenset[tuple[str, int]]


def over_ids(stage: Stage, naming: Naming = STANDARD) -> IdRules | None:
    """The stage's rules for shards; None if they need values that ids do not carry."""
    if stage.groups:
        return None
    is_numeric = any(True for rule in stage.rules for _ in _computations(rule))
    if is_numeric and not all(_is_on_integers(rule) for rule in stage.rules):
        return None
    rules = stage.rules if is_numeric else tuple(_encoded(rule, naming) for rule in stage.rules)
    columns = (
        frozenset(column for rule in stage.rules for column in _numeric_columns(rule)) if is_numeric else frozenset()
    )
    return IdRules(tuple(rules), is_numeric, columns)


def _computations(rule: LoweredRule) -> Iterator[Term]:
    """The terms whose values matter, not only their identity."""
    yield from (term for term in rule.head.terms if isinstance(term, Call))
    for literal in rule.body:
        if isinstance(literal, Comparison):
            sides = (literal.left, literal.right)
            if literal.op not in ("=", "!="):
                yield from sides
            else:
                yield from (side for side in sides if isinstance(side, Call))


def _is_on_integers(rule: LoweredRule) -> bool:
    """Whether every function and order of the rule is defined on integers, and every constant is a small one."""
    operators = {literal.op for literal in rule.body if isinstance(literal, Comparison)} - {"=", "!="}
    functions = {term.function for term in _terms(rule) if isinstance(term, Call)}
    constants = [term.value for term in _terms(rule) if isinstance(term, Constant)]
    return (
        operators <= _ORDERS
        and functions <= _ON_INTEGERS
        and all(type(value) is int and ids.of_value(value) & ids.TAG == ids.INTEGER for value in constants)
    )


def _terms(rule: LoweredRule) -> Iterator[Term]:
    """Every term of the rule, nested ones included."""
    waiting: list[Term] = list(rule.head.terms)
    for literal in rule.body:
        match literal:
            case Atom(_, terms) | Negation(Atom(_, terms)):
                waiting.extend(terms)
            case Comparison(_, left, right):
                waiting.extend((left, right))
    while waiting:
        term = waiting.pop()
        yield term
        if isinstance(term, Call):
            waiting.extend(term.arguments)


def _numeric_columns(rule: LoweredRule) -> Iterator[tuple[str, int]]:
    """The columns of relations from which a variable of a computation, or one equal to it, may take its values."""
    computed = {variable for term in _computations(rule) for variable in variables(term)}
    size = -1
    while size != len(computed):
        size = len(computed)
        for literal in rule.body:
            if isinstance(literal, Comparison) and literal.op == "=" and computed.intersection(variables(literal)):
                computed.update(variables(literal))
    for literal in rule.body:
        if isinstance(literal, Atom):
            for column, term in enumerate(literal.terms):
                if isinstance(term, Variable) and term in computed:
                    yield literal.relation, column


def _encoded(rule: LoweredRule, naming: Naming) -> LoweredRule:
    def encoded(atom: Atom) -> Atom:
        return Atom(atom.relation, tuple(_term(term, naming) for term in atom.terms))

    def literal(part: BodyLiteral) -> BodyLiteral:
        match part:
            case Atom():
                return encoded(part)
            case Negation(atom):
                return Negation(encoded(atom))
            case Comparison(op, left, right):
                return Comparison(op, _term(left, naming), _term(right, naming))

    return replace(rule, head=encoded(rule.head), body=tuple(map(literal, rule.body)))


def _term(term: Term, naming: Naming) -> Term:
    return Constant(ids.of_value(term.value, naming)) if isinstance(term, Constant) else term
