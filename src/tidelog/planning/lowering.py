"""Aggregates and nested calls taken apart.

Idea       : an aggregate is a hidden relation of its body's substitutions, a hidden relation of its results, and an
             atom over the latter; `count` and `sum` over nothing are a second rule with a negated atom. What is left
             is rules with negation and comparisons, so strategies and plans need no special case.
Invariant  : a lowered program has the same facts in the user's relations; equal aggregates share their relations.
Never      : no choice of join order and no data.

    h(x, n) :- q(x), n = count : { p(x, _) }.      becomes
    @body(x, y)  :- p(x, y).        @result(x, n) = count of @body grouped by x.
    h(x, n) :- q(x), @result(x, n).                h(x, 0) :- q(x), !@result(x, _).

Where the facts of p have the groups first and the aggregated value last, as here, p stands for @body: there is no copy.
A sum that has no value is no sum over nothing: its groups are facts of a further hidden relation, which the second rule
negates, too. Rules that can be without a value get companions that find such instances (undefined.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, filterfalse, product

from tidelog.analysis.components import components
from tidelog.analysis.flat_rules import flattened
from tidelog.analysis.group_binders import closing_literals
from tidelog.analysis.grouping import group_variables
from tidelog.analysis.optima import Verdict, takes_optima, verdict
from tidelog.language.printer import canonical_text, rule_key
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Comparison,
    Constant,
    Literal,
    Negation,
    Rule,
    Term,
    Variable,
    variables,
)
from tidelog.planning.lowered import MEMBERS_PREFIX, BodyLiteral, GroupRule, LoweredRule, Stage, is_hidden
from tidelog.planning.undefined import Options, undefined_rules

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

    @cached_property
    def _verdicts(self) -> dict[str, Verdict]:
        """What is known of a recursion through `min` or `max` (analysis/optima.py), by its relations."""
        own = (one for one in components(self._user_rules) if one.is_recursive and takes_optima(one))
        return {relation: found for one in own for found in [verdict(one)] for relation in one.relations}

    def verdict(self, relations: Iterable[str]) -> Verdict:
        """The verdict on a stage that has group rules and others; relations of ours are like the user's beside them."""
        found = [
            self._verdicts.get(relation, Verdict("", False, False)) for relation in filterfalse(is_hidden, relations)
        ]
        return Verdict(None, all(one.is_strict for one in found), all(one.is_bounded for one in found))

    def add(self, rule: Rule, source: Rule | None = None, counted: Sequence[Literal] | None = None) -> None:
        """Lower one rule: of the user, or of ours for the body of an aggregate in the user's rule `source`.

        Values that its literals lack count for this rule if they are among `counted`, or if nothing is said about that.
        """
        key, source, flat = rule_key(rule), source or rule, flattened(rule)
        fresh = (Variable(f"_:lowered{number}") for number in count())
        pairs = zip(_aggregates(rule), _aggregates(flat))
        options = {id(one): self._aggregate(rule, given, one.result, key, fresh, source) for given, one in pairs}
        ways = [options[id(one)].holds if isinstance(one, Aggregate) else [[one]] for one in flat.body]
        for way in product(*ways):
            body = tuple(literal for part in way for literal in part)
            self.rules[LoweredRule(key, rule.head, body, source)] = None
        elsewhere = [] if counted is None else [one for one in rule.body if one not in counted]
        own = [one for one in flat.body if one not in elsewhere]
        for found in undefined_rules(flat, options, own, source):
            self.rules[found] = None

    def _aggregate(
        self, rule: Rule, aggregate: Aggregate, result: Term, key: str, fresh: Iterator[Variable], source: Rule
    ) -> Options:
        """The ways in which the aggregate holds: with a result, and for count and sum also over nothing."""
        group = tuple(map(Variable, group_variables(rule, aggregate)))
        found = self._group_rule(rule, aggregate, group, key, source)
        present: list[BodyLiteral] = [Atom(found.relation, (*group, result))]
        lacks: list[BodyLiteral] | None = [Atom(found.lacking, group)] if aggregate.function != "count" else None
        if aggregate.function not in _DEFAULTS:
            return Options([present], lacks)
        empty: list[BodyLiteral] = [Negation(Atom(found.relation, (*group, next(fresh))))]
        if lacks is not None:
            empty.append(Negation(Atom(found.lacking, group)))
        default = Constant(_DEFAULTS[aggregate.function])
        return Options([present, [*empty, Comparison("=", result, default)]], lacks)

    def _group_rule(
        self, rule: Rule, aggregate: Aggregate, group: tuple[Variable, ...], key: str, source: Rule
    ) -> GroupRule:
        body = closing_literals(rule, aggregate, self._own.get(rule.head.relation, frozenset())) + aggregate.body
        local = dict.fromkeys(
            variable for literal in aggregate.body for variable in _outer(literal) if variable not in group
        )
        value = () if aggregate.value is None else (aggregate.value,)
        head = Atom("@", (*group, *_positive(local, aggregate.body), *value))
        text = canonical_text(Rule(head, body))
        name = f"@{aggregate.function}/{len(group)}: {text}"
        if name not in self.groups:
            itself = _itself(body, group, aggregate.value)
            members = itself or Atom(f"{MEMBERS_PREFIX}{name[1:]}", head.terms)
            arity = len(members.terms)
            self.groups[name] = GroupRule(key, name, aggregate.function, members.relation, len(group), arity, source)
            if itself is None:
                self.add(Rule(members, body, name=key, place=rule.place), source, aggregate.body)
        return self.groups[name]


def _aggregates(rule: Rule) -> list[Aggregate]:
    return [literal for literal in rule.body if isinstance(literal, Aggregate)]


def _itself(body: Sequence[Literal], group: Sequence[Variable], value: Term | None) -> Atom | None:
    """The one atom of an aggregate's body, if its facts are the substitutions: groups first, the value last."""
    if len(body) != 1 or not isinstance(body[0], Atom):
        return None
    terms = body[0].terms
    is_plain = all(isinstance(term, Variable) for term in terms) and len(set(terms)) == len(terms)
    is_in_order = terms[: len(group)] == tuple(group) and (value is None or terms[-1:] == (value,))
    return body[0] if is_plain and is_in_order else None


def _positive(local: Iterable[Variable], body: Sequence[Literal]) -> tuple[Variable, ...]:
    """The local variables that a substitution binds: not those that are existential inside a negated atom."""
    bound = {variable for literal in body if not isinstance(literal, Negation) for variable in _outer(literal)}
    return tuple(variable for variable in local if variable in bound)


def _outer(literal: Literal) -> Iterator[Variable]:
    """The variables that a literal shares with its surroundings: of an aggregate inside an aggregate, the result.

    What an inner aggregate is grouped by occurs beside it as well.
    """
    return variables(literal.result) if isinstance(literal, Aggregate) else variables(literal)


def _stages(lowering: _Lowering) -> Iterator[Stage]:
    """The components of the lowered rules; a group rule takes part as a rule from its body relation to itself."""
    by_head: dict[str, list[LoweredRule]] = {}
    stand_ins: list[Rule] = []
    for rule in lowering.rules:
        by_head.setdefault(rule.head.relation, []).append(rule)
        stand_ins.append(Rule(rule.head, rule.body, rule.key, rule.source.place))
    for group in lowering.groups.values():
        stand_ins.append(Rule(Atom(group.relation, ()), (Atom(group.body_relation, ()),), group.relation))
        stand_ins.append(Rule(Atom(group.lacking, ()), (Atom(group.relation, ()),), group.lacking))
    lacking = {group.lacking for group in lowering.groups.values()}
    for component in components(tuple(stand_ins)):
        rules = tuple(rule for relation in sorted(component.relations) for rule in by_head.get(relation, ()))
        groups = tuple(lowering.groups[name] for name in sorted(component.relations) if name in lowering.groups)
        if lacking.isdisjoint(component.relations):
            relations = component.relations.union(group.lacking for group in groups)
            found = lowering.verdict(component.relations) if rules and groups else Verdict()
            yield Stage(frozenset(relations), rules, groups, component.is_recursive, found.is_strict, found.is_bounded)


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
        found[group.lacking] = group.group
    return found
