"""Rule instances over views: the short, obviously right evaluator that all reference algorithms share.

What      : `instances(rule, views)` enumerates `H <- B1^X1, ..., Bn^Xn`: literal i is matched in view i. An atom finds
            its fact there, a negated atom must have none there, an aggregate's body is matched there.
Idea      : literals are taken when they are ready: filters as soon as their variables are bound, then the atom with the
            fewest candidate facts. The order changes the cost, never the instances.
Invariant : every instance is yielded exactly once; two instances of a rule differ in their substitution.
Never     : no maintenance and no strata here; the calling algorithm chooses the views.

What has no value (language/partial.py) makes no instance: a comparison with it does not hold, negated or not, a negated
atom neither, a member of an aggregate is left out. undefined.py counts what is left out for that reason.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from tidelog.analysis.grouping import inner_variables
from tidelog.errors import ProgramError
from tidelog.language.partial import aggregate, apply
from tidelog.language.partial import holds as holds_between
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
from tidelog.reference.facts import FactSet, GroundFact, Key, Union, View, Without, from_fact, from_key, to_fact, to_key

__all__ = [
    "FactSet",
    "GroundFact",
    "Instance",
    "Key",
    "Substitution",
    "Union",
    "View",
    "Without",
    "driven",
    "from_fact",
    "head_bound",
    "holds",
    "instances",
    "positive_atoms",
    "to_fact",
    "uniform",
]

Substitution = Mapping[str, Key]


class Instance(NamedTuple):
    """A rule instance: its head, the facts of its positive atoms in their order, and its substitution."""

    rule: Rule
    head: GroundFact
    body: tuple[GroundFact, ...]
    substitution: tuple[tuple[str, Key], ...]


def positive_atoms(rule: Rule) -> list[int]:
    """The positions of the positive atoms in the body."""
    return [position for position, literal in enumerate(rule.body) if isinstance(literal, Atom)]


def uniform(rule: Rule, atoms: View, below: View) -> list[View]:
    """Views that match every atom in one view; `below` is for negated atoms and aggregates."""
    return [atoms if isinstance(literal, Atom) else below for literal in rule.body]


def driven(rule: Rule, position: int, before: View, at: View, after: View, below: View) -> list[View]:
    """Views of `B1^before, ..., Bi^at, ..., Bn^after`, i being a position in the body."""
    views = uniform(rule, after, below)
    for earlier in range(position):
        views[earlier] = before if isinstance(rule.body[earlier], Atom) else below
    views[position] = at
    return views


def instances(
    rule: Rule, views: Sequence[View], head: GroundFact | None = None, substitution: Substitution | None = None
) -> Iterator[Instance]:
    """The instances of a rule whose i-th literal is matched in the i-th view; with a head, only those of that head."""
    start = dict(substitution or {})
    checks: list[Comparison] = []
    if head is not None:
        bound = head_bound(rule.head, head)
        if bound is None:
            return
        start.update(bound)
        checks = [
            Comparison("=", term, Constant(from_key(key)))
            for term, key in zip(rule.head.terms, head[1])
            if isinstance(term, Call)
        ]
    goals = [*enumerate(rule.body), *((len(rule.body) + number, check) for number, check in enumerate(checks))]
    for found, facts in solve(goals, views, start, _names(rule.head)):
        derived = _grounded(rule.head, found) if head is None else head
        if derived is not None:
            body = tuple(facts[position] for position in sorted(facts))
            yield Instance(rule, derived, body, tuple(sorted(found.items())))


def head_bound(atom: Atom, fact: GroundFact) -> dict[str, Key] | None:
    """The substitution that makes the atom's variables and constants equal to the fact, or None; calls are ignored."""
    relation, keys = fact
    if atom.relation != relation or len(atom.terms) != len(keys):
        return None
    found: dict[str, Key] = {}
    for term, key in zip(atom.terms, keys):
        if isinstance(term, Variable):
            if found.setdefault(term.name, key) != key:
                return None
        elif isinstance(term, Constant) and to_key(term.value) != key:
            return None
    return found


def holds(literal: Literal, substitution: Substitution, view: View) -> bool:
    """Whether a literal of an instance is true in another view; the substitution is the instance's."""
    return any(True for _ in solve([(0, literal)], [view], dict(substitution), set(substitution)))


_Goals = list[tuple[int, Literal]]
_Found = tuple[dict[str, Key], dict[int, GroundFact]]


def solve(goals: _Goals, views: Sequence[View], start: dict[str, Key], outside: Collection[str]) -> Iterator[_Found]:
    """Every substitution that makes all goals true, with the facts of the positive atoms by position."""
    scope = {*outside, *start}.union(*(_binds(literal) for _, literal in goals))

    def step(rest: _Goals, found: dict[str, Key], facts: dict[int, GroundFact]) -> Iterator[_Found]:
        if not rest:
            yield found, facts
            return
        chosen = _choose(rest, views, found, scope)
        position, literal = chosen
        others = [goal for goal in rest if goal is not chosen]
        if isinstance(literal, Atom):
            for fact in views[position].matching(literal.relation, _bound(literal, found)):
                for extended, calls in _match(literal, fact, found):
                    yield from step(others + [(-1, call) for call in calls], extended, {**facts, position: fact})
        else:
            view: View = views[position] if 0 <= position < len(views) else FactSet()
            for extended in _filter(literal, view, found, scope):
                yield from step(others, extended, facts)

    return step(goals, start, {})


def _choose(rest: _Goals, views: Sequence[View], found: Substitution, scope: set[str]) -> tuple[int, Literal]:
    """The next literal: the first ready filter, else the atom with the fewest candidates."""
    for goal in rest:
        if not isinstance(goal[1], Atom) and _is_ready(goal[1], found, scope):
            return goal
    atoms = [goal for goal in rest if isinstance(goal[1], Atom)]
    if len(atoms) == 1:
        return atoms[0]
    if atoms:
        return min(atoms, key=lambda goal: _candidates(goal[1], views[goal[0]], found))
    place = rest[0][1].place
    raise ProgramError.of(
        "E202", "a rule cannot be evaluated: a variable is bound by no positive atom", place=place,
        remedy="let every variable occur in a positive atom of the body",
    )  # fmt: skip


def _candidates(literal: Literal, view: View, found: Substitution) -> int:
    return view.estimate(literal.relation, _bound(literal, found)) if isinstance(literal, Atom) else 0


def _binds(literal: Literal) -> frozenset[str]:
    """The variables that a literal can bind for others: those of atoms and comparisons, and an aggregate's result."""
    match literal:
        case Atom() | Comparison():
            return _names(literal)
        case Aggregate(result=result):
            return _names(result)
        case Negation():
            return frozenset()


def _is_ready(literal: Literal, found: Substitution, scope: set[str]) -> bool:
    match literal:
        case Comparison(op=op, left=left, right=right):
            unbound = [side for side in (left, right) if not _is_bound(side, found)]
            return not unbound or (op == "=" and len(unbound) == 1 and isinstance(unbound[0], Variable))
        case Aggregate(result=result):
            inner = _inside(literal) & scope
            return inner <= found.keys() and (isinstance(result, Variable) or _is_bound(result, found))
        case _:
            return all(name in found or name not in scope for name in _names(literal))


def _inside(literal: Aggregate) -> set[str]:
    """The variables of an aggregate's value and body, which the result never is (see analysis/grouping.py)."""
    return {variable.name for variable in inner_variables(literal)} - _binds(literal)


def _is_bound(term: Term, found: Substitution) -> bool:
    return _names(term) <= found.keys()


def _names(part: Term | Literal) -> frozenset[str]:
    """The names of the variables of a term or literal; remembered by identity, because hashing a rule is slower."""
    known = _NAMES.get(id(part))
    if known is None or known[0] is not part:
        if len(_NAMES) > _REMEMBERED:
            _NAMES.clear()
        known = _NAMES[id(part)] = part, frozenset(variable.name for variable in variables(part))
    return known[1]


_NAMES: dict[int, tuple[Term | Literal, frozenset[str]]] = {}
_REMEMBERED = 20_000


def _bound(atom: Atom, found: Substitution) -> dict[int, Key]:
    """The keys that are known at the atom's positions; calls are checked later, when their variables are known."""
    bound: dict[int, Key] = {}
    for position, term in enumerate(atom.terms):
        if isinstance(term, Constant):
            bound[position] = to_key(term.value)
        elif isinstance(term, Variable) and term.name in found:
            bound[position] = found[term.name]
    return bound


def _match(atom: Atom, fact: GroundFact, found: dict[str, Key]) -> Iterator[tuple[dict[str, Key], list[Comparison]]]:
    """The substitution extended by matching an atom with a fact, and the comparisons that its calls leave to do."""
    extended, calls = dict(found), []
    if len(atom.terms) != len(fact[1]):
        return
    for term, key in zip(atom.terms, fact[1]):
        if isinstance(term, Variable):
            if extended.setdefault(term.name, key) != key:
                return
        elif isinstance(term, Call):
            calls.append(Comparison("=", term, Constant(from_key(key))))
        elif to_key(term.value) != key:
            return
    yield extended, calls


def _filter(literal: Literal, view: View, found: dict[str, Key], scope: set[str]) -> Iterator[dict[str, Key]]:
    """The substitution, extended by what the literal binds, if the literal is true."""
    match literal:
        case Comparison():
            yield from _compare(literal, found)
        case Negation(atom=atom):
            goals: _Goals = [(0, atom)]
            has_values = all(_key(term, found) is not None for term in atom.terms if isinstance(term, Call))
            if has_values and not any(True for _ in solve(goals, [view], found, scope)):
                yield found
        case Aggregate():
            yield from _aggregate(literal, view, found)
        case Atom():
            raise TypeError("an atom is matched, not filtered")


def _compare(literal: Comparison, found: dict[str, Key]) -> Iterator[dict[str, Key]]:
    for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
        if isinstance(side, Variable) and side.name not in found:
            key = _key(other, found)
            if key is not None:
                yield {**found, side.name: key}
            return
    if holds_between(literal.op, _value(literal.left, found), _value(literal.right, found)):
        yield found


def _aggregate(literal: Aggregate, view: View, found: dict[str, Key]) -> Iterator[dict[str, Key]]:
    result = aggregate(literal.function, members(literal, view, found))
    if result is None:
        return
    if isinstance(literal.result, Variable) and literal.result.name not in found:
        yield {**found, literal.result.name: to_key(result)}
    elif _key(literal.result, found) == to_key(result):
        yield found


def members(literal: Aggregate, view: View, found: Substitution) -> list[Value]:
    """The values that an aggregate takes together, one for each substitution of its body that has one."""
    goals = list(enumerate(literal.body))
    outer = {name: key for name, key in found.items() if name in _inside(literal)}
    groups = [inner for inner, _ in solve(goals, [view] * len(goals), outer, set(outer))]
    value = literal.value
    values = [0 if value is None else _value(value, inner) for inner in groups]
    return [value for value in values if value is not None]


def _grounded(atom: Atom, found: Substitution) -> GroundFact | None:
    """The fact that a head becomes, None if one of its values is missing."""
    keys = [_key(term, found) for term in atom.terms]
    known = tuple(key for key in keys if key is not None)
    return (atom.relation, known) if len(known) == len(keys) else None


def _key(term: Term, found: Substitution) -> Key | None:
    """The key of a term under a substitution, None if it has no value."""
    if isinstance(term, Variable):
        return found[term.name]
    value = _value(term, found)
    return None if value is None else to_key(value)


def _value(term: Term, found: Substitution) -> Value | None:
    """The value of a term under a substitution, None if it has none."""
    match term:
        case Variable(name=name):
            return from_key(found[name])
        case Constant(value=value):
            return value
        case Call(function=function, arguments=arguments):
            return apply(function, [_value(argument, found) for argument in arguments])
