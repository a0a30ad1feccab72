"""From the rule file of yesterday to the rule file of today.

What      : `program_change` says which rules, facts and declarations of a rule file have to be added and removed, so
            that a changed file is applied as one incremental update instead of a new materialisation.
Idea      : rules change by updates as well as by the file. So the file is compared with what the file said before, and
            only then with what the engine has: a rule that an update removed stays removed until the file changes it.
Invariant : applying the change to an engine with the program `before` gives it the rules and facts of `after`; rules
            that differ only in the names of variables are the same.
Never     : nothing is applied here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tidelog.analysis.arities import arities
from tidelog.errors import Problem, StateError
from tidelog.language.printer import canonical_text, names, print_program, print_rule
from tidelog.language.terms import Fact, Program, Rule, Value


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """What `engine.apply` has to be given: rules, facts and declarations to add, and what has to go."""

    add: Program
    remove_rules: tuple[str, ...] = ()
    delete: Mapping[str, list[tuple[Value, ...]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.add != Program() or self.remove_rules or self.delete)

    @property
    def add_rules(self) -> str:
        """What has to be added, as text."""
        return print_program(self.add)


def program_change(before: Program, after: Program, present: Program | None = None) -> ProgramChange:
    """The difference between what a rule file said and what it says, for an engine whose rules are `present`.

    A declaration that was changed, or taken away from a relation that is still in use, is refused: facts were let in
    under it. So is a file that has nothing to do with the one before. A relation that the file declares inline and that
    the engine stores goes on being stored: earlier releases read over the word, and no other relation differs by it.
    """
    held = before if present is None else present
    _check_kinship(arities(before) | arities(held), arities(after))
    if problems := list(_other_declarations(before, held, after)):
        raise StateError(problems)
    said, wanted = _identities(before.rules), _identities(after.rules)
    gone = [rule for rule in held.rules if _identity(rule) in said - wanted]
    removed = tuple(map(print_rule, gone))
    caught = [rule for rule in held.rules if rule not in gone and not set(removed).isdisjoint(names(rule))]
    known = _identities(held.rules) | said
    rules = tuple(rule for rule in after.rules if _identity(rule) not in known)
    declared = {one.relation for one in held.declarations}
    declarations = tuple(one for one in after.declarations if one.relation not in declared)
    facts = _without(after.facts, before.facts)
    return ProgramChange(Program((*caught, *rules), facts, declarations), removed, _by_relation(before, after))


def _check_kinship(known: Mapping[str, int], named: Mapping[str, int]) -> None:
    """Refuse a program of which no relation was known before: it is not an edited file, but another one."""
    if known and named and known.keys().isdisjoint(named):
        raise StateError.of(
            "E610",
            f"the state belongs to another program: that one is about {_some(known)}, this one about {_some(named)}",
            remedy="give the pipeline a state directory of its own, or restore its program",
        )


def _some(relations: Iterable[str], shown: int = 3) -> str:
    found = sorted(relations)
    return ", ".join(found[:shown]) + (", ..." if len(found) > shown else "")


def _other_declarations(before: Program, held: Program, after: Program) -> Iterator[Problem]:
    """What is declared otherwise than before; what only an update declared may be missing in the file."""
    now, used = {one.relation: one for one in after.declarations}, arities(after)
    for old in dict.fromkeys((*before.declarations, *held.declarations)):
        new = now.get(old.relation)
        if new is not None and replace(new, is_inline=old.is_inline) == old and (new.is_inline or not old.is_inline):
            continue
        if new is None and (old.relation not in used or old not in before.declarations):
            continue
        was = print_program(Program(declarations=(old,))).strip()
        yield Problem(
            "E605",
            f"the state was begun with {was}" + ("" if new else f", and {old.relation} is still in use"),
            new.place if new else None,
            "restore the declaration, or begin a new state",
        )


def _by_relation(before: Program, after: Program) -> dict[str, list[tuple[Value, ...]]]:
    """The facts that are no longer written in the program."""
    gone = defaultdict[str, list[tuple[Value, ...]]](list)
    for fact in _without(before.facts, after.facts):
        gone[fact.relation].append(tuple(constant.value for constant in fact.values))
    return dict(gone)


def _without(facts: Iterable[Fact], others: Iterable[Fact]) -> tuple[Fact, ...]:
    known = set(others)
    return tuple(fact for fact in facts if fact not in known)


def _identities(rules: Iterable[Rule]) -> set[tuple[str | None, str]]:
    return set(map(_identity, rules))


def _identity(rule: Rule) -> tuple[str | None, str]:
    return rule.name, canonical_text(rule)
