"""Rules as rows of a circuit: bodies taken apart into joins of two.

What      : `wired` gives a stage as a circuit works on it. A rule becomes a chain of *directions*, each a join of a
            shorter prefix of its body with one more atom, and a *signal*, which joins the longest prefix with what is
            left and grounds the head. A *rewrite* is a fact of a prefix: a row of values for the variables that are
            needed later.
Idea      : rules are data. A rule adds weight 1 to its directions and its signal; a direction that two rules share has
            weight 2 and is one row. So a rule that comes brings the rows whose weight was 0, and one that goes takes
            those whose weight becomes 0: `push` finds both.
Source    : de Lima et al. 2024, Definitions 4.2 (prefixes), 4.3 (directions), 4.4 (signals).
Invariant : over the same facts below, a wired stage derives the same facts of the stage's own relations. A direction is
            the same value, whatever rule it comes from and however that rule calls its variables.
Departures: 1. A prefix is known by its atoms. The paper adds hashes up, and sums can collide.
            2. The rewrites of one atom are its facts, and those of a whole body are met with the head at once; neither
               is kept. A body of two atoms is one join, and has no prefix.
            3. Atoms below the stage come first, then each that shares a variable with those before it, so that a prefix
               is no product of things that have nothing in common; where nothing is shared, the prefix ends.
            4. Variables that nobody asks for later are left out. A rewrite then stands for several, and its weight
               says for how many.
Never     : no facts here, and no order of joins inside a direction (join_order.py).

    p(x, w) :- a(x, y), b(y, z), c(z, w).      becomes
    @rewrites(x, z) :- a(x, y), b(y, z).       p(x, w) :- @rewrites(x, z), c(z, w).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain

from tidelog.language.printer import print_literal
from tidelog.language.renaming import rename_atom
from tidelog.language.terms import Atom, Constant, Rule, Variable, variables
from tidelog.planning.lowered import REWRITES_PREFIX, BodyLiteral, LoweredRule, Stage

MOST_ATOMS = 8
"""Longer bodies are left as they are: n atoms have n - 2 prefixes of up to n atoms each."""


def wired(stage: Stage) -> Stage:
    """The stage with its bodies taken apart; the stage itself if none of them has a prefix."""
    return with_rewrites(stage, _rows(stage.rules, stage))


def push(stage: Stage, before: Iterable[LoweredRule]) -> tuple[list[LoweredRule], list[LoweredRule], Stage]:
    """The rows that come and go when the stage's rules were other ones, and the stage with the rows of both."""
    old, new = Counter(_rows(before, stage)), Counter(_rows(stage.rules, stage))
    added = [row for row in new if row not in old]
    removed = [row for row in old if row not in new]
    wide = with_rewrites(stage, new)
    return added, removed, replace(wide, relations=wide.relations.union(row.head.relation for row in removed))


def with_rewrites(stage: Stage, rows: Iterable[LoweredRule]) -> Stage:
    """The stage with these rows as its rules, and with the prefixes that they derive as relations of its own."""
    rules = tuple(dict.fromkeys(rows))
    prefixes = stage.relations.union(rule.head.relation for rule in rules)
    if prefixes == stage.relations:
        return stage
    return replace(stage, relations=prefixes, rules=rules, is_recursive=True)


def _rows(rules: Iterable[LoweredRule], stage: Stage) -> list[LoweredRule]:
    """The directions and signals of rules, each as often as there are rules that have it."""
    return list(chain.from_iterable(_taken_apart(rule, stage.relations) for rule in rules))


def _taken_apart(rule: LoweredRule, own: Set[str]) -> Iterable[LoweredRule]:
    """The directions of a rule and its signal; the rule itself if it has no prefix of two atoms or more."""
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    if not 2 < len(atoms) <= MOST_ATOMS:
        return [rule]
    order = _connected(atoms, own)
    body = _Body(rule, atoms, order)
    prefixes = [body.prefix(length, min(own)) for length in range(2, min(len(order), len(atoms) - 1) + 1)]
    if not prefixes:
        return [rule]
    shorter = [atoms[order[0]], *(prefix.atom for prefix in prefixes)]
    directions = [body.direction(shorter[at], prefix) for at, prefix in enumerate(prefixes)]
    return [*directions, replace(rule, body=(prefixes[-1].atom, *body.rest(prefixes[-1].length)))]


def _connected(atoms: Sequence[Atom], own: Set[str]) -> list[int]:
    """Positions of atoms in the order in which prefixes take them; it ends where nothing is shared with the rest."""
    known: set[Variable] = set()
    order: list[int] = []
    waiting = list(range(len(atoms)))
    while waiting:
        chosen = min(waiting, key=lambda at: (not _meets(atoms[at], known), *_price(atoms[at], known, own), at))
        if order and not _meets(atoms[chosen], known):
            break
        order.append(chosen)
        waiting.remove(chosen)
        known.update(variables(atoms[chosen]))
    return order


def _meets(atom: Atom, known: Set[Variable]) -> bool:
    """Whether an atom shares a variable with what is known, or has none."""
    inside = set(variables(atom))
    return not inside or not known.isdisjoint(inside)


def _price(atom: Atom, known: Set[Variable], own: Set[str]) -> tuple[bool, int]:
    """Atoms below the stage first, then those with the fewest open columns.

    Before anything is known, columns do not count: of several atoms the first as written is taken.
    """
    is_open = (not isinstance(term, Constant) and term not in known for term in atom.terms)
    return atom.relation in own, sum(is_open) if known else 0


@dataclass(frozen=True, slots=True)
class _Prefix:
    """The first atoms of a body in their order: the atom over its rewrites, in the words of the rule."""

    length: int
    atom: Atom


@dataclass(frozen=True, slots=True)
class _Body:
    """A body on its way through its prefixes."""

    rule: LoweredRule
    atoms: Sequence[Atom]
    order: Sequence[int]

    def rest(self, length: int) -> tuple[BodyLiteral, ...]:
        """The literals that are left after a prefix, in the order of the body."""
        taken = {id(self.atoms[at]) for at in self.order[:length]}
        return tuple(literal for literal in self.rule.body if id(literal) not in taken)

    def prefix(self, length: int, owner: str) -> _Prefix:
        """A prefix, named after its atoms, what is asked of it later, and one relation of the stage it belongs to."""
        taken = [self.atoms[at] for at in self.order[:length]]
        asked = {v for part in (self.rule.head, *self.rest(length)) for v in variables(part)}
        kept = [v for v in dict.fromkeys(v for atom in taken for v in variables(atom)) if v in asked]
        names = self._names()
        text = ", ".join(print_literal(rename_atom(atom, names)) for atom in taken)
        columns = ", ".join(names[variable.name] for variable in kept)
        return _Prefix(length, Atom(f"{REWRITES_PREFIX} of {owner}({columns}): {text}", tuple(kept)))

    def direction(self, shorter: Atom, prefix: _Prefix) -> LoweredRule:
        """The step to a prefix from the one that is an atom shorter, with variables numbered as they appear."""
        names, last = self._names(), self.atoms[self.order[prefix.length - 1]]
        head = rename_atom(prefix.atom, names)
        body = (rename_atom(shorter, names), rename_atom(last, names))
        _, _, text = prefix.atom.relation.partition(": ")
        return LoweredRule(f"prefix {text}", head, body, Rule(head, body))

    def _names(self) -> dict[str, str]:
        """The variables of the atoms by number, in the order of the prefixes."""
        ordered = (variable.name for at in self.order for variable in variables(self.atoms[at]))
        return {name: f"v{number}" for number, name in enumerate(dict.fromkeys(ordered))}
