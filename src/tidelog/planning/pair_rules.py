"""Rules over pairs: which stages are compositions, unions, inverses, intersections and differences of binary relations.

What      : `pair_rules` reads a stage as such rules, or says None; a `PairRule` derives pairs (x, z) from what leads
            from x to a middle value y, from y to z, and from x to z directly.
Idea      : the recognition is by shape alone. A rule may be written with its atoms in any order and direction:

                p(x, z) :- p(x, y), p(y, z).           first p, second p
                p(x, z) :- e(z, x), x != z.            direct e inverted, the ends apart
                p(x, z) :- q(x, y), r(z, y), !s(z, y). first q, second r and not s, both inverted

            An atom with a variable that occurs nowhere else, with one column, or with the same variable twice is a
            condition on one value.
Invariant : a stage is read wholly or not at all; its own relations occur as pairs only, never as conditions.
Never     : no constants, no arithmetic, no order: such stages stay with joins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidelog.language.terms import Atom, Comparison, Negation, Term, Variable
from tidelog.planning.lowered import LoweredRule, Stage

X, Y, Z = 0, 1, 2
"""The ends and the middle of a rule."""
FIRST, SECOND, DIRECT = (X, Y), (Y, Z), (X, Z)
"""From where to where a factor leads."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A binary relation as a rule reads it: forwards or inverted, holding or not."""

    relation: str
    is_inverse: bool
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """What one value has to fulfil: it stands in a column of some fact, or in both columns (`is_loop`), or not."""

    relation: str
    arity: int
    column: int
    is_loop: bool
    is_negated: bool


@dataclass(slots=True)
class PairRule:
    """A rule over pairs. Without a middle only factors that lead directly, and conditions, count."""

    rule: LoweredRule
    has_middle: bool
    is_loop: bool
    """Whether the head is a pair of equal values."""
    factors: dict[tuple[int, int], list[Factor]] = field(default_factory=lambda: {FIRST: [], SECOND: [], DIRECT: []})
    conditions: dict[int, list[Condition]] = field(default_factory=lambda: {X: [], Y: [], Z: []})
    apart: set[tuple[int, int]] = field(default_factory=set)
    """The pairs of places whose values must differ."""

    @property
    def is_exact(self) -> bool:
        """Whether an instance is known by its ends and its middle: no fact of it has a value that only has to exist."""
        conditions = (one for some in self.conditions.values() for one in some)
        is_certain = all(one.is_negated or one.is_loop or one.arity == 1 for one in conditions)
        return is_certain and (not self.has_middle or any(not one.is_negated for one in self.factors[SECOND]))


def pair_rules(stage: Stage) -> tuple[PairRule, ...] | None:
    """The stage's rules over pairs, if all of them are, and if there is more to them than copying."""
    found = []
    for rule in stage.rules:
        read = _Reading(rule, stage.relations).read()
        if read is None:
            return None
        found.append(read)
    is_worth_it = stage.is_recursive or any(one.has_middle for one in found)
    return tuple(found) if found and is_worth_it else None


class _Reading:
    """One rule as it is read; `read` gives up at the first literal that does not fit."""

    def __init__(self, rule: LoweredRule, own: frozenset[str]) -> None:
        self._rule, self._own = rule, own
        self._places: dict[str, int] = {}
        """By names of variables, which are looked up faster than variables."""

    def read(self) -> PairRule | None:
        """The rule over pairs."""
        terms = self._rule.head.terms
        if len(terms) != 2 or not all(isinstance(term, Variable) for term in terms):
            return None
        start, end = terms
        assert isinstance(start, Variable)
        assert isinstance(end, Variable)
        middle, met = set[str](), {start.name, end.name}
        for literal in self._rule.body:
            names = _names(literal)
            if names is None:
                return None
            middle |= names & met
            met |= names
        middle -= {start.name, end.name}
        if len(middle) > 1:
            return None
        self._places = {end.name: Z, start.name: X} | dict.fromkeys(middle, Y)
        read = PairRule(self._rule, bool(middle), start == end)
        for literal in self._rule.body:
            if not self._add(read, literal):
                return None
        has_way = not middle or any(not factor.is_negated for factor in read.factors[FIRST])
        return read if has_way else None

    def _add(self, read: PairRule, literal: Atom | Negation | Comparison) -> bool:
        match literal:
            case Comparison("!=", left, right):
                return self._add_apart(read, left, right)
            case Comparison():
                return False
            case Negation(atom):
                return self._add_atom(read, atom, is_negated=True)
            case _:
                return self._add_atom(read, literal, is_negated=False)

    def _add_apart(self, read: PairRule, left: Term, right: Term) -> bool:
        places = sorted(map(self._place, (left, right)))
        if places[0] < 0 or places[0] == places[1]:
            return False
        read.apart.add((places[0], places[1]))
        return True

    def _add_atom(self, read: PairRule, atom: Atom, *, is_negated: bool) -> bool:
        """Whether an atom fits as a factor or as a condition."""
        terms = atom.terms
        if not 1 <= len(terms) <= 2 or set(map(type, terms)) != {Variable}:
            return False
        places = [self._place(term) for term in terms]
        known = [place for place in places if place >= 0]
        if not known:
            return False
        if len(set(known)) == 2:
            start, end = min(known), max(known)
            read.factors[start, end].append(Factor(atom.relation, known[0] > known[1], is_negated))
            return True
        if atom.relation in self._own:
            return False
        is_loop = len(known) == 2
        condition = Condition(atom.relation, len(terms), places.index(known[0]), is_loop, is_negated)
        read.conditions[known[0]].append(condition)
        return True

    def _place(self, term: Term) -> int:
        """Where a variable stands; -1 for one that occurs nowhere else, and for other terms."""
        return self._places.get(term.name, -1) if isinstance(term, Variable) else -1


def _names(literal: Atom | Negation | Comparison) -> set[str] | None:
    """The variables of a literal by name; None if it holds anything else."""
    match literal:
        case Comparison(left=left, right=right):
            terms: Iterable[Term] = left, right
        case Negation(atom):
            terms = atom.terms
        case _:
            terms = literal.terms
    names = set[str]()
    for term in terms:
        if not isinstance(term, Variable):
            return None
        names.add(term.name)
    return names
