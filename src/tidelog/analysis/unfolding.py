"""One rule without inline relations: the rules of an inline relation in the place of its atoms.

What      : `Unfolding` turns a rule into the rules that say the same without inline relations.
Idea      : an atom is replaced by the body of a rule whose head is unified with it; several rules give several bodies.
            The variables of the caller stay as they are: the head's variables take the caller's terms, and what has to
            be equal besides becomes an equation. Local variables are renamed apart. A negated atom of which a rule says
            one thing says the opposite; otherwise it says that there is no instance: `0 = count : { body }`.
Invariant : for relations that could be stored, the new rules have the same instances as the old ones over the stored
            facts, up to local variables. Whatever comes from an inline rule has the place of the atom that it replaces.
            An atom that fits no rule stays: it is over a relation without facts.
Never     : nothing is said here about which relations may be inline (inlining.py).

Codes: E202 a variable that an inline rule needs and does not bind; E215 an atom in an aggregate that stays as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod

from tidelog.analysis.binding import bound_variables
from tidelog.analysis.grouping import occurrences
from tidelog.errors import Place, Problem
from tidelog.language.printer import canonical_text
from tidelog.language.renaming import rule_variables
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
    atoms,
    made_of,
    variables,
)

Body = tuple[Literal, ...]
RulesOf = Callable[[str], Sequence[Rule] | None]
"""The rules of an inline relation, without inline relations in their bodies; None for any other relation."""
MOST_RULES = 10_000
"""More rules than this are not made for one program."""
MOST_LITERALS = 200_000
"""More literals than this are not put into them."""
MOST_CALLS = 10_000
"""More functions than this are not in the place of one atom: an argument that a rule has twice is there twice."""
MOST_NESTED = 200
"""Functions are not nested deeper than in a text (E105): what walks a term calls itself once for each level."""
MOST_DEPTH = 50
"""Aggregates, which negations may become, are not nested deeper than this."""
_FALSE = Comparison("=", Constant(0), Constant(1))
_ALWAYS = {"=": "!=", "!=": "="}
_TYPED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "contains": "!contains", "!contains": "contains"}
"""The opposites of comparisons, where values have the types that they need."""
_ONCE = frozenset({"min", "max"})
"""Aggregates to which it does not matter how often a value occurs."""


class TooManyError(Exception):
    """The rules of a program would be too many without its inline relations."""

    def __init__(self, rule: Rule) -> None:
        super().__init__()
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Unfolded:
    """A rule without inline relations, and the inline rules that were put into it."""

    rule: Rule
    used: tuple[Rule, ...]


@dataclass(slots=True)
class Unfolding:
    """The unfolding of one program's rules."""

    rules_of: RulesOf
    is_typed: bool
    """Whether values have the declared types, so that no comparison can be without a value."""
    problems: list[Problem] = field(default_factory=list)
    made: int = 0
    """How many rules were made."""
    put: int = 0
    """How many literals were put into them."""

    def unfolded(self, rule: Rule) -> tuple[Unfolded, ...]:
        """The rules that say what a rule says; itself if it uses no inline relation."""
        named = (atom.relation for literal in rule.body for atom, _ in atoms(literal))
        if all(self.rules_of(relation) is None for relation in named):
            return (Unfolded(rule, ()),)
        caller = _Caller(self, rule)
        ways = [caller.ways(literal) for literal in rule.body]
        several = prod(map(len, ways))
        self.made += several
        self.put += several * sum(max(len(way.body) for way in some) for some in ways)
        if self.made > MOST_RULES or self.put > MOST_LITERALS:
            raise TooManyError(rule)
        found: dict[str, Unfolded] = {}
        for way in product(*ways):
            body, used = _together(way)
            one = replace(rule, body=body, written=rule.as_written)
            found.setdefault(canonical_text(one), Unfolded(one, used))
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class _Way:
    """What can stand in the place of a literal, and the inline rules that it was made of."""

    body: Body
    used: tuple[Rule, ...] = ()


def _together(ways: Iterable[_Way]) -> tuple[Body, tuple[Rule, ...]]:
    ways = tuple(ways)
    return tuple(one for way in ways for one in way.body), tuple(dict.fromkeys(one for way in ways for one in way.used))


class _Caller:
    """A rule whose atoms are replaced."""

    def __init__(self, unfolding: Unfolding, rule: Rule) -> None:
        self._unfolding, self._rule = unfolding, rule
        self._in_rule = occurrences(rule)
        self._taken = {variable.name for variable in rule_variables(rule)}
        self._wild: set[str] = set()
        """Names that were given to anonymous variables."""

    def ways(self, literal: Literal) -> list[_Way]:
        """What can stand in the place of a literal; without inline relations it is the literal itself."""
        match literal:
            case Atom():
                return self._of_atom(literal)
            case Negation():
                return [self._of_negation(literal)]
            case Aggregate():
                return [self._of_aggregate(literal)]
        return [_Way((literal,))]

    def _of_atom(self, atom: Atom) -> list[_Way]:
        rules = self._unfolding.rules_of(atom.relation)
        fitting = ((rule, self._unified(rule, atom)) for rule in rules or ())
        return [_Way(body, (rule,)) for rule, body in fitting if body is not None] or [_Way((atom,))]

    def _of_aggregate(self, aggregate: Aggregate) -> _Way:
        """An aggregate whose body uses inline relations: each atom has to have one meaning, without more instances."""
        parts: list[_Way] = []
        for literal in aggregate.body:
            ways = self.ways(literal)
            if len(ways) > 1:
                assert isinstance(literal, Atom)
                self._refuse(
                    literal, f"{literal.relation} has several rules that fit, and an aggregate has no alternatives"
                )
            elif isinstance(literal, Atom) and aggregate.function not in _ONCE:
                self._keep_count(literal, ways[0].body)
            parts.append(ways[0])
        body, used = _together(parts)
        return _Way((replace(aggregate, body=body),), used)

    def _keep_count(self, atom: Atom, body: Body) -> None:
        """A variable of the inline rule that may have several values would be counted, too."""
        known = {variable.name for variable in variables(atom)} | self._wild
        seen = {
            variable.name
            for one in body
            if not isinstance(one, Negation)
            for variable in variables(one.result if isinstance(one, Aggregate) else one)
        }
        others = [one for one in body if not isinstance(one, Atom)]
        in_body = occurrences(Rule(atom, body))
        if not seen <= bound_variables(others, known, in_body) | known:
            self._refuse(
                atom, f"{atom.relation} has a variable that its head does not show, and would be counted by it"
            )

    def _of_negation(self, negation: Negation) -> _Way:
        """There is no instance of any of the rules."""
        rules, place = self._unfolding.rules_of(negation.atom.relation), negation.place
        if rules is None:
            return _Way((negation,))
        atom, first = self._without_calls(negation.atom)
        parts: list[Literal] = []
        used: list[Rule] = []
        for number, rule in enumerate(rules):
            own, alone = self._with_own_variables(atom, fresh=number > 0)
            body = self._unified(rule, own)
            if body is not None:
                parts.append(self._opposite(body, alone, place))
                used.append(rule)
        return _Way((*first, *parts), tuple(used)) if used else _Way((negation,))

    def _without_calls(self, atom: Atom) -> tuple[Atom, Body]:
        """A negated atom over a value that is missing does not hold, so values are computed outside it."""
        terms, found = list(atom.terms), list[Literal]()
        for at, term in enumerate(terms):
            if isinstance(term, Call):
                terms[at] = variable = self._fresh("value", atom.place)
                found.append(Comparison("=", variable, term, atom.place))
                self._in_rule[variable.name] += 2
        return Atom(atom.relation, tuple(terms), atom.place), tuple(found)

    def _with_own_variables(self, atom: Atom, *, fresh: bool) -> tuple[Atom, set[str]]:
        """A negated atom and its variables that occur in it only; those get names of their own for each rule."""
        inside = Counter(variable.name for variable in variables(atom))
        alone = {name for name, number in inside.items() if self._in_rule[name] == number}
        if not fresh or not alone:
            return atom, alone
        names = {name: self._fresh(name, None) for name in alone}
        for name, variable in names.items():
            self._in_rule[variable.name] = inside[name]
        terms = tuple(names.get(term.name, term) if isinstance(term, Variable) else term for term in atom.terms)
        return Atom(atom.relation, terms, atom.place), {variable.name for variable in names.values()}

    def _opposite(self, body: Body, alone: set[str], place: Place | None) -> Literal:
        """A literal that holds if the body has no instance; `alone` are variables that nothing outside it binds."""
        if not body:
            return _FALSE
        (one, *more), plain = body, not any(True for literal in body for _ in _calls(literal))
        is_local = any(v.name in alone | self._wild or v.name not in self._in_rule for v in variables(one))
        if plain and not more:
            match one:
                case Atom():
                    return Negation(one, place)
                case Negation(atom=atom) if not is_local:
                    return atom
                case Comparison(op=op) if not is_local and op in _ALWAYS:
                    return replace(one, op=_ALWAYS[op])
                case Comparison(op=op) if not is_local and op in _TYPED and self._unfolding.is_typed:
                    return replace(one, op=_TYPED[op])
        if _depth(body) >= MOST_DEPTH:
            raise TooManyError(self._rule)
        return Aggregate(Constant(0), "count", None, body, place)

    def _unified(self, rule: Rule, atom: Atom) -> Body | None:
        """The body of an inline rule for an atom, with the equations that make its head the atom; None if none do."""
        self._unfolding.put += 1 + _size(rule.body)
        if self._unfolding.put > MOST_LITERALS:
            raise TooManyError(self._rule)
        if len(rule.head.terms) != len(atom.terms):
            return ()  # which is a mistake of its own (arities.py)
        names: dict[str, Term] = {}
        first: list[Literal] = []
        equal: list[tuple[Term, Term]] = []
        for own, given in zip(rule.head.terms, atom.terms):
            if isinstance(own, Variable) and own.name not in names:
                names[own.name] = self._given(rule, own, given, names.values(), first, atom)
            elif isinstance(own, Constant) and isinstance(given, Constant):
                if own != given:
                    return None
            else:
                equal.append((given, own))
        for variable in rule_variables(rule):
            if variable.name not in names:
                names[variable.name] = self._fresh(variable.name, atom.place)
        put = _Put(names, atom.place)
        equations = tuple(Comparison("=", given, put.term(own), atom.place) for given, own in equal)
        made = (*first, *equations, *map(put.literal, rule.body))
        if sum(1 for literal in made for _ in _calls(literal)) > MOST_CALLS or _nested(made) > MOST_NESTED:
            raise TooManyError(self._rule)
        return made

    def _given(
        self,
        rule: Rule,
        own: Variable,
        given: Term,
        others: Iterable[Term],
        first: list[Literal],
        atom: Atom,
    ) -> Term:
        """The term that stands for a variable of an inline rule's head; where it cannot, a new variable equal to it."""
        has_aggregate = any(isinstance(literal, Aggregate) for literal in rule.body)
        if has_aggregate and (isinstance(given, Call) or (isinstance(given, Variable) and given in others)):
            fresh = self._fresh(own.name, atom.place)
            first.append(Comparison("=", fresh, given, atom.place))
            return fresh
        if isinstance(given, Variable) and self._in_rule[given.name] == 1:
            if not _is_shown(own, rule):
                name = "_" if given.is_anonymous else given.name
                sentence = f"variable {name} is bound by nothing: {atom.relation} is inline, and does not bind it"
                remedy = f"let {name} occur in a positive atom"
                self._unfolding.problems.append(Problem("E202", sentence, given.place or atom.place, remedy))
            if given.is_anonymous and occurrences(rule)[own.name] > 2:
                fresh = self._fresh(own.name, given.place)  # printed as _ in two places it would be two
                self._wild.add(fresh.name)
                return fresh
        return given

    def _fresh(self, name: str, place: Place | None) -> Variable:
        """A variable that the rule does not have: with the name, if it is free."""
        stem, number, found = ("_:" if name.startswith("_:") else f"{name}_"), 1, name
        while found in self._taken:
            number += 1
            found = f"{stem}{number}"
        self._taken.add(found)
        return Variable(found, place)

    def _refuse(self, atom: Atom, sentence: str) -> None:
        remedy = f"leave out inline in the declaration of {atom.relation}"
        problem = Problem("E215", f"in an aggregate, {sentence}", atom.place or self._rule.place, remedy)
        self._unfolding.problems.append(problem)


@dataclass(frozen=True, slots=True)
class _Put:
    """Puts terms in the place of an inline rule's variables, and gives everything the place of the atom."""

    names: dict[str, Term]
    place: Place | None

    def term(self, term: Term) -> Term:
        match term:
            case Variable(name=name):
                return self.names[name]
            case Constant(value=value):
                return Constant(value, self.place)
            case Call(function=function, arguments=arguments):
                return Call(function, tuple(map(self.term, arguments)), self.place)

    def atom(self, atom: Atom) -> Atom:
        return Atom(atom.relation, tuple(map(self.term, atom.terms)), self.place)

    def literal(self, literal: Literal) -> Literal:
        match literal:
            case Atom():
                return self.atom(literal)
            case Negation(atom=atom):
                return Negation(self.atom(atom), self.place)
            case Comparison(op=op, left=left, right=right):
                return Comparison(op, self.term(left), self.term(right), self.place)
            case Aggregate(result=result, function=function, value=value, body=body):
                inner = tuple(map(self.literal, body))
                value = None if value is None else self.term(value)
                return Aggregate(self.term(result), function, value, inner, self.place)


def _is_shown(own: Variable, rule: Rule) -> bool:
    """Whether an inline rule has a variable of its head outside negations and aggregates, or twice in its head."""
    shown = (literal.result if isinstance(literal, Aggregate) else literal for literal in rule.body)
    visible = (one for part in shown if not isinstance(part, Negation) for one in variables(part))
    return own in visible or list(variables(rule.head)).count(own) > 1


def _size(body: Body) -> int:
    return sum(1 + (_size(literal.body) if isinstance(literal, Aggregate) else 0) for literal in body)


def _depth(body: Body) -> int:
    """How deep aggregates are nested in a body."""
    return max((1 + _depth(literal.body) for literal in body if isinstance(literal, Aggregate)), default=0)


def _nested(parts: Iterable[Term | Literal]) -> int:
    """How deep functions are nested in some terms or literals."""
    return max((isinstance(part, Call) + _nested(made_of(part)) for part in parts), default=0)


def _calls(part: Term | Literal) -> Iterator[Call]:
    """The functions in a literal, those in arguments and in aggregates included."""
    if isinstance(part, Call):
        yield part
    for one in made_of(part):
        yield from _calls(one)
