"""Where a change of one relation exchanges facts of a stage, one for one.

What      : `exchanges` says for which relations that a stage reads each head has one instance at most, before a change
            of that relation and after it.
Idea      : if every variable of a rule's positive atoms stands in its head, an instance can be read off the head. Two
            rules share no head if one needs a value of a group where the other needs that there is none:

                h(x, n) :- q(x), @count(x, n).
                h(x, 0) :- q(x), !@count(x, _).

Invariant : of a relation that is read twice, or in a recursion, nothing is said.
Never     : no facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.language.terms import Atom, Comparison, Negation, Variable
from tidelog.planning.lowered import LoweredRule, Stage


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is said about one relation."""

    key: str
    """The key of the rule that reads it."""
    is_guarded: bool
    """Whether other rules need that a group has no fact of it: then each change has to leave groups their facts."""


def exchanges(stage: Stage) -> Mapping[str, Exchange]:
    """The relations whose facts drive one rule, each head of which has one instance."""
    if stage.is_recursive or stage.groups or stage.finds_undefined:
        return {}
    names = {name for rule in stage.rules for name in rule.reads}
    return {name: found for name in names if (found := _exchange(stage.rules, name)) is not None}


def _exchange(rules: tuple[LoweredRule, ...], name: str) -> Exchange | None:
    driven = [(rule, atom) for rule in rules for atom in _atoms(rule) if atom.relation == name]
    if len(driven) != 1:
        return None
    [(rule, atom)] = driven
    variables = {term for one in _atoms(rule) for term in one.terms if isinstance(term, Variable)}
    if not variables.issubset(rule.head.terms) or any(one.atom.relation == name for one in _negations(rule)):
        return None
    others = [other for other in rules if other is not rule and name in other.reads]
    alike = [other for other in rules if other is not rule and other.head.relation == rule.head.relation]
    if not all(_is_guard(other, rule, atom) for other in (*others, *alike)):
        return None
    return Exchange(rule.key, is_guarded=bool(others))


def _is_guard(other: LoweredRule, rule: LoweredRule, atom: Atom) -> bool:
    """Whether the other rule needs that there is no fact with the group that the rule has in its atom and head."""
    found = [one.atom for one in _negations(other) if one.atom.relation == atom.relation]
    if len(found) != 1 or not atom.terms or other.head.relation != rule.head.relation:
        return False
    [absent] = found
    pairs = list(zip(rule.head.terms, other.head.terms))
    are_alike = all(pair in pairs for pair in zip(atom.terms[:-1], absent.terms[:-1]))
    last, elsewhere = absent.terms[-1], [other.head, *_atoms(other), *(one.atom for one in _negations(other))]
    occurrences = sum(term == last for one in elsewhere for term in one.terms)
    return are_alike and isinstance(last, Variable) and occurrences == 1 and not _is_compared(last, other)


def _is_compared(variable: Variable, rule: LoweredRule) -> bool:
    """Whether a comparison names the variable; calls are not looked into, because none names an anonymous one."""
    sides = [side for one in rule.body if isinstance(one, Comparison) for side in (one.left, one.right)]
    return variable in sides or not variable.is_anonymous


def _atoms(rule: LoweredRule) -> list[Atom]:
    return [literal for literal in rule.body if isinstance(literal, Atom)]


def _negations(rule: LoweredRule) -> list[Negation]:
    return [literal for literal in rule.body if isinstance(literal, Negation)]
