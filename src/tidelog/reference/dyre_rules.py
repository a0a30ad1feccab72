"""Rules as data: prefixes, directions, grounding signals, join orders.

What      : what the DYRE circuits know of a rule, and the rewriting steps that they are made of.
Source    : de Lima et al. 2024, section 3 (rewrites, Definitions 3.1, 3.2) and Definitions 4.2-4.7.
Invariant : two rules share a prefix if and only if their first atoms are equal up to the names of variables.
Departures: 1. Definition 4.2 identifies a prefix by a sum of hashes, so that two prefixes can collide and derive wrong
               facts. Here the prefix itself is its identity.
            2. Definition 4.3 means the step from a_(j-1) to a_j (the text prints a_(j-0)).
            3. Literals that are no atoms wait for the end of the body: they are part of the grounding signal.
            4. Definition 4.6: a position is indexed if its term is known when the atom is reached, a constant or a
               variable of an earlier atom; this is what Example 4.7 shows.
Never     : no streams here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.language.renaming import rename_atom, rename_literal
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
    variables,
)
from tidelog.reference.evaluation import FactSet, GroundFact, Key, View, head_bound, instances, uniform
from tidelog.reference.facts import to_key
from tidelog.reference.zset import ZSet

Rewrite = tuple[tuple[str, Key], ...]
Prefix = tuple[Atom, ...]
Direction = tuple[Prefix, Prefix]
Signal = tuple[Prefix, Rule]
JoinOrder = tuple[str, tuple[int, ...]]
Partial = tuple[str, tuple[int, ...], tuple[Key, ...]]

EMPTY: Rewrite = ()
"""Sigma_0, the rewrite without substitutions."""


def canonical(rule: Rule) -> tuple[Prefix, Rule]:
    """The rule's atoms, its variables numbered in order of appearance, and what is left to do after the last atom."""
    prefix: list[Atom] = []
    rest: list[Literal] = [literal for literal in rule.body if not isinstance(literal, Atom)]
    for literal in rule.body:
        if isinstance(literal, Atom):
            terms, calls = _without_calls(literal, len(prefix))
            prefix.append(Atom(literal.relation, terms))
            rest.extend(calls)
    names: dict[str, str] = {}
    for part in (*prefix, *rest, rule.head):
        for variable in variables(part):
            names.setdefault(variable.name, f"v{len(names)}")
    ending = Rule(rename_atom(rule.head, names), tuple(rename_literal(literal, names) for literal in rest))
    return tuple(rename_atom(atom, names) for atom in prefix), ending


def _without_calls(atom: Atom, number: int) -> tuple[tuple[Term, ...], list[Comparison]]:
    """The atom's terms with a new variable for every call, and the comparisons that define these variables."""
    terms, calls = list(atom.terms), []
    for position, term in enumerate(terms):
        if isinstance(term, Call):
            terms[position] = Variable(f"call:{number}:{position}")
            calls.append(Comparison("=", terms[position], term))
    return tuple(terms), calls


def directions(rule: Rule) -> Iterator[Direction]:
    """dir (Definition 4.3): the steps from each prefix of the body to the next longer one."""
    prefix, _ = canonical(rule)
    for length in range(1, len(prefix) + 1):
        yield prefix[: length - 1], prefix[:length]


def signal(rule: Rule) -> Iterator[Signal]:
    """sig (Definition 4.4): the whole body, and the head to ground when it is reached."""
    yield canonical(rule)


def join_orders(rule: Rule) -> Iterator[JoinOrder]:
    """jorder (Definition 4.6): for every atom, the positions that are known when it is reached."""
    prefix, _ = canonical(rule)
    for length, atom in enumerate(prefix):
        yield atom.relation, known_positions(prefix[:length], atom)


def known_positions(before: Prefix, atom: Atom) -> tuple[int, ...]:
    """The positions of constants and of variables that occur in earlier atoms."""
    bound = {variable.name for earlier in before for variable in variables(earlier)}
    return tuple(
        position
        for position, term in enumerate(atom.terms)
        if isinstance(term, Constant) or (isinstance(term, Variable) and term.name in bound)
    )


def partial_of_fact(order: JoinOrder, fact: GroundFact) -> Iterator[Partial]:
    """The part of a fact that an index on these positions stores; none if the fact is too short."""
    relation, positions = order
    if relation == fact[0] and all(position < len(fact[1]) for position in positions):
        yield relation, positions, tuple(fact[1][position] for position in positions)


def partial_of_rewrite(prefix: Prefix, rewrite: Rewrite) -> Partial:
    """The part of the facts that a rewrite can meet at the last atom of a prefix."""
    atom, bound = prefix[-1], dict(rewrite)
    positions = known_positions(prefix[:-1], atom)
    return atom.relation, positions, tuple(_known_key(atom.terms[position], bound) for position in positions)


def _known_key(term: Term, bound: dict[str, Key]) -> Key:
    if isinstance(term, Constant):
        return to_key(term.value)
    assert isinstance(term, Variable)
    return bound[term.name]


def extend(rewrite: Rewrite, atom: Atom, fact: GroundFact) -> Iterator[Rewrite]:
    """The rewrite extended by unifying the rewritten atom with a fact, if they unify (Definition 3.2)."""
    found = head_bound(atom, fact)
    if found is not None and all(found.get(name, key) == key for name, key in rewrite):
        yield tuple(sorted({**dict(rewrite), **found}.items()))


def rewrite_product(rewrites: Iterable[Rewrite], atom: Atom, facts: Iterable[GroundFact]) -> set[Rewrite]:
    """The product of a set of rewrites and an atom over facts (Definition 3.2)."""
    known = list(facts)
    return {longer for rewrite in rewrites for fact in known for longer in extend(rewrite, atom, fact)}


def grounded(ending: Rule, rewrite: Rewrite, view: View) -> Iterator[GroundFact]:
    """The heads that a rewrite of the whole body grounds; the ending's literals are matched in the view."""
    for instance in instances(ending, uniform(ending, view, view), substitution=dict(rewrite)):
        yield instance.head


def reads_facts(ending: Rule) -> bool:
    """Whether grounding depends on facts: a negated atom or an aggregate is left to do."""
    return any(isinstance(literal, Negation | Aggregate) for literal in ending.body)


def consequences(rules: ZSet[Rule], facts: ZSet[GroundFact]) -> ZSet[GroundFact]:
    """T: the immediate consequences of the rules over the facts, as a set."""
    view = FactSet(facts)
    heads: set[GroundFact] = set()
    for rule in rules:
        prefix, ending = canonical(rule)
        rewrites: set[Rewrite] = {EMPTY}
        for atom in prefix:
            rewrites = rewrite_product(rewrites, atom, view.matching(atom.relation, {}))
        heads.update(head for rewrite in rewrites for head in grounded(ending, rewrite, view))
    return ZSet.of(heads)
