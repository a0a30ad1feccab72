"""Rules that find the instances without a value.

What      : for a rule whose arithmetic or comparisons can be without a value, rules of our own whose facts are the
            instances of it that lack one, although everything else about them that can be looked at is right.
Idea      : an instance without a value is no instance of its rule. To count such instances, and to refuse an update
            that brings them, they are facts of a hidden relation that is maintained like any other: then their number
            is right after every update, whatever the strategy, the backend and the history, and costs what changes.
Source    : docs/decisions/0014-arithmetic-without-a-value.md.
Invariant : the columns are the variables of early atoms (analysis/computed.py), so a fact is one instance. It is there
            iff some computed value is missing, no comparison fails, and all literals hold that need no missing value.
Never     : a rule without arithmetic, order, patterns and sums gets no such rules, and costs nothing.

    r(x, z) :- q(x, y), z = x / y.         is counted by
    @undefined(x, y) :- q(x, y), @undefined(x / y).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product

from tidelog.analysis.computed import Computed, Step, computed, is_partial
from tidelog.analysis.grouping import occurrences
from tidelog.language.partial import ALL, MAYBE, UNDEFINED, as_function
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
    Variable,
    variables,
)
from tidelog.planning.lowered import UNDEFINED_PREFIX, BodyLiteral, LoweredRule

_TOGETHER = 5
"""Up to this number of computed values that literals wait for, every set of them can be missing together: 31 bodies.
With more, what comes after the first missing one is not looked at, and instances can be counted too many."""
_TRUE = Constant(value=True)
Body = list[BodyLiteral]


@dataclass(frozen=True, slots=True)
class Options:
    """The literals that stand for an aggregate: ways to hold, and the one way to have no value, if there is one."""

    holds: Sequence[Body]
    lacks: Body | None


def undefined_rules(
    rule: Rule, options: Mapping[int, Options], counted: Collection[Literal], source: Rule
) -> Iterator[LoweredRule]:
    """The rules for the instances of a flat rule that lack a value.

    `options` holds the lowered form of aggregates by their identity. Only values of `counted` literals and of the head
    are counted; others belong to another rule.
    """
    if not _can_lack(rule, options):
        return
    finder = _Finder(rule, computed(rule), options, counted)
    relation = f"{UNDEFINED_PREFIX}/{len(finder.columns)}: {canonical_text(Rule(rule.head, rule.body))}"
    head = Atom(relation, finder.columns)
    for body in finder.bodies():
        yield LoweredRule(relation, head, tuple(body), source)


def _can_lack(rule: Rule, options: Mapping[int, Options]) -> bool:
    """Whether an instance of the rule can be without a value."""
    return (
        any(isinstance(term, Call) for term in rule.head.terms)
        or any(isinstance(one, Comparison) and is_partial(one.op, one.left, one.right) for one in rule.body)
        or any(option.lacks is not None for option in options.values())
    )


class _Finder:
    """The bodies for one rule."""

    def __init__(
        self, rule: Rule, split: Computed, options: Mapping[int, Options], counted: Collection[Literal]
    ) -> None:
        self.rule, self.split, self.options, self.counted = rule, split, options, counted
        self.columns = split.columns
        self._in_rule = occurrences(rule)
        calls = [
            (test, Call(as_function(test.op), (split.spelled(test.left), split.spelled(test.right))))
            for test in split.tests
        ]
        self._partial = [(test, call) for test, call in calls if is_partial(test.op, *call.arguments)]
        self._total = [test for test, call in calls if not is_partial(test.op, *call.arguments)]

    def bodies(self) -> Iterator[Body]:
        """One body for each set of values that are missing together, while everything that needs none of them holds."""
        others = list(self._other_values())
        for lacking in self._missing_together():
            steps, dropped = self._remaining(lacking)
            undefined: Body = [_undefined([self.split.spelled(step.variable)]) for step in lacking]
            aggregates = self._aggregates([*self.split.early, *(one for step in steps for one in step.late)])
            able = [one for one in aggregates if self.options[id(one)].lacks is not None]
            for without in chain.from_iterable(combinations(able, size) for size in range(len(able) + 1)):
                ways = self._chosen(aggregates, without)
                if lacking or without:
                    yield from self._with(steps, dropped, ways, undefined)
                elif others:
                    yield from self._with(steps, dropped, ways, [_undefined(others)])

    def _missing_together(self) -> Iterator[tuple[Step, ...]]:
        """Sets of steps whose values can be missing, none because of another one; with many steps, one at most."""
        able = [step for step in self.split.steps if step.equation in self.counted]
        for size in range((len(able) if len(able) <= _TOGETHER else 1) + 1):
            for chosen in combinations(able, size):
                missing = {step.variable for step in chosen}
                if not any(missing & self.split.needs(step.term) for step in chosen):
                    yield chosen

    def _remaining(self, lacking: Sequence[Step]) -> tuple[list[Step], set[Variable]]:
        """The steps that need no missing value, with the literals that do not, and the values that are missing."""
        dropped, steps = {step.variable for step in lacking}, list[Step]()
        if lacking and len(self.split.steps) > _TOGETHER:
            dropped.update(step.variable for step in self.split.steps[self.split.steps.index(lacking[0]) :])
        for step in self.split.steps:
            if dropped & {step.variable, *self.split.needs(step.term)}:
                dropped.add(step.variable)
        for step in self.split.steps:
            if step.variable not in dropped:
                steps.append(replace(step, late=tuple(one for one in step.late if not dropped & set(variables(one)))))
        return steps, dropped

    def _other_values(self) -> Iterator[Term]:
        """The computed values that no literal waits for: of equations, of comparisons and of the head."""
        for variable, equation in self.split.inlined.items():
            if equation in self.counted:
                yield self.split.spelled(variable)
        yield from (call for test, call in self._partial if test in self.counted)
        yield from (self.split.spelled(term) for term in self.rule.head.terms if isinstance(term, Call))

    def _chosen(self, aggregates: Sequence[Aggregate], lacking: Collection[Aggregate]) -> Iterator[dict[int, Body]]:
        ways = []
        for one in aggregates:
            option = self.options[id(one)]
            ways.append([option.lacks or []] if any(one is other for other in lacking) else option.holds)
        for way in product(*ways):
            yield {id(one): body for one, body in zip(aggregates, way)}

    def _with(
        self, steps: Sequence[Step], dropped: set[Variable], ways: Iterable[dict[int, Body]], lacking: Body
    ) -> Iterator[Body]:
        """Bodies of everything that needs no missing value, and of the comparisons that can be looked at there.

        An aggregate which lacks a value takes with it a step that computes with its result, what waits for that step,
        and comparisons and negated atoms with such a variable.
        """
        maybe = [Comparison(MAYBE, call, _TRUE) for _, call in self._partial]
        tests: Body = [*self._total, *lacking, *maybe]  # what is usually missing nowhere is asked first
        for way in ways:
            body, gone = self._lowered(self.split.early, way), set(dropped)
            for step in steps:
                term = self.split.spelled(step.variable)
                if _bound([*body, *tests]).issuperset(variables(term)):
                    late = [one for one in step.late if not gone & set(variables(one))]
                    body += [Comparison("=", step.variable, term), *self._lowered(late, way)]
                else:
                    gone.add(step.variable)
            known = _bound([*body, *tests])
            kept = [one for one in body if not isinstance(one, Negation) or self._is_known(one, known)]
            yield kept + [test for test in tests if known.issuperset(variables(test))]

    def _lowered(self, literals: Iterable[Literal], way: dict[int, Body]) -> Body:
        return [one for each in literals for one in (way[id(each)] if isinstance(each, Aggregate) else [each])]

    def _is_known(self, negation: Negation, known: set[Variable]) -> bool:
        inside = list(variables(negation))
        return all(one in known for one in inside if self._in_rule[one.name] > inside.count(one))

    def _aggregates(self, literals: Iterable[Literal]) -> list[Aggregate]:
        return [literal for literal in literals if isinstance(literal, Aggregate)]


def _undefined(terms: Sequence[Term]) -> Comparison:
    return Comparison(UNDEFINED, terms[0] if len(terms) == 1 else Call(ALL, tuple(terms)), _TRUE)


def _bound(body: Iterable[BodyLiteral]) -> set[Variable]:
    """The variables that atoms and equations bind."""
    literals = list(body)
    known = {variable for literal in literals if isinstance(literal, Atom) for variable in variables(literal)}
    equations = [one for one in literals if isinstance(one, Comparison) and one.op == "="]
    size = -1
    while size != len(known):
        size = len(known)
        for one in equations:
            for side, other in ((one.left, one.right), (one.right, one.left)):
                if isinstance(side, Variable) and known.issuperset(variables(other)):
                    known.add(side)
    return known
