"""What is known of a program without problems, so that the next rule is checked without checking the whole program.

What      : a `Survey` holds the arities, names, types and dependencies of a program without problems; `takes` says
            whether further rules surely leave it without problems. It is kept with the result of the check (`Checked`
            in program_check.py).
Idea      : a new rule can only clash with what it touches: the arities and types of its own columns, its own name,
            and the relations that depend on its head. The answer here is "yes" or "check the whole program", so the
            check of whole programs alone words the problems and puts them in order.
Invariant : a survey knows all rules that are there, and perhaps some that are gone or were refused. More rules can only
            turn a "yes" into "check the whole program", so a "yes" is always true. There is one exception: a column
            may be open to values of any type because of a rule that is gone (`lasts_without_rules`).
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
"""With more new rules than this, checking the whole program is cheaper than following the dependents of each head."""
_LEFT_OVER = 100
"""How many rules a survey may take in before it is made anew: so it never holds many more rules than the program."""


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
        """Whether it still holds when rules go.

        It does not if a rule may be the reason why a column takes values of any type: without the rule it may not.
        """
        return not self._types.has_opened

    def takes(self, rules: Sequence[Rule], program: Program) -> bool:
        """Whether these new rules of the program, each without problems by itself, cause none in the whole program."""
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
        """Whether no other rule of the program has the rule's name."""
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
