"""Why a fact is not there.

What      : `absence` names, for each rule that could derive a fact, the literal that fails first.
Idea      : bind the head's variables to the fact and decide one literal after another, as the search for proofs does
            (instances.py), for all substitutions at once. The first literal that leaves no substitution fails.
Invariant : a rule named here has no instance for the fact: if it had one, the fact would be there.
Cost      : what the literals before the failing one match, at most `MOST` substitutions per literal.
Never     : nothing is derived, and nothing is looked for below the first failing literal: ask again for that.

    path("a", "z") is not there
      path(x, z) :- edge(x, y), path(y, z).
        edge("a", y) holds for y = "b", but there is no path("b", "z")
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tidelog.errors import EvaluationError
from tidelog.language.printer import print_fact, print_rule, print_value
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Literal,
    Negation,
    Rule,
    Value,
    Variable,
    variables,
)
from tidelog.provenance.conditions import filled
from tidelog.provenance.instances import Bound, Fact, Facts, aggregated, extensions, is_bound, next_goal, scope_of

MOST = 10_000
"""How many substitutions are followed; the first ones are as good as others to show what is missing."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule, what holds up to the literal that fails first, and that literal; both in words."""

    rule: Rule
    holds: str
    fails: str
    literal: Literal | None
    """The literal itself; None if the head does not fit."""

    def __str__(self) -> str:
        return f"{self.holds}, but {self.fails}" if self.holds else self.fails


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a fact is not there: one reason per rule that could derive it, and notes where there is none."""

    relation: str
    values: tuple[Value, ...]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        fact = print_fact(self.relation, self.values)
        return f"<Absence of {fact}: {len(self.failures)} rules could derive it>"

    def __str__(self) -> str:
        lines = [f"{print_fact(self.relation, self.values)} is not there"]
        for failure in self.failures:
            lines += [f"  {print_rule(failure.rule.as_written)}", f"    {failure}"]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        from tidelog.changes.html import lines_html

        return lines_html(str(self))


def absence(fact: Fact, rules: Iterable[Rule], facts: Facts) -> Absence:
    """Why a fact is not there, given that it is not."""
    relation, values = fact
    able = [rule for rule in rules if rule.head.relation == relation]
    notes = () if able else ("no rule derives it, and nobody inserted it", *_strangers(fact, facts))
    return Absence(relation, values, tuple(_failure(rule, values, facts) for rule in able), notes)


def _failure(rule: Rule, values: Sequence[Value], facts: Facts) -> Failure:
    scope = scope_of(rule.body) | {variable.name for variable in variables(rule.head)}
    bound = _fitting(rule, values)
    if bound is None:
        return Failure(rule, "", f"its head {filled(rule.head, {})} does not fit", None)
    goals: list[Literal] = list(rule.body)
    computed = [
        Comparison("=", term, Constant(value))
        for term, value in zip(rule.head.terms, values)
        if not isinstance(term, Variable | Constant)
    ]
    goals += computed
    found, held = [bound], list[Literal]()
    while goals:
        goal = next_goal(goals, found[0], scope)
        following, undefined = _extended(goal, found, scope, facts)
        if not following:
            return Failure(rule, _holding(held, found), _failing(goal, found, scope, facts, undefined), goal)
        goals = [other for other in goals if other is not goal]
        held.append(goal)
        found = following
    return Failure(rule, "", "it derives the fact: see engine.verify", None)


def _fitting(rule: Rule, values: Sequence[Value]) -> Bound | None:
    """The head's variables as the fact says; None if a constant or a repeated variable says otherwise."""
    bound: Bound = {}
    for term, value in zip(rule.head.terms, values):
        known = Constant(value)
        if isinstance(term, Constant) and term != known:
            return None
        if isinstance(term, Variable) and Constant(bound.setdefault(term.name, value)) != known:
            return None
    return bound


def _extended(goal: Literal, found: list[Bound], scope: set[str], facts: Facts) -> tuple[list[Bound], str | None]:
    """The substitutions that a goal leaves, and the sentence of an error if it has no value for one."""
    following: list[Bound] = []
    undefined = None
    for bound in found:
        try:
            for extended in extensions(goal, bound, scope, facts):
                following.append(extended)
                if len(following) >= MOST:
                    return following, undefined
        except EvaluationError as error:
            undefined = error.problems[0].sentence
    return following, undefined


def _holding(held: Sequence[Literal], found: Sequence[Bound]) -> str:
    """The atoms that were matched before, with the values that they gave."""
    if not held:
        return ""
    shown = ", ".join(filled(literal, found[0]) for literal in held)
    more = f" (and {len(found) - 1:,} more)" if len(found) > 1 else ""
    return f"{shown}{more} {'hold' if len(held) > 1 or len(found) > 1 else 'holds'}"


def _failing(goal: Literal, found: Sequence[Bound], scope: set[str], facts: Facts, undefined: str | None) -> str:
    bound = found[0]
    for_all = f" (nor for the {len(found) - 1:,} others)" if len(found) > 1 else ""
    if undefined is not None:
        return undefined
    match goal:
        case Atom():
            return f"there is no {filled(goal, bound)}{for_all}"
        case Negation(atom=atom):
            blocking = next(extensions(atom, bound, scope, facts), bound)
            return f"{filled(atom, blocking)} is there{for_all}"
        case Comparison():
            return f"{filled(goal, bound)} does not hold{for_all}"
        case Aggregate(result=result):
            value = aggregated(goal, bound, scope, facts)
            if value is None:
                return f"the {goal.function} is over nothing{for_all}"
            wanted = filled(Comparison("=", result, result), bound).partition(" = ")[0]
            is_known = is_bound(result, bound)
            return f"the {goal.function} is {print_value(value)}" + (f", not {wanted}" if is_known else "") + for_all


def _strangers(fact: Fact, facts: Facts) -> Iterator[str]:
    """The values of a fact that its relation has nowhere in their column: often a typo."""
    relation, values = fact
    for at, value in enumerate(values):
        terms = tuple(Constant(value) if other == at else Variable(f"_:{other}") for other in range(len(values)))
        if not any(True for _ in facts.matching(Atom(relation, terms))):
            yield f"no fact of {relation} has {print_value(value)} in column {at + 1}"
