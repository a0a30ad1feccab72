"""How one best value gives others: the steps of a recursion through `min` or `max`.

What      : `value_steps` finds, for a stage that takes the least or greatest of its own values, the rules by which a
            best value gives members of other groups, each as one rule over relations below the stage.
Idea      : rules between the best value and the member are unfolded into each other. What is left of

                dist(y, m) :- node(y), m = min c : { step(y, c) }.      step(y, c + w) :- dist(x, c), e(x, y, w).

            is `@step(x, y, w) :- node(x), e(x, y, w)`: a best value of x gives one of y that is w more. Its facts are
            the edges of a graph, and a store can walk along them from the best value to the next best
            (backends/local/joins/best_first.py).
Invariant : a step and a best value that is there give a member that the rules of the stage derive. Members that follow
            from no best value are found by these rules.
Never     : no facts. Stages of another shape have no steps: values that are multiplied or compared, rules that read two
            facts of the stage, and values of more than one aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from tidelog.language.renaming import rename_atom, rename_literal, rename_term
from tidelog.language.terms import Aggregate, Atom, Call, Constant, Term, Variable, variables
from tidelog.planning.lowered import BodyLiteral, GroupRule, LoweredRule, Stage

_MOST_STEPS, _DEEPEST = 16, 8
"""Stages with more ways from a best value to a member, or longer ones, are left to rounds."""
_STEP, FROM = "@step", "@from"


@dataclass(frozen=True)
class ValueSteps:
    """The steps of a stage. A rule has the columns of the group that gives, of the group that is given, and the number
    that is added (sign 1) or taken away (-1); it has no such column if the value is passed on as it is (0).
    """

    group: GroupRule
    stage: Stage
    signs: tuple[int, ...]

    @cached_property
    def onward(self) -> Stage:
        """The steps from given groups: each rule begins with FROM, whose columns are the group that gives."""
        rules = []
        for number, rule in enumerate(self.stage.rules):
            body = (Atom(FROM, rule.head.terms[: self.group.group]), *rule.body)
            rules.append(replace(rule, head=_numbered(number, rule.head.terms), body=body))
        return replace(self.stage, rules=tuple(rules))


def _numbered(number: int, terms: tuple[Term, ...]) -> Atom:
    """A head with a relation of its own."""
    return Atom(f"{_STEP} {number}", terms)


class _OtherShapeError(Exception):
    """The stage has no steps."""


def value_steps(stage: Stage) -> ValueSteps | None:
    """The steps of a stage, if it has that shape."""
    if len(stage.groups) != 1 or stage.groups[0].function not in ("min", "max"):
        return None
    group = stage.groups[0]
    try:
        ways = islice(_Unfolding(stage, group).ways(), _MOST_STEPS + 1)
        found = [_step(*way, group) for way in ways]
    except _OtherShapeError:
        return None
    if not 0 < len(found) <= _MOST_STEPS:
        return None
    rules = tuple(replace(rule, key=f"step {number}") for number, (rule, _) in enumerate(found))
    return ValueSteps(group, replace(stage, rules=rules, groups=()), tuple(sign for _, sign in found))


_Way = tuple[LoweredRule, tuple[BodyLiteral, ...], Atom]
"""A rule for members, the literals below the stage, and the atom of the best value."""


class _Unfolding:
    """The ways from a best value to a member."""

    def __init__(self, stage: Stage, group: GroupRule) -> None:
        self._stage, self._group, self._renamed = stage, group, 0

    def ways(self) -> Iterator[_Way]:
        """Every one of them."""
        for rule in self._stage.rules:
            if rule.head.relation == self._group.body_relation:
                yield from self._unfolded(rule, 0)

    def _unfolded(self, rule: LoweredRule, depth: int) -> Iterator[_Way]:
        own = [one for one in rule.body if isinstance(one, Atom) and one.relation in self._stage.relations]
        if not own:
            return
        if len(own) > 1 or depth > _DEEPEST:
            raise _OtherShapeError
        rest = tuple(literal for literal in rule.body if literal is not own[0])
        if own[0].relation == self._group.relation:
            yield rule, rest, own[0]
            return
        for other in self._stage.rules:
            if other.head.relation == own[0].relation:
                resolved = self._resolved(rule.head, rest, own[0], self._apart(other))
                if resolved is not None:
                    yield from self._unfolded(replace(rule, head=resolved[0], body=resolved[1]), depth + 1)

    def _apart(self, rule: LoweredRule) -> LoweredRule:
        """The rule with variables that no other has."""
        self._renamed += 1
        names = {one.name for part in (rule.head, *rule.body) for one in variables(part)}
        fresh: dict[str, Term] = {name: Variable(f"{name} {self._renamed}") for name in names}
        body = tuple(_replaced(literal, fresh) for literal in rule.body)
        return replace(rule, head=rename_atom(rule.head, fresh), body=body)

    def _resolved(
        self, head: Atom, rest: tuple[BodyLiteral, ...], atom: Atom, other: LoweredRule
    ) -> tuple[Atom, tuple[BodyLiteral, ...]] | None:
        """A head and literals with the body of another rule in the place of an atom; None if constants differ."""
        outside: dict[str, Term] = {}
        inside: dict[str, Term] = {}
        used = {one.name for literal in rest for one in variables(literal)}
        for asked, given in zip(atom.terms, other.head.terms):
            if isinstance(asked, Variable):
                if outside.setdefault(asked.name, given) != given or (isinstance(given, Call) and asked.name in used):
                    raise _OtherShapeError
            elif isinstance(given, Variable):
                if inside.setdefault(given.name, asked) != asked:
                    return None
            elif isinstance(given, Call):
                raise _OtherShapeError
            elif given != asked:
                return None
        bound = {name: rename_term(term, inside) for name, term in outside.items()}
        body = (*(_replaced(one, bound) for one in rest), *(_replaced(one, inside) for one in other.body))
        return rename_atom(head, bound), body


def _step(rule: LoweredRule, body: tuple[BodyLiteral, ...], best: Atom, group: GroupRule) -> tuple[LoweredRule, int]:
    """The step of one way, and what it does with the value."""
    source, cost = best.terms[: group.group], best.terms[-1]
    target = rule.head.terms[: group.group]
    if not isinstance(cost, Variable) or any(isinstance(term, Call) for term in (*source, *target)):
        raise _OtherShapeError
    added, sign = _added(rule.head.terms[-1], cost)
    head = Atom(_STEP, (*source, *target, *added))
    bound = {one for literal in body if isinstance(literal, Atom) for one in variables(literal)}
    asked = set(variables(head))
    if cost in asked or not asked <= bound or any(cost in variables(literal) for literal in body):
        raise _OtherShapeError
    return replace(rule, head=head, body=body), sign


def _added(value: Term, cost: Variable) -> tuple[tuple[Term, ...], int]:
    """What is added to a value, and with which sign; the order of floats forbids more than one number."""
    match value:
        case Variable() if value == cost:
            return (), 0
        case Call("+", (one, (Variable() | Constant()) as other)) if one == cost:
            return (other,), 1
        case Call("+", ((Variable() | Constant()) as other, one)) if one == cost:
            return (other,), 1
        case Call("-", (one, (Variable() | Constant()) as other)) if one == cost:
            return (other,), -1
    raise _OtherShapeError


def _replaced(literal: BodyLiteral, terms: Mapping[str, Term]) -> BodyLiteral:
    replaced = rename_literal(literal, terms)
    assert not isinstance(replaced, Aggregate)
    return replaced
