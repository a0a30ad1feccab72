"""Instances without a value, counted by brute force.

What      : `without_value` gives, for every rule (and for the members of its aggregates), the matches of its body that
            derive nothing because a value is missing, although nothing else that can be looked at speaks against them.
Idea      : the definition of docs/decisions/0014-arithmetic-without-a-value.md, read aloud: bind the early atoms in
            every way, then go through the computed values one after the other, leaving out what needs a missing one.
Invariant : an instance is told by the values of the variables of its early atoms (analysis/computed.py).
Never     : no maintenance; one version of the facts is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tidelog.analysis.components import components
from tidelog.analysis.computed import Computed, computed
from tidelog.analysis.flat_rules import flattened
from tidelog.analysis.group_binders import closing_literals
from tidelog.language.partial import aggregate, apply, as_function
from tidelog.language.printer import canonical_text
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
    Value,
    Variable,
    variables,
)
from tidelog.reference.evaluation import holds, members, solve
from tidelog.reference.facts import Key, View, from_key, to_key

Found = dict[str, Key]


def without_value(rules: Sequence[Rule], facts: View) -> dict[str, set[tuple[Key, ...]]]:
    """For each rule, by its text, the instances without a value; of equal aggregates the members count once."""
    found: dict[str, set[tuple[Key, ...]]] = {}
    for rule, counted in _with_members(rules):
        flat = flattened(rule)
        elsewhere = [] if counted is None else [one for one in rule.body if one not in counted]
        lacking = _Lacking(flat, facts, [one for one in flat.body if one not in elsewhere]).instances()
        found[canonical_text(replace(rule, name=None))] = lacking
    return found


def _with_members(rules: Sequence[Rule]) -> Iterator[tuple[Rule, Sequence[Literal] | None]]:
    """Every rule, and a rule for the members of each aggregate, whose own literals alone count."""
    own = {
        relation: component.relations if component.is_recursive else frozenset()
        for component in components(rules)
        for relation in component.relations
    }
    waiting: list[tuple[Rule, Sequence[Literal] | None]] = [(rule, None) for rule in rules]
    while waiting:
        rule, counted = waiting.pop()
        yield rule, counted
        for one in rule.body:
            if isinstance(one, Aggregate):
                closing = closing_literals(rule, one, own.get(rule.head.relation, frozenset()))
                value = () if one.value is None else (one.value,)
                waiting.append((Rule(Atom(f"{one.function} of", value), closing + one.body), one.body))


class _Lacking:
    """One rule."""

    def __init__(self, rule: Rule, facts: View, counted: Sequence[Literal]) -> None:
        self.rule, self.facts, self.counted = rule, facts, counted
        self.split: Computed = computed(rule)

    def instances(self) -> set[tuple[Key, ...]]:
        """The values of the early variables of every instance that lacks a value."""
        atoms = [(at, one) for at, one in enumerate(self.split.early) if isinstance(one, Atom)]
        views = [self.facts] * len(self.split.early)
        names = [variable.name for variable in self.split.columns]
        return {
            tuple(found[name] for name in names)
            for found, _ in solve(list(atoms), views, {}, set(names))
            if self._lacks(found)
        }

    def _lacks(self, found: Found) -> bool:
        known = self._aliases(found)
        others = [one for one in self.split.early if not isinstance(one, Atom)]
        found_ways = self._matches(others, known)
        return any(self._from(0, matched, is_lacking, frozenset()) for matched, is_lacking in found_ways)

    def _from(self, number: int, found: Found, is_lacking: bool, missing: frozenset[Variable]) -> bool:
        """Whether an instance that was right up to a step is right after it, and lacks a value somewhere."""
        if number == len(self.split.steps):
            if not self._no_test_fails(found):
                return False
            return is_lacking or any(self._value(term, found) is None for term in self._others())
        step = self.split.steps[number]
        term = self.split.spelled(step.variable)
        without = missing | {step.variable}
        if not self._has(term, found):
            return self._from(number + 1, found, is_lacking, without)
        value = self._value(term, found)
        if value is None:
            is_own = step.equation in self.counted or bool(missing & self.split.needs(step.term))
            return is_own and self._from(number + 1, found, True, without)
        known = self._aliases({**found, step.variable.name: to_key(value)})
        late = [one for one in step.late if not missing & set(variables(one))]
        ways = self._matches(late, known)
        return any(self._from(number + 1, matched, is_lacking or lacks, missing) for matched, lacks in ways)

    def _matches(self, literals: Sequence[Literal], found: Found) -> Iterator[tuple[Found, bool]]:
        """Every way to make the literals true, and whether an aggregate lacks a value in it."""
        ready = next((one for one in literals if isinstance(one, Atom)), None) or next(iter(literals), None)
        if ready is None:
            yield found, False
            return
        rest = [one for one in literals if one is not ready]
        match ready:
            case Atom():
                for matched, _ in solve([(0, ready)], [self.facts], found, set(found)):
                    yield from self._matches(rest, self._aliases(matched))
            case Aggregate():
                yield from self._aggregated(ready, rest, found)
            case Negation() if not self._is_open(ready, found):
                if holds(ready, found, self.facts):
                    yield from self._matches(rest, found)
            case _:
                yield from self._matches(rest, found)

    def _aggregated(self, literal: Aggregate, rest: list[Literal], found: Found) -> Iterator[tuple[Found, bool]]:
        values = members(literal, self.facts, found)
        result = aggregate(literal.function, values)
        if result is None:
            if values:
                yield from ((matched, True) for matched, _ in self._matches(rest, found))
            return
        match literal.result:
            case Variable(name=name) if name not in found:
                yield from self._matches(rest, self._aliases({**found, name: to_key(result)}))
            case term if self._value(term, found) is not None and to_key(self._value(term, found)) == to_key(result):  # type: ignore[arg-type]
                yield from self._matches(rest, found)

    def _is_open(self, negation: Negation, found: Found) -> bool:
        """Whether a variable of a negated atom that others know has no value here."""
        inside = {variable.name for variable in variables(negation)}
        elsewhere = {
            v.name for part in (self.rule.head, *self.rule.body) if part is not negation for v in variables(part)
        }
        return bool(inside & elsewhere - found.keys())

    def _aliases(self, found: Found) -> Found:
        """Equations between plain terms bind what they can."""
        known = dict(found)
        for _ in self.split.tests:
            for test in self.split.tests:
                for side, other in ((test.left, test.right), (test.right, test.left)):
                    is_new = test.op == "=" and isinstance(side, Variable) and side.name not in known
                    if is_new and not isinstance(other, Call) and self._has(other, known):
                        value = self._value(other, known)
                        assert isinstance(side, Variable)
                        assert value is not None
                        known[side.name] = to_key(value)
        return known

    def _no_test_fails(self, found: Found) -> bool:
        return all(self._value(call, found) is not False for _, call in self._tests() if self._has(call, found))

    def _tests(self) -> Iterator[tuple[Comparison, Term]]:
        for test in self.split.tests:
            sides = (self.split.spelled(test.left), self.split.spelled(test.right))
            yield test, Call(as_function(test.op), sides)

    def _others(self) -> Iterator[Term]:
        """The values that no literal waits for."""
        for variable, equation in self.split.inlined.items():
            if equation in self.counted:
                yield self.split.spelled(variable)
        yield from (call for test, call in self._tests() if test in self.counted)
        yield from (self.split.spelled(term) for term in self.rule.head.terms if isinstance(term, Call))

    def _has(self, term: Term, found: Found) -> bool:
        return all(variable.name in found for variable in variables(self.split.spelled(term)))

    def _value(self, term: Term, found: Found) -> Value | None:
        match term:
            case Variable(name=name):
                return from_key(found[name])
            case Constant(value=value):
                return value
            case Call(function=function, arguments=arguments):
                return apply(function, [self._value(argument, found) for argument in arguments])
