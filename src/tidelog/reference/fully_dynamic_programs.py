"""Fully dynamic maintenance of programs with variables, negation, aggregates and changing rules.

Idea       : the transition systems work on ground rules and explicit facts; here everything else becomes one of the
             two. A rule instance also reads a token of its rule, and a token of its negated and aggregated literals: a
             rule that comes or goes, or a guard that turns true or false below, is then an explicit fact that does.
Source     : Illich, Glimm 2023; tokens and strata are ours.
Invariant  : a guard's token is explicit if and only if the guard is true below, for every instance over present facts.
Cost       : every step copies the state and matches rules in all present facts. It is a specification.
Departures : one update is run to completion here, deletions first; interleavings.py overlaps updates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.language.terms import Aggregate, Atom, Negation, Program, Rule
from tidelog.reference.algorithm import Algorithm
from tidelog.reference.evaluation import Instance, holds, instances, uniform
from tidelog.reference.facts import FactSet, GroundFact, Key
from tidelog.reference.fully_dynamic import Fact, FullyDynamic, GroundRule, State, Update
from tidelog.reference.fully_dynamic_counting import DynamicCounting
from tidelog.reference.fully_dynamic_dred import DynamicDRed
from tidelog.reference.stratified import Step
from tidelog.reference.stratum_input import stratum_input


class RuleToken(NamedTuple):
    """Explicit while the rule is part of the program."""

    rule: Rule


class GuardToken(NamedTuple):
    """Explicit while the negated and aggregated literals of an instance are true."""

    rule: Rule
    substitution: tuple[tuple[str, Key], ...]


class Ground(NamedTuple):
    """What rules are matched in: the rules themselves, and the facts that negation and aggregates see."""

    rules: tuple[Rule, ...]
    below: FactSet


class ProgramRules(FullyDynamic):
    """Ground rules that are found when they are asked for, by matching rules in I."""

    def __init__(self, before: Ground, now: Ground) -> None:
        super().__init__(())
        self._before, self._now = before, now

    def reading(self, state: State, fact: Fact) -> Iterator[GroundRule]:
        """The instances, of the rules as they are now, with the fact or token in their body."""
        return _reading(self._now, present_facts(state), fact)

    def affected(self, state: State, fact: Fact) -> Iterator[GroundRule]:
        """The instances, of the rules as they were before the update, that the fact's deletion can reach."""
        return _reading(self._before, present_facts(state), fact)

    def deriving(self, state: State, fact: Fact) -> Iterator[GroundRule]:
        """The instances with the fact as their head."""
        if isinstance(fact, RuleToken | GuardToken):
            return
        view = present_facts(state)
        for rule in self._now.rules:
            for instance in instances(rule, uniform(rule, view, self._now.below), _ground(fact)):
                yield ground_rule(instance)

    def missing_guards(self, state: State) -> frozenset[Fact]:
        """The tokens of true guards, of instances over present facts, that are not explicit yet."""
        view = present_facts(state)
        found = (
            GuardToken(rule, instance.substitution)
            for rule in self._now.rules
            if is_guarded(rule)
            for instance in instances(rule, uniform(rule, view, self._now.below))
        )
        return frozenset(token for token in found if token not in state.explicit)


class DRedRules(ProgramRules, DynamicDRed):
    """Programs under fully dynamic DRed."""


class CountingRules(ProgramRules, DynamicCounting):
    """Programs under fully dynamic counting."""


def _reading(ground: Ground, view: FactSet, fact: Fact) -> Iterator[GroundRule]:
    for rule in ground.rules:
        below = ground.below
        match fact:
            case RuleToken(rule=read):
                found = instances(rule, uniform(rule, view, below)) if read == rule else iter(())
            case GuardToken(rule=read, substitution=bound):
                found = instances(rule, uniform(rule, view, below), None, dict(bound)) if read == rule else iter(())
            case _:
                found = _with_fact(rule, view, below, _ground(fact))
        for instance in found:
            yield ground_rule(instance)


def _with_fact(rule: Rule, view: FactSet, below: FactSet, fact: GroundFact) -> Iterator[Instance]:
    """The instances over a view that match the fact at some atom; one that does so twice comes twice."""
    at = FactSet([fact])
    for position, literal in enumerate(rule.body):
        if isinstance(literal, Atom) and literal.relation == fact[0]:
            views = uniform(rule, view, below)
            views[position] = at
            yield from instances(rule, views)


def ground_rule(instance: Instance) -> GroundRule:
    """An instance as a ground rule that also reads its tokens."""
    rule = instance.rule
    tokens: set[Fact] = {RuleToken(rule)}
    if is_guarded(rule):
        tokens.add(GuardToken(rule, instance.substitution))
    return GroundRule(instance.head, frozenset({*instance.body, *tokens}))


def is_guarded(rule: Rule) -> bool:
    """Whether the rule negates or aggregates."""
    return any(isinstance(literal, Negation | Aggregate) for literal in rule.body)


def is_true(token: GuardToken, below: FactSet) -> bool:
    """Whether the guard of an instance is true in the facts below."""
    bound = dict(token.substitution)
    return all(holds(one, bound, below) for one in token.rule.body if isinstance(one, Negation | Aggregate))


def present_facts(state: State) -> FactSet:
    """I without tokens."""
    return FactSet(_ground(fact) for fact in state.present if not isinstance(fact, RuleToken | GuardToken))


def _ground(fact: Fact) -> GroundFact:
    assert isinstance(fact, tuple)
    return fact


class Stage(NamedTuple):
    """What a stratum remembers between updates."""

    state: State
    ground: Ground


EMPTY = Stage(State(frozenset(), {}), Ground((), FactSet()))


class FullyDynamicDRed(Algorithm):
    """Fully dynamic DRed, one update after the other."""

    system: type[ProgramRules] = DRedRules

    def __init__(self, program: Program) -> None:
        self.stages: list[Stage] = []
        super().__init__(program)

    def remember(self) -> list[Stage]:
        """The states of all strata."""
        return list(self.stages)

    def restore(self, bookkeeping: object) -> None:
        """Back to remembered states."""
        assert isinstance(bookkeeping, list)
        self.stages = bookkeeping

    def maintain(self, step: Step) -> None:
        """Run the stratum's transition system on the difference to what it was given before."""
        given, own = stratum_input(step)
        now = Ground(step.rules, FactSet(fact for fact in sorted(given, key=repr) if fact[0] in step.below))
        if step.level == len(self.stages):
            self.stages.append(EMPTY)
        state = self._follow(self.stages[step.level], now, given)
        self.stages[step.level] = Stage(state, now)
        facts = present_facts(state)
        step.present.difference_update([fact for fact in step.present if fact[0] in own and fact not in facts])
        step.present.update(fact for fact in facts if fact[0] in own)

    def _follow(self, before: Stage, now: Ground, given: set[GroundFact]) -> State:
        state = before.state
        guards = {
            token
            for token in state.explicit
            if isinstance(token, GuardToken) and token.rule in now.rules and is_true(token, now.below)
        }
        wanted: frozenset[Fact] = frozenset({*given, *map(RuleToken, now.rules), *guards})
        system = self.system(before.ground, now)
        state = system.run(state, [Update(frozenset(), state.explicit - wanted)])
        state = system.run(state, [Update(wanted - state.explicit, frozenset())])
        while missing := system.missing_guards(state):
            state = system.run(state, [Update(missing, frozenset())])
        return state


class FullyDynamicCounting(FullyDynamicDRed):
    """Fully dynamic counting, one update after the other."""

    system = CountingRules
