"""May a recursion take the least or the greatest of its own values?

What      : `verdict` says whether a component that aggregates itself has one meaning all the same: the least fixpoint
            in the order of values, as in shortest paths. If not, it says why.
Idea      : a value that is the result of a recursive `min` is a *cost*. Costs only ever get better while the fixpoint
            is sought, so whatever is derived from them must be derived from better ones as well, with a result at least
            as good: costs flow through sums to other costs, and are compared in the direction in which they improve.
Source    : Ross, Sagiv 1992 (monotone aggregation); Zaniolo et al. 2017 (pre-mappable constraints).
Invariant : a relation has at most one column of costs. In a *strict* component two costs that differ never give the
            same result. So every best value stands on best values, and deletions can be followed
            (maintenance/optima.py).
Never     : no facts; whether a cycle makes costs better for ever is found out by running (a budget ends it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.analysis.components import Component
from tidelog.analysis.grouping import group_variables, occurrences
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
    atoms,
    variables,
)

_BETTER = {"min": ("<", "<="), "max": (">", ">=")}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a component may aggregate itself; `reason` says why not, `is_strict` whether results tell costs apart.

    If it `is_bounded`, a group whose value gets better more than twice by its own former value gets better for ever;
    with quotients it may come to an end.
    """

    reason: str | None = None
    is_strict: bool = True
    is_bounded: bool = True


class _RefusedError(Exception):
    """A reason, on its way out."""


def verdict(component: Component) -> Verdict:
    """The verdict on a recursive component with a `min` or `max` over its own relations."""
    try:
        read = _Reading(component)
        return Verdict(None, read.is_strict, read.is_bounded)
    except _RefusedError as refused:
        return Verdict(str(refused), False)


def recursive_aggregates(component: Component, rule: Rule) -> Iterator[Aggregate]:
    """The aggregates of a rule that read the rule's own component."""
    for literal in rule.body:
        if isinstance(literal, Aggregate) and any(one.relation in component.relations for one, _ in atoms(literal)):
            yield literal


def takes_optima(component: Component) -> bool:
    """Whether a recursive component aggregates itself."""
    return any(True for rule in component.rules for _ in recursive_aggregates(component, rule))


class _Reading:
    """One component, read until its columns of costs are known, and then judged."""

    def __init__(self, component: Component) -> None:
        self._component = component
        self._columns: dict[str, int] = {}
        self.is_strict = self.is_bounded = True
        found = {one.function for rule in component.rules for one in recursive_aggregates(component, rule)}
        if not found <= _BETTER.keys():
            raise _RefusedError(f"{min(found - _BETTER.keys())} of what is not known yet can become anything")
        if len(found) > 1:
            raise _RefusedError("it takes both min and max of itself")
        self._better = _BETTER[found.pop()]
        size = -1
        while len(self._columns) > size:
            size = len(self._columns)
            for rule in component.rules:
                self._note(rule)
        for rule in component.rules:
            self._judge(rule)

    def _note(self, rule: Rule) -> None:
        """Find the column of the head that depends on a cost."""
        costs = self._costs(rule)
        for at, term in enumerate(rule.head.terms):
            is_cost = any(variable in costs for variable in variables(term))
            if is_cost and self._columns.setdefault(rule.head.relation, at) != at:
                raise _RefusedError(f"{rule.head.relation} has two columns that depend on it")

    def _costs(self, rule: Rule) -> set[Variable]:
        """The variables of a rule that stand for costs."""
        costs = set(self._of_atoms(rule.body))
        for aggregate in recursive_aggregates(self._component, rule):
            costs.update(variables(aggregate.result))
        for _ in rule.body:
            for literal in rule.body:
                for variable, term in _definitions(literal):
                    if any(one in costs for one in variables(term)) and variable not in costs:
                        costs.add(variable)
        return costs

    def _of_atoms(self, body: tuple[Literal, ...]) -> Iterator[Variable]:
        for literal in body:
            if isinstance(literal, Atom) and literal.relation in self._columns:
                term = literal.terms[self._columns[literal.relation]]
                if not isinstance(term, Variable):
                    raise _RefusedError(f"a rule asks for one value of it in {literal.relation}")
                yield term

    def _judge(self, rule: Rule) -> None:
        costs, counts = self._costs(rule), occurrences(rule)
        used: Counter[str] = Counter(variable.name for variable in self._of_atoms(rule.body))
        for literal in rule.body:
            used.update(self._uses(rule, literal, costs))
        for term in rule.head.terms:
            if self._direction(term, costs):
                used.update(one.name for one in variables(term) if one in costs)
        head = {one for term in rule.head.terms for one in variables(term)}
        for variable in costs:
            if used[variable.name] != counts[variable.name]:
                raise _RefusedError(
                    f"a rule for {rule.head.relation} uses {variable.name} for more than a better value"
                )
            self.is_strict &= variable in head or self._is_passed_on(rule, variable)

    def _is_passed_on(self, rule: Rule, variable: Variable) -> bool:
        """Whether a cost defines another one."""
        parts = (part for literal in rule.body for _, part in _definitions(literal))
        return any(variable in variables(part) for part in parts)

    def _uses(self, rule: Rule, literal: Literal, costs: set[Variable]) -> Iterator[str]:
        """The places of a literal in which a cost may stand, by the name of the cost."""
        match literal:
            case Aggregate() if any(literal is one for one in recursive_aggregates(self._component, rule)):
                yield from (variable.name for variable in variables(literal.result))
                self._judge_aggregate(rule, literal)
            case Comparison("=", left, right):
                known = set(self._known(rule, literal))
                for side, other in ((left, right), (right, left)):
                    if isinstance(side, Variable) and side not in known and self._direction(other, costs):
                        yield from (one.name for one in (side, *variables(other)) if one in costs)
                        return
            case Comparison(op, left, right):
                for one, other, sense in ((left, right, op), (right, left, _MIRRORED.get(op))):
                    if sense in self._better and self._direction(one, costs) and not self._direction(other, costs):
                        self.is_strict = False
                        yield from (variable.name for variable in variables(one) if variable in costs)

    def _known(self, rule: Rule, beside: Comparison) -> Iterator[Variable]:
        """The costs that a rule has without an equation: who equates two of them asks for one value."""
        yield from self._of_atoms(rule.body)
        for aggregate in recursive_aggregates(self._component, rule):
            yield from variables(aggregate.result)
        for literal in rule.body:
            if isinstance(literal, Comparison) and literal.op == "=" and literal is not beside:
                yield from (side for side in (literal.left, literal.right) if isinstance(side, Variable))

    def _judge_aggregate(self, rule: Rule, aggregate: Aggregate) -> None:
        """Inside: only the aggregated value depends on a cost, and groups do not."""
        if not isinstance(aggregate.result, Variable):
            raise _RefusedError("its result is compared with a value")
        for literal in aggregate.body:
            own = [one for one, _ in atoms(literal) if one.relation in self._component.relations]
            if own and isinstance(literal, Negation | Aggregate):
                raise _RefusedError(f"inside of it {own[0].relation} is negated or aggregated once more")
        costs, groups = set(self._of_atoms(aggregate.body)), set(group_variables(rule, aggregate))
        if any(variable.name in groups for variable in costs):
            raise _RefusedError("it is grouped by its own values")
        inside = Counter(one.name for literal in aggregate.body for one in variables(literal))
        for variable in costs:
            if inside[variable.name] > 1:
                raise _RefusedError(f"inside of it {variable.name} is used for more than a better value")
        assert aggregate.value is not None
        self._direction(aggregate.value, costs)
        self.is_strict &= costs <= set(variables(aggregate.value))

    def _direction(self, term: Term, costs: set[Variable]) -> bool:
        """Whether a term depends on costs; it is refused unless better costs make it better, or leave it as it is."""
        if not any(variable in costs for variable in variables(term)):
            return False
        if isinstance(term, Variable):
            return True
        assert isinstance(term, Call)
        depends = [self._direction(argument, costs) for argument in term.arguments]
        match term.function:
            case "+":
                return True
            case "-" if not depends[-1]:
                return True
            case "*" if any(_is_positive(argument) for argument in term.arguments):
                return True
            case "/" if not depends[1] and _is_positive(term.arguments[1]):
                self.is_strict = self.is_bounded = False
                return True
            case "min" | "max":
                self.is_strict = False
                return True
        raise _RefusedError(f"a better value may make a result of {term.function} worse")


def _definitions(literal: Literal) -> Iterator[tuple[Variable, Term]]:
    """The variables that an equation may define, each with its other side."""
    if isinstance(literal, Comparison) and literal.op == "=":
        for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if isinstance(side, Variable):
                yield side, other


def _is_positive(term: Term) -> bool:
    value = term.value if isinstance(term, Constant) else None
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
