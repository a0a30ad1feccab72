"""Is every variable of a rule bound to finitely many values?

What      : names every variable that has no value when its rule is evaluated (E202), and every aggregate whose result
            occurs inside it (E206).
Idea      : positive atoms bind their variables; `v = term` binds `v` once the term's variables are bound; an aggregate
            binds its result once its group variables are bound outside. These steps are repeated, in any order, until
            no further variable becomes bound.
Invariant : a rule without problems has an order of its literals in which every variable is bound before it is needed.
Never     : it does not choose that order (planning does).

A variable that occurs in one negated atom and nowhere else is existential and needs no value. A variable that is
computed with (`p(x + 1)`) always needs one. Group variables are bound outside their aggregate, as in Souffle: an
aggregate's own body does not enumerate its groups, or `count` could never be 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tidelog.analysis.binding import bindings, bound_variables
from tidelog.analysis.grouping import inner_variables, occurrences, shared_variables
from tidelog.errors import Place, Problem
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Variable,
    variables,
)


def problems(program: Program) -> Iterator[Problem]:
    """The unsafe variables of all rules."""
    for rule in program.rules:
        yield from unsafe_variables(rule)


def unsafe_variables(rule: Rule) -> Iterator[Problem]:
    """One problem for each unsafe variable of a rule, at its first occurrence."""
    yield from _Safety(rule).problems()


class _Safety:
    """The examination of one rule."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.in_rule = occurrences(rule)
        self.reported: set[str] = set()

    def problems(self) -> Iterator[Problem]:
        yield from self._groups(self.rule.body, ())
        bound = self._bound(self.rule.body, ())
        for variable in variables(self.rule.head):
            yield from self._head(variable, bound)
        yield from self._body(self.rule.body, bound)

    def _bound(self, body: tuple[Literal, ...], given: tuple[str, ...]) -> set[str]:
        """What a body binds, taking aggregates' results as bound: where groups are unsafe, only they are reported."""
        results = [name for a in body if isinstance(a, Aggregate) for name, _ in bindings(a, self.in_rule)]
        return bound_variables(body, (*given, *results), self.in_rule)

    def _groups(self, body: tuple[Literal, ...], given: tuple[str, ...]) -> Iterator[Problem]:
        bound = bound_variables(body, given, self.in_rule)
        for literal in body:
            if isinstance(literal, Aggregate):
                for name in shared_variables(literal, self.in_rule):
                    if name not in bound:
                        yield from self._group(name, literal)

    def _group(self, name: str, aggregate: Aggregate) -> Iterator[Problem]:
        """A group variable that nothing outside binds; the remedy quotes an atom that would bind it."""
        inner = next(variable for variable in inner_variables(aggregate) if variable.name == name)
        atom = next((a for a in aggregate.body if isinstance(a, Atom) and inner in a.terms), None)
        advice = (
            f"add {_generalised(atom, name)} outside the aggregate" if atom else f"bind {name} outside the aggregate"
        )
        yield from self._report(
            inner,
            f"variable {name} is shared with an aggregate but bound by nothing outside it",
            f"{advice}, or rename {name} inside it",
        )

    def _head(self, variable: Variable, bound: set[str]) -> Iterator[Problem]:
        name = _shown(variable)
        if variable.name in bound:
            return
        if not self.rule.body:
            yield from self._report(
                variable, f"variable {name} occurs in a fact", f"write a constant in place of {name}"
            )
            return
        remedy = "write a bound variable or a constant in place of _"
        if not variable.is_anonymous:
            remedy = f"let {name} occur in a positive atom of the body"
        yield from self._report(variable, f"variable {name} occurs in the head but in no positive body atom", remedy)

    def _body(self, body: Iterable[Literal], bound: set[str]) -> Iterator[Problem]:
        for literal in body:
            match literal:
                case Atom():
                    yield from self._computed(literal, bound)
                case Negation(atom=atom):
                    yield from self._computed(atom, bound)
                    yield from self._negated(atom, bound)
                case Comparison():
                    yield from self._compared(literal, bound)
                case Aggregate():
                    yield from self._aggregated(literal, bound)

    def _computed(self, atom: Atom, bound: set[str]) -> Iterator[Problem]:
        for variable in _unbound((term for term in atom.terms if isinstance(term, Call)), bound):
            name = _shown(variable)
            sentence = f"variable {name} is needed to compute an argument of {atom.relation} but bound by nothing"
            yield from self._report(variable, sentence, f"let {name} occur in a positive atom, not inside a function")

    def _negated(self, atom: Atom, bound: set[str]) -> Iterator[Problem]:
        inside = Counter(variable.name for variable in variables(atom))
        for variable in _unbound(atom.terms, bound):
            name = variable.name
            if self.in_rule[name] > inside[name]:
                yield from self._report(
                    variable,
                    f"variable {name} occurs under ! and elsewhere but in no positive body atom",
                    f"let {name} occur in a positive atom, or in this negated atom only",
                )

    def _compared(self, comparison: Comparison, bound: set[str]) -> Iterator[Problem]:
        for variable in _unbound((comparison.left, comparison.right), bound):
            name = _shown(variable)
            yield from self._report(
                variable,
                f"variable {name} is compared but bound by nothing",
                f"let {name} occur in a positive atom"
                + ("" if variable.is_anonymous else f", or give it a value: {name} = ..."),
            )

    def _aggregated(self, aggregate: Aggregate, bound: set[str]) -> Iterator[Problem]:
        inner = {variable.name for variable in inner_variables(aggregate)}
        for variable in variables(aggregate.result):
            if variable.name in inner:
                yield from self._report(
                    variable,
                    f"variable {variable.name} is the result of an aggregate and occurs inside it",
                    "rename it inside the aggregate",
                    code="E206",
                )
        groups = shared_variables(aggregate, self.in_rule)
        yield from self._groups(aggregate.body, groups)
        inside = self._bound(aggregate.body, groups)
        for variable in _unbound(() if aggregate.value is None else (aggregate.value,), inside):
            yield from self._report(
                variable,
                f"variable {_shown(variable)} is aggregated but in no positive atom of the aggregate",
                f"let {_shown(variable)} occur in a positive atom inside the braces",
            )
        yield from self._body(aggregate.body, inside)
        for variable in _unbound((aggregate.result,), bound):
            yield from self._report(
                variable,
                f"variable {_shown(variable)} is compared with an aggregate but bound by nothing",
                f"let {_shown(variable)} occur in a positive atom",
            )

    def _report(self, variable: Variable, sentence: str, remedy: str, code: str = "E202") -> Iterator[Problem]:
        if variable.name not in self.reported:
            self.reported.add(variable.name)
            yield Problem(code, sentence, _place(variable, self.rule), remedy)


def _unbound(terms: Iterable[Term], bound: set[str]) -> Iterator[Variable]:
    return (variable for term in terms for variable in variables(term) if variable.name not in bound)


def _shown(variable: Variable) -> str:
    return "_" if variable.is_anonymous else variable.name


def _place(variable: Variable, rule: Rule) -> Place | None:
    return variable.place or rule.place


def _generalised(atom: Atom, name: str) -> str:
    """An atom as text, in which only the variable in question is kept."""
    shown = (name if isinstance(term, Variable) and term.name == name else "_" for term in atom.terms)
    return f"{atom.relation}({', '.join(shown)})"
