"""What is known of a program that is right, so that the next rule need not ask everything again.

What      : a `Survey` holds the arities, names, types and dependencies of a program without problems; `takes` says
            whether further rules surely leave it without problems. Whoever had the program checked keeps it.
Idea      : a new rule can only clash with what it touches: the arities and types of its own columns, its own name,
            and the relations that depend on its head. All that is asked here is yes or "ask in full", so that the
            wording of problems, and what comes first, stays with those who answer the questions for whole programs.
Invariant : a survey may know of rules that are gone or were refused, never less than the rules that are there, so that
            yes is always true. Only openness is the other way round: a rule that goes may close columns
            (`lasts_without_rules`).
Cost      : grows with the new rules and with what depends on their heads, not with the program.
Never     : no problems are worded here.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.analysis.arities import mentions
from tidelog.analysis.components import relations_read
from tidelog.analysis.type_inference import TypeInference
from tidelog.language.terms import Aggregate, Negation, Program, Rule

_FEW = 16
"""The dependents of each new head are looked for one by one; many rules are cheaper to ask about in full."""
_LEFT_OVER = 100
"""After so many rules more than the program has, what is left of rules that are gone is not worth keeping."""


class Survey:
    """What the rules of a program without problems have settled."""

    def __init__(self, program: Program, types: TypeInference) -> None:
        self._types = types
        self._arity = types.arity
        self._names: set[str] = set()
        self._dependents: dict[str, set[str]] = {}
        self._cautious: set[str] = set()
        self._room = len(program.rules) + _LEFT_OVER
        for rule in program.rules:
            self._note(rule)

    @property
    def lasts_without_rules(self) -> bool:
        """Whether it still holds when rules go: unless one of them may be why a column takes values of any type."""
        return not self._types.has_opened

    def takes(self, rules: Sequence[Rule], program: Program) -> bool:
        """Whether the program, which has these new rules, is right as a whole if each of them is by itself."""
        self._room -= len(rules)
        if len(rules) > _FEW or self._room < 0 or self._types.is_contradictory:
            return False
        for rule in rules:
            if not (self._has_arities(rule) and self._has_own_name(rule, program)):
                return False
            self._note(rule)
            if not self._is_stratified(rule):
                return False
        return self._types.takes(rules)

    def _note(self, rule: Rule) -> None:
        head = rule.head.relation
        if rule.name is not None:
            self._names.add(rule.name)
        for relation in relations_read(rule):
            self._dependents.setdefault(relation, set()).add(head)
        if any(isinstance(literal, Negation | Aggregate) for literal in rule.body):
            self._cautious.add(head)

    def _has_arities(self, rule: Rule) -> bool:
        return all(self._arity.setdefault(relation, arity) == arity for relation, arity, _ in mentions(rule))

    def _has_own_name(self, rule: Rule, program: Program) -> bool:
        """Whether no other rule has the name; one that had it may be gone."""
        return rule.name not in self._names or not any(
            other.name == rule.name and other is not rule for other in program.rules
        )

    def _is_stratified(self, rule: Rule) -> bool:
        """Whether the rule closes no cycle, or only among relations whose rules neither negate nor aggregate."""
        reached = {rule.head.relation}
        frontier = [rule.head.relation]
        while frontier:
            further = self._dependents.get(frontier.pop(), set()) - reached
            reached |= further
            frontier.extend(further)
        return reached.isdisjoint(relations_read(rule)) or reached.isdisjoint(self._cautious)
