"""Rules that do not recur, evaluated over columns of ids without a store.

What      : `is_straight` says whether the rules of a stage are such rules; `heads` gives their heads, over the facts
            that a shard has.
Idea      : a store numbers constants, hashes facts and keeps marks, so that a fact that was derived can derive others.
            Where no rule reads what the stage derives, none of that is needed: an atom is joined by binary search in a
            sorted column, a comparison is a filter, and a head that is derived twice is dropped by the task that sorts
            it into its file (files/sorted_rows.py). A join of 12 million facts with a million took a sixth of the
            processor time.
Invariant : every instance of a rule gives its head once. What is not straight is left to shard.py.
Never     : no Spark, and no fact is kept.

    priced(x, y, p) :- has(x, y), price(y, p).      dear(x, y) :- priced(x, y, p), p > 900.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import pairwise

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.key_search import KeySearch
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids
from tidelog.language.terms import Atom, Call, Comparison, Constant, Term, Variable, variables
from tidelog.planning.lowered import LoweredRule, Stage

_PORTION = 1 << 19
"""Facts of the first atom that are joined at once, and about how many instances a join gives at once: a hub, with which
many facts join, must not fill the memory of a task."""
_ORDERS: Mapping[str, Callable[[Ids, Ids], Array]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

Bindings = dict[Variable, Ids]
"""Columns of values, one for each variable, as long as there are instances."""


def is_straight(stage: Stage) -> bool:
    """Whether no rule of a stage recurs, computes, negates, joins facts that share nothing, or needs a witness only.

    `h(x) :- p(x, y), q(y, z), z > 5` needs one z for each y, which a store knows to stop at; columns would try all.
    """
    return bool(stage.rules) and all(_is_straight(rule, stage.relations) for rule in stage.rules)


def _is_straight(rule: LoweredRule, own: frozenset[str]) -> bool:
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    compared = [literal for literal in rule.body if isinstance(literal, Comparison)]
    sides = (side for one in compared for side in (one.left, one.right))
    bound = {variable for atom in atoms for variable in variables(atom)}
    used = {variable for part in compared for variable in variables(part)}.union(variables(rule.head))
    places = Counter(variable for atom in atoms for variable in set(variables(atom)))
    kept = set(variables(rule.head))
    return (
        len(atoms) + len(compared) == len(rule.body)
        and all(set(variables(atom)) and atom.relation not in own for atom in atoms)
        and all(one.op in _ORDERS for one in compared)
        and bool(rule.head.terms)
        and used <= bound
        and not any(isinstance(term, Call) for term in (*rule.head.terms, *sides))
        and (len(atoms) == 1 or all(count > 1 or variable in kept for variable, count in places.items()))
        and len(_in_turn(atoms)) == len(atoms) > 0
    )


def _in_turn(atoms: Sequence[Atom]) -> list[Atom]:
    """The atoms in an order in which each shares a variable with one before it; atoms that cannot are left out."""
    ordered, waiting = list(atoms[:1]), list(atoms[1:])
    while waiting:
        bound = {variable for atom in ordered for variable in variables(atom)}
        following = next((atom for atom in waiting if bound.intersection(variables(atom))), None)
        if following is None:
            return ordered
        waiting.remove(following)
        ordered.append(following)
    return ordered


def heads(rule: LoweredRule, facts: Mapping[str, Ids], *, is_numeric: bool) -> Iterator[Ids]:
    """The heads of a rule, portion by portion; constants of a rule that computes are integers, else ids."""
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    compared = [literal for literal in rule.body if isinstance(literal, Comparison)]
    first = max(range(len(atoms)), key=lambda at: len(facts[atoms[at].relation]))
    chosen, *others = _in_turn([atoms[first], *atoms[:first], *atoms[first + 1 :]])
    named = cache(lambda term: _id(term, is_numeric))
    tables = [_matching(atom, facts[atom.relation], named) for atom in (chosen, *others)]
    bound, joins = set(tables[0]), []
    for table in tables[1:]:
        joins.append(_Join(table, bound))
        bound |= table.keys()
    for start in range(0, _size(tables[0]), _PORTION):
        portion = {variable: column[start : start + _PORTION] for variable, column in tables[0].items()}
        for instances in _instances(portion, joins):
            found = _compared(instances, compared, named)
            count, terms = _size(found), rule.head.terms
            if count:
                columns = [found[one] if isinstance(one, Variable) else np.full(count, named(one)) for one in terms]
                yield np.stack(columns).T


def _size(found: Bindings) -> int:
    return len(next(iter(found.values())))


def _id(term: Term, is_numeric: bool) -> int:
    assert isinstance(term, Constant)
    value = int(term.value)  # type: ignore[arg-type]
    return ids.of_value(value) if is_numeric else value


def _matching(atom: Atom, facts: Ids, named: Callable[[Term], int]) -> Bindings:
    """The columns of an atom's variables, of the facts that have its constants."""
    is_wanted: Array | None = None
    found: Bindings = {}
    for at, term in enumerate(atom.terms):
        other = named(term) if isinstance(term, Constant) else found.get(term) if isinstance(term, Variable) else None
        if other is None:
            assert isinstance(term, Variable)
            found[term] = facts[:, at]
        else:
            same = facts[:, at] == other
            is_wanted = same if is_wanted is None else is_wanted & same
    return found if is_wanted is None else {term: column[is_wanted] for term, column in found.items()}


class _Join:
    """The facts of an atom, sorted by the first variable that it shares with those before it."""

    def __init__(self, table: Bindings, bound: Set[Variable]) -> None:
        self._table = table
        self._by, *self._also = (variable for variable in table if variable in bound)
        column = table[self._by]
        self._order = None if (column[1:] >= column[:-1]).all() else np.argsort(column)
        self._search = KeySearch(column if self._order is None else column[self._order])

    def joined(self, found: Bindings) -> Iterator[Bindings]:
        """The bindings with those of the atom, some at a time."""
        first, counts = self._search.find(found[self._by])
        for start, stop in _ranges(counts):
            yield self._joined(found, np.arange(start, stop), first[start:stop], counts[start:stop])

    def _joined(self, found: Bindings, whose: Ids, first: Ids, counts: Ids) -> Bindings:
        whose = np.repeat(whose, counts)
        places = np.arange(len(whose)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        if self._order is not None:
            places = self._order[places]
        for variable in self._also:
            same = found[variable][whose] == self._table[variable][places]
            whose, places = whose[same], places[same]
        joined = {variable: column[whose] for variable, column in found.items()}
        return joined | {variable: column[places] for variable, column in self._table.items() if variable not in found}


def _ranges(counts: Ids) -> Iterator[tuple[int, int]]:
    """Facts by place, in ranges with about a portion of matches each; a fact with more is alone."""
    ends = np.cumsum(counts)
    cuts = np.searchsorted(ends, np.arange(_PORTION, ends[-1] if len(ends) else 0, _PORTION), "left")
    return pairwise(np.unique(np.concatenate([[0], cuts, cuts + 1, [len(counts)]])).tolist())


def _instances(found: Bindings, joins: Sequence[_Join]) -> Iterator[Bindings]:
    """The bindings joined with one atom after the other."""
    if not joins:
        yield found
        return
    for some in joins[0].joined(found):
        yield from _instances(some, joins[1:])


def _compared(found: Bindings, comparisons: Sequence[Comparison], named: Callable[[Term], int]) -> Bindings:
    """Bindings of which all comparisons are true. Order is asked of integers only, whose ids have it, too."""
    for one in comparisons:
        left, right = (found[side] if isinstance(side, Variable) else named(side) for side in (one.left, one.right))
        is_true = np.broadcast_to(_ORDERS[one.op](left, right), _size(found))  # type: ignore[arg-type]
        found = {variable: column[is_true] for variable, column in found.items()}
    return found
