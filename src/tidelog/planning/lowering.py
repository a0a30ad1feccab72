"""Aggregates and nested calls taken apart.

Idea       : an aggregate is a hidden relation of its body's substitutions, a hidden relation of its results, and an
             atom over the latter; `count` and `sum` over nothing are a second rule with a negated atom. What is left
             is rules with negation and comparisons, so strategies and plans need no special case.
Invariant  : a lowered program has the same facts in the user's relations; equal aggregates share their relations.
Never      : no choice of join order and no data.

    h(x, n) :- q(x), n = count : { p(x, _) }.      becomes
    @body(x, y)  :- p(x, y).        @result(x, n) = count of @body grouped by x.
    h(x, n) :- q(x), @result(x, n).                h(x, 0) :- q(x), !@result(x, _).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

from tidelog.analysis.components import components
from tidelog.analysis.group_binders import closing_literals
from tidelog.analysis.grouping import group_variables
from tidelog.language.printer import canonical_text, rule_key
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
from tidelog.planning.lowered import BodyLiteral, GroupRule, LoweredRule, Stage

_DEFAULTS = {"count": 0, "sum": 0}


@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """Every stage in the order of maintenance, and the arity of every relation that occurs in a rule."""

    stages: tuple[Stage, ...]
    arities: dict[str, int] = field(default_factory=dict)

    @property
    def rules(self) -> tuple[LoweredRule, ...]:
        """The ordinary rules of all stages."""
        return tuple(rule for stage in self.stages for rule in stage.rules)


def lower(rules: Iterable[Rule]) -> LoweredProgram:
    """The lowered form of a checked program."""
    lowering = _Lowering(tuple(rules))
    return LoweredProgram(tuple(_stages(lowering)), _arities(lowering))


def lowered_rules(rules: Iterable[Rule]) -> tuple[LoweredRule, ...]:
    """The lowered form of rules without aggregates; each is lowered by itself."""
    return tuple(_Lowering(tuple(rules)).rules)


class _Lowering:
    """Collects lowered rules; hidden relations are named after the canonical text of their aggregate."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules: dict[LoweredRule, None] = {}
        self.groups: dict[str, GroupRule] = {}
        self._user_rules = rules
        for rule in rules:
            self.add(rule)

    @cached_property
    def _own(self) -> dict[str, frozenset[str]]:
        """For every relation the relations of its component; only aggregates need this."""
        return {
            relation: component.relations if component.is_recursive else frozenset()
            for component in components(self._user_rules)
            for relation in component.relations
        }

    def add(self, rule: Rule, source: Rule | None = None) -> None:
        """Lower one rule: of the user, or of ours for the body of an aggregate in the user's rule `source`."""
        key, source = rule_key(rule), source or rule
        fresh = (Variable(f"_:lowered{number}") for number in count())
        alternatives: list[list[BodyLiteral]] = [[]]
        for literal in rule.body:
            if isinstance(literal, Aggregate):
                options = self._aggregate(rule, literal, key, fresh, source)
            else:
                options = [list(_flat(literal, fresh))]
            alternatives = [body + option for body in alternatives for option in options]
        for body in alternatives:
            self.rules[LoweredRule(key, rule.head, tuple(body), source)] = None

    def _aggregate(
        self, rule: Rule, aggregate: Aggregate, key: str, fresh: Iterator[Variable], source: Rule
    ) -> list[list[BodyLiteral]]:
        """The ways in which the aggregate holds: with a result, and for count and sum also over nothing."""
        group = tuple(map(Variable, group_variables(rule, aggregate)))
        relation = self._result_relation(rule, aggregate, group, key, source)
        result = next(fresh)
        present: list[BodyLiteral] = [Atom(relation, (*group, result)), Comparison("=", aggregate.result, result)]
        if isinstance(aggregate.result, Variable | Constant):
            present = [Atom(relation, (*group, aggregate.result))]
        if aggregate.function not in _DEFAULTS:
            return [present]
        default = Constant(_DEFAULTS[aggregate.function])
        empty = Negation(Atom(relation, (*group, next(fresh))))
        return [present, [empty, Comparison("=", aggregate.result, default)]]

    def _result_relation(
        self, rule: Rule, aggregate: Aggregate, group: tuple[Variable, ...], key: str, source: Rule
    ) -> str:
        body = closing_literals(rule, aggregate, self._own.get(rule.head.relation, frozenset())) + aggregate.body
        local = dict.fromkeys(
            variable for literal in aggregate.body for variable in variables(literal) if variable not in group
        )
        value = () if aggregate.value is None else (aggregate.value,)
        head = Atom("@", (*group, *_positive(local, aggregate.body), *value))
        text = canonical_text(Rule(head, body))
        name = f"@{aggregate.function}/{len(group)}: {text}"
        if name not in self.groups:
            bodies = f"@of {name[1:]}"
            self.groups[name] = GroupRule(key, name, aggregate.function, bodies, len(group), len(head.terms), source)
            self.add(Rule(Atom(bodies, head.terms), body, name=key, place=rule.place), source)
        return name


def _positive(local: Iterable[Variable], body: Sequence[Literal]) -> tuple[Variable, ...]:
    """The local variables that a substitution binds: not those that are existential inside a negated atom."""
    bound = {variable for literal in body if not isinstance(literal, Negation) for variable in variables(literal)}
    return tuple(variable for variable in local if variable in bound)


def _flat(literal: Literal, fresh: Iterator[Variable]) -> Iterator[BodyLiteral]:
    """A literal whose atom holds variables and constants only; calls become comparisons beside it."""
    match literal:
        case Comparison():
            yield literal
        case Atom(relation, terms, place):
            flat, comparisons = _without_calls(terms, fresh)
            yield Atom(relation, flat, place)
            yield from comparisons
        case Negation(Atom(relation, terms, inner), place):
            flat, comparisons = _without_calls(terms, fresh)
            yield from comparisons
            yield Negation(Atom(relation, flat, inner), place)
        case Aggregate():
            raise AssertionError("aggregates are lowered by their rule")


def _without_calls(terms: Sequence[Term], fresh: Iterator[Variable]) -> tuple[tuple[Term, ...], list[Comparison]]:
    flat: list[Term] = []
    comparisons: list[Comparison] = []
    for term in terms:
        if isinstance(term, Call):
            variable = next(fresh)
            comparisons.append(Comparison("=", variable, term, term.place))
            flat.append(variable)
        else:
            flat.append(term)
    return tuple(flat), comparisons


def _stages(lowering: _Lowering) -> Iterator[Stage]:
    """The components of the lowered rules; a group rule takes part as a rule from its body relation to itself."""
    by_head: dict[str, list[LoweredRule]] = {}
    stand_ins: list[Rule] = []
    for rule in lowering.rules:
        by_head.setdefault(rule.head.relation, []).append(rule)
        stand_ins.append(Rule(rule.head, rule.body, rule.key, rule.source.place))
    stand_ins.extend(
        Rule(Atom(group.relation, ()), (Atom(group.body_relation, ()),), group.relation)
        for group in lowering.groups.values()
    )
    for component in components(tuple(stand_ins)):
        rules = tuple(rule for relation in sorted(component.relations) for rule in by_head.get(relation, ()))
        groups = tuple(lowering.groups[name] for name in sorted(component.relations) if name in lowering.groups)
        yield Stage(frozenset(component.relations), rules, groups, component.is_recursive)


def _arities(lowering: _Lowering) -> dict[str, int]:
    found: dict[str, int] = {}
    for rule in lowering.rules:
        found[rule.head.relation] = len(rule.head.terms)
        for literal in rule.body:
            match literal:
                case Atom(relation, terms) | Negation(Atom(relation, terms)):
                    found[relation] = len(terms)
    for group in lowering.groups.values():
        found[group.relation] = group.group + 1
        found[group.body_relation] = group.body_arity
    return found
