"""How a stage is spread over shards.

What      : for every rule, which facts have to meet and where; from that the deliveries of every relation, and the
            rules as a shard runs them.
Idea      : small relations are given whole to every shard, the others are partitioned. A rule with one partitioned
            atom runs where the atom's fact lives; a rule with several runs at the shard of a variable that they
            share, and their facts are delivered there. Every relation of the stage has one home per fact (its
            *primary* delivery), by a column or by the whole fact. If the column that decides the head's home holds
            the variable that decides where the rule runs, the head is already at home: an argument that the recursion
            preserves makes the whole stage free of exchanges (the decomposable programs of Wolfson and Silberschatz
            1988). Columns are chosen to make as many rules free of exchanges as possible.
Invariant : correct for every choice: whether a fact is at home is computed per fact, never assumed, except in a plan
            that is free of exchanges as a whole.
Never     : no data beyond sizes; no Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from tidelog.backends.spark.bulk.placement import Delivery
from tidelog.backends.spark.bulk.shard_rules import IdRules
from tidelog.backends.spark.values import ids
from tidelog.language.terms import Atom, Constant, Negation, Term, Variable
from tidelog.planning.lowered import BodyLiteral, LoweredRule, Stage

_COMBINATIONS = 4096
_EXIT, _RECURSIVE, _AT_HOME = 0.5, 1.0, 0.25


@dataclass(frozen=True)
class Sizes:
    """What the planner knows about data: facts per relation below the stage, and about how many per pattern.

    A *pattern* is an atom over a relation of the stage, up to its variables: `t(x, 4, y)` and `t(u, 4, v)` are one.
    A relation below with at most `small` facts, and a pattern with at most `few`, are given to every shard. A relation
    of `stored` is read from files by every shard; it may have up to `small_stored` facts.
    """

    facts: Mapping[str, int]
    patterns: Mapping[Atom, int]
    small: int
    few: int
    stored: frozenset[str] = frozenset()
    small_stored: int = 0

    def is_small(self, relation: str) -> bool:
        """Whether a relation below is given to every shard."""
        most = max(self.small, self.small_stored) if relation in self.stored else self.small
        return self.facts.get(relation, 0) <= most


@dataclass(frozen=True)
class BulkPlan:
    """A stage as shards run it. `whole` are the relations that every shard has whole."""

    stage: Stage
    whole: frozenset[str]
    deliveries: tuple[Delivery, ...]
    arities: Mapping[str, int]
    is_local: bool
    is_numeric: bool
    numeric: frozenset[tuple[str, int]]

    @property
    def reason(self) -> str:
        """What was chosen, in one sentence."""
        homes = ", ".join(
            f"{delivery.source} by {'the whole fact' if delivery.key is None else f'column {delivery.key + 1}'}"
            for delivery in self.deliveries
            if delivery.name == delivery.source
        )
        kind = "an argument is preserved, no exchange" if self.is_local else "rounds of exchange"
        return f"{homes}: {kind}"


def plan(stage: Stage, rules: IdRules, sizes: Sizes, keys: Mapping[str, int | None] | None = None) -> BulkPlan | None:
    """The best plan for a stage; None if the facts of some rule cannot meet at one shard."""
    layouts = _Layouts(stage, rules, sizes)
    chosen = keys or layouts.best_keys()
    return None if chosen is None else layouts.plan(chosen)


@dataclass(frozen=True)
class _Layout:
    """One rule: for each body literal the delivery that it is matched in (None: as it is), and what it is worth."""

    deliveries: tuple[Delivery | None, ...]
    is_local: bool
    worth: float


class _Layouts:
    """Looks for the columns by which the stage's relations are partitioned."""

    def __init__(self, stage: Stage, rules: IdRules, sizes: Sizes) -> None:
        self._stage, self._rules, self._sizes = stage, rules, sizes
        self._own = {rule.head.relation: len(rule.head.terms) for rule in rules.rules}
        for atom in _atoms(rules.rules):
            if atom.relation in stage.relations:
                self._own[atom.relation] = len(atom.terms)

    def best_keys(self) -> dict[str, int | None] | None:
        """The assignment of columns that is worth most; None if no assignment works."""
        names = sorted(self._own)
        choices: list[Sequence[int | None]] = [(None, *range(self._own[name])) for name in names]
        total = 1
        for options in choices:
            total *= len(options)
        if total > _COMBINATIONS:
            choices = [options[:2] if total > _COMBINATIONS**2 else options[:3] for options in choices]
        best: tuple[float, dict[str, int | None]] | None = None
        for _, combination in zip(range(_COMBINATIONS), product(*choices)):
            keys = dict(zip(names, combination))
            worth = self._worth(keys)
            if worth is not None and (best is None or worth > best[0]):
                best = worth, keys
        return best[1] if best else None

    def _worth(self, keys: Mapping[str, int | None]) -> float | None:
        total = 0.0
        for rule in self._rules.rules:
            layout = self._layout(rule, keys)
            if layout is None:
                return None
            total += layout.worth
        return total

    def plan(self, keys: Mapping[str, int | None]) -> BulkPlan | None:
        """The plan for given columns."""
        primaries = {name: Delivery(name, name, keys.get(name)) for name in sorted(self._own)}
        named: dict[Delivery, Delivery] = {replace(found, name=""): found for found in primaries.values()}
        rules: list[LoweredRule] = []
        is_local = True
        for rule in self._rules.rules:
            layout = self._layout(rule, keys)
            if layout is None:
                return None
            is_local &= layout.is_local
            rules.append(_renamed(rule, [_numbered(found, named) for found in layout.deliveries]))
        deliveries = tuple(named.values())
        is_local &= all(found.source not in self._own or found.name == found.source for found in deliveries)
        arities = {atom.relation: len(atom.terms) for atom in _atoms(rules)} | self._own
        relations = self._own.keys() | {found.name for found in deliveries if found.source in self._own}
        whole = {atom.relation for atom in _atoms(rules)} - {found.name for found in deliveries}
        stage = Stage(frozenset(relations), tuple(rules), (), self._stage.is_recursive)
        numeric = frozenset(
            (name, column)
            for relation, column in self._rules.numeric
            for name in (relation, *(found.name for found in deliveries if found.source == relation))
        )
        return BulkPlan(stage, frozenset(whole), deliveries, arities, is_local, self._rules.is_numeric, numeric)

    # -- one rule ----------------------------------------------------------------------------------------------------

    def _layout(self, rule: LoweredRule, keys: Mapping[str, int | None]) -> _Layout | None:
        """Where the facts of a rule meet, given the columns of the own relations; None if nowhere."""
        positive = [at for at, literal in enumerate(rule.body) if isinstance(literal, Atom)]
        large = [
            at
            for at, literal in enumerate(rule.body)
            if isinstance(literal, Atom | Negation) and self._is_large(rule, at)
        ]
        if not positive:
            return _Layout((None,) * len(rule.body), False, 0.0) if not large else None
        if not any(at in positive for at in large):
            options = [self._meeting(rule, [at, *large], keys) for at in positive]
        else:
            options = [self._meeting(rule, large, keys)]
        found = [option for option in options if option is not None]
        return max(found, key=lambda option: option.worth, default=None)

    def _meeting(self, rule: LoweredRule, large: Sequence[int], keys: Mapping[str, int | None]) -> _Layout | None:
        """The best layout in which the given atoms are partitioned and the others are at every shard."""
        head = self._home_variable(rule.head, keys)
        if len(large) == 1:
            return self._alone(rule, large[0], keys, head)
        shared = set.intersection(*({term for term in _terms(rule, at) if isinstance(term, Variable)} for at in large))
        options = [
            self._joined(rule, large, keys, variable, head) for variable in sorted(shared, key=lambda one: one.name)
        ]
        return max(options, key=lambda option: option.worth, default=None)

    def _alone(self, rule: LoweredRule, at: int, keys: Mapping[str, int | None], head: Variable | None) -> _Layout:
        atom = rule.body[at]
        assert isinstance(atom, Atom)
        if atom.relation in self._own:
            delivery = Delivery("", atom.relation, keys.get(atom.relation))
            is_local = head is not None and self._home_variable(atom, keys) == head
        else:
            key = atom.terms.index(head) if head is not None and head in atom.terms else None
            delivery = Delivery("", atom.relation, key)
            is_local = key is not None
        return self._spread(rule, {at: delivery}, is_local, 0.0)

    def _joined(
        self,
        rule: LoweredRule,
        large: Sequence[int],
        keys: Mapping[str, int | None],
        variable: Variable,
        head: Variable | None,
    ) -> _Layout:
        """The partitioned atoms meet at the shard of a variable.

        One side of a hot key is spread, an atom that is at home there if possible; the others go everywhere.
        """
        columns = {at: _terms(rule, at).index(variable) for at in large}
        at_home = [
            at for at in large if isinstance(rule.body[at], Atom) and keys.get(_relation(rule, at), -1) == columns[at]
        ]
        spread = next(iter(at_home), next(at for at in large if isinstance(rule.body[at], Atom)))
        deliveries = {}
        for at in large:
            pattern = () if at == spread and at_home else self._needed_pattern(rule, at)
            is_copied = at != spread
            deliveries[at] = Delivery("", _relation(rule, at), columns[at], pattern, hot_is_everywhere=is_copied)
        return self._spread(rule, deliveries, variable == head, _AT_HOME if at_home else 0.0)

    def _spread(self, rule: LoweredRule, deliveries: dict[int, Delivery], is_local: bool, bonus: float) -> _Layout:
        """The layout, with the other atoms of the stage, which are small, at every shard."""
        for at, literal in enumerate(rule.body):
            if isinstance(literal, Atom) and at not in deliveries and literal.relation in self._own:
                deliveries[at] = Delivery("", literal.relation, None, self.pattern(literal), is_everywhere=True)
        worth = _RECURSIVE if any(_relation(rule, at) in self._own for at in deliveries) else _EXIT
        chosen = tuple(deliveries.get(at) for at in range(len(rule.body)))
        return _Layout(chosen, is_local, worth * is_local + bonus)

    def pattern(self, atom: Atom) -> tuple[tuple[int, int], ...]:
        """The constants of an atom as ids, by column."""
        as_id: Callable[[Any], int] = ids.of_value if self._rules.is_numeric else int
        return tuple((at, as_id(term.value)) for at, term in enumerate(atom.terms) if isinstance(term, Constant))

    def _needed_pattern(self, rule: LoweredRule, at: int) -> tuple[tuple[int, int], ...]:
        """A copy needs only the facts with the atom's constants."""
        literal = rule.body[at]
        return self.pattern(literal) if isinstance(literal, Atom) else ()

    def _is_large(self, rule: LoweredRule, at: int) -> bool:
        literal = rule.body[at]
        atom = literal.atom if isinstance(literal, Negation) else literal
        assert isinstance(atom, Atom)
        if not atom.terms:
            return False
        if atom.relation not in self._own:
            return not self._sizes.is_small(atom.relation)
        return self._sizes.patterns.get(skeleton(atom), self._sizes.few + 1) > self._sizes.few

    def _home_variable(self, atom: Atom, keys: Mapping[str, int | None]) -> Variable | None:
        """The variable that decides the home of an own fact."""
        key = keys.get(atom.relation)
        term = atom.terms[key] if key is not None else None
        return term if isinstance(term, Variable) else None


def skeleton(atom: Atom) -> Atom:
    """An atom up to its variables: what a pattern is known by."""
    return Atom(atom.relation, tuple(term if isinstance(term, Constant) else Variable("_") for term in atom.terms))


def _terms(rule: LoweredRule, at: int) -> tuple[Term, ...]:
    literal = rule.body[at]
    atom = literal.atom if isinstance(literal, Negation) else literal
    assert isinstance(atom, Atom)
    return atom.terms


def _relation(rule: LoweredRule, at: int) -> str:
    literal = rule.body[at]
    atom = literal.atom if isinstance(literal, Negation) else literal
    assert isinstance(atom, Atom)
    return atom.relation


def _atoms(rules: Sequence[LoweredRule]) -> Iterator[Atom]:
    for rule in rules:
        for literal in rule.body:
            match literal:
                case Atom():
                    yield literal
                case Negation(atom):
                    yield atom


def _numbered(found: Delivery | None, named: dict[Delivery, Delivery]) -> Delivery | None:
    """The delivery under the name by which shards know it; equal ones share it."""
    if found is None:
        return None
    known = named.get(replace(found, name=""))
    if known is None:
        known = named[found] = replace(found, name=f"{found.source}@{len(named)}")
    return known


def _renamed(rule: LoweredRule, deliveries: Sequence[Delivery | None]) -> LoweredRule:
    body: list[BodyLiteral] = []
    for literal, delivery in zip(rule.body, deliveries):
        match literal:
            case Atom(_, terms) if delivery is not None:
                body.append(Atom(delivery.name, terms))
            case Negation(Atom(_, terms)) if delivery is not None:
                body.append(Negation(Atom(delivery.name, terms)))
            case _:
                body.append(literal)
    return replace(rule, body=tuple(body))
