"""Which relations can change when rules are added and removed?

What      : a preview of a rule change, before anything is changed: the relations that can gain facts and those that
            can lose some.
Idea      : a new rule lets its head gain, a removed one lets its head lose. Positive atoms pass the sign on, negation
            turns it round, and an aggregate can gain and lose on any change. Only rules that stay pass anything on: a
            new rule can only let its head gain, a removed one can only let it lose, whatever happens in their bodies.
Invariant : a relation outside the answer has the same facts before and after, whatever the facts are.
Never     : no facts: the answer is what can happen, not what will.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from tidelog.errors import ProgramError, UsageError
from tidelog.language.parser import parse
from tidelog.language.printer import canonical_text, given_names, names, rule_key
from tidelog.language.terms import Aggregate, Program, Rule, atoms

GAIN, LOSE = True, False


@dataclass(frozen=True, slots=True)
class Impact:
    """The relations that can gain facts and those that can lose facts."""

    gaining: frozenset[str]
    losing: frozenset[str]

    @property
    def relations(self) -> frozenset[str]:
        """Every relation that can change."""
        return self.gaining | self.losing


def impact(program: Program, added: Iterable[Rule] = (), removed: Iterable[Rule | str] = ()) -> Impact:
    """What adding and removing rules can change; rules to remove are given as rules, names or canonical text."""
    before = {canonical_text(rule): rule for rule in program.rules}
    remaining = without(program.rules, removed)
    after = {canonical_text(rule): rule for rule in (*remaining, *added)}
    signs = [(rule.head.relation, GAIN) for text, rule in after.items() if text not in before]
    signs += [(rule.head.relation, LOSE) for text, rule in before.items() if text not in after]
    reached = _spread(signs, [rule for text, rule in after.items() if text in before])
    inline = {one.relation for one in program.declarations if one.is_inline}  # which pass on, and hold nothing
    return Impact(
        frozenset(relation for relation, sign in reached if sign is GAIN and relation not in inline),
        frozenset(relation for relation, sign in reached if sign is LOSE and relation not in inline),
    )


def without(rules: Iterable[Rule], removed: Iterable[Rule | str]) -> list[Rule]:
    """The rules that stay; removing a rule that is not there is refused."""
    rules = list(rules)
    gone = {rule if isinstance(rule, str) else rule_key(rule) for rule in removed}
    given = [(rule, given_names(rule)) for rule in rules]
    by_name = gone.issubset(chain.from_iterable(known for _, known in given))
    present = given if by_name else [(rule, names(rule)) for rule in rules]  # texts are printed only where asked for
    strange = gone.difference(*(known for _, known in present))
    gone = (gone - strange).union(*(_meant(text, rules) for text in sorted(strange)))
    return [rule for rule, known in present if gone.isdisjoint(known)]


def _meant(text: str, rules: list[Rule]) -> set[str]:
    """The canonical texts of the rules that a text means, however it is spelled; refused if one is not there."""
    present = {canonical_text(rule) for rule in rules}
    try:
        program = parse(text if text.rstrip().endswith(".") else f"{text}.") if ":-" in text else Program()
        meant = {canonical_text(rule) for rule in program.rules}
    except ProgramError:
        meant = set()
    if not meant or not meant <= present:
        raise UsageError.of(
            "E803", f"there is no rule {text}", remedy="give a rule's name or its text; see engine.rules"
        )
    return meant


def came_and_went(before: tuple[Rule, ...], after: tuple[Rule, ...]) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """The rules that are new, and those that are gone. Fast where new rules stand at the end, as they mostly do."""
    if after[: len(before)] == before:
        return after[len(before) :], ()
    old, new = set(map(id, before)), set(map(id, after))
    return tuple(rule for rule in after if id(rule) not in old), tuple(rule for rule in before if id(rule) not in new)


def _spread(start: Iterable[tuple[str, bool]], rules: Iterable[Rule]) -> set[tuple[str, bool]]:
    """Every relation and sign (gains, loses) that the first ones lead to."""
    readers: dict[tuple[str, bool], dict[tuple[str, bool], None]] = {}
    for rule in rules:
        for cause, effect in _effects(rule):
            readers.setdefault(cause, {})[effect] = None
    frontier = list(dict.fromkeys(start))
    reached = set(frontier)
    while frontier:
        for effect in readers.get(frontier.pop(), ()):
            if effect not in reached:
                reached.add(effect)
                frontier.append(effect)
    return reached


def _effects(rule: Rule) -> Iterator[tuple[tuple[str, bool], tuple[str, bool]]]:
    """What a rule makes of a gain or loss in its body."""
    head = rule.head.relation
    for literal in rule.body:
        for atom, is_monotone in atoms(literal):
            for sign in (GAIN, LOSE):
                yield (atom.relation, sign), (head, sign if is_monotone else not sign)
                if isinstance(literal, Aggregate):
                    yield (atom.relation, sign), (head, sign)
