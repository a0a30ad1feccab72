"""Metamorphic relations: what must stay the same when a case is changed in a way that carries no meaning.

What      : `LAWS` names functions of a case and an engine factory; each runs the engine on the case and on a changed
            twin, and compares the answers by typed identity.
Idea      : no oracle is needed. An engine that is wrong in the same way as our recomputation can still be caught, and
            an engine too big to recompute can still be tested.
Source    : figure 4 of the guarantees.
Invariant : the twins differ only in what the law says; where a law needs luck (an absent fact, a positive rule), it
            makes its own.
Never     : no recomputation here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import TypeVar

from tests.differential.case import Case, FactKey, State, Update, key
from tests.differential.engines import Change, Engine, Factory
from tests.differential.harness import keys
from tidelog.language.parser import parse
from tidelog.language.printer import rule_key
from tidelog.language.renaming import rename_rule, rule_variables
from tidelog.language.terms import Aggregate, Atom, Literal, Negation, Program, Rule, Variable

Law = Callable[[Case, Factory], None]
Item = TypeVar("Item")


def renaming_changes_names_only(case: Case, factory: Factory) -> None:
    """Other names for relations and variables: the same facts under the other names."""
    twin = Case(_renamed_program(case.program), tuple(_renamed_update(update) for update in case.updates))
    assert {(_new(relation), values) for relation, values in run(case, factory)} == run(twin, factory)


def order_carries_no_meaning(case: Case, factory: Factory) -> None:
    """Rules, body literals and facts in another order: the same facts."""
    rng, program = Random(case.seed), case.program
    rules = tuple(replace(rule, body=_shuffled(rng, rule.body)) for rule in _shuffled(rng, program.rules))
    twin = replace(case, program=replace(program, rules=rules, facts=_shuffled(rng, program.facts)))
    assert run(_without_rule_changes(case), factory) == run(_without_rule_changes(twin), factory)


def redundant_atoms_change_nothing(case: Case, factory: Factory) -> None:
    """A body atom once more, once as it is and once with fresh variables: the same facts."""
    rules = tuple(_with_redundant_atoms(rule) for rule in case.program.rules)
    twin = replace(case, program=replace(case.program, rules=rules))
    assert run(_without_rule_changes(case), factory) == run(_without_rule_changes(twin), factory)


def splitting_updates_changes_nothing(case: Case, factory: Factory) -> None:
    """An update in one go or step by step: the same facts, and the steps' changes add up to the whole change."""
    state = State.of(case.program)
    for update in case.updates:
        if not update.refused:
            whole, stepwise = factory(state.program), factory(state.program)
            change = _apply(whole, update)
            steps = [_apply(stepwise, step) for step in _steps(update)]
            assert keys(whole.facts()) == keys(stepwise.facts())
            assert _net([change]) == _net(steps)
        state = state.after(update)


def insert_then_delete_is_identity(case: Case, factory: Factory) -> None:
    """Absent facts in and out again: everything as before, and the second change undoes the first."""
    engine = factory(case.program)
    before = keys(engine.facts())
    explicit = State.of(case.program).facts
    drawn = [fact for update in case.updates for fact in (*update.insert, *update.delete)]
    absent = tuple(fact for fact in drawn if key(*fact) not in explicit) or (("unheard_of", (1,)),)
    forth, back = _apply(engine, Update(insert=absent)), _apply(engine, Update(delete=absent))
    assert keys(engine.facts()) == before
    assert (keys(forth.inserted), keys(forth.deleted)) == (keys(back.deleted), keys(back.inserted))


def removing_and_adding_a_rule_is_identity(case: Case, factory: Factory) -> None:
    """Every rule out and in again: everything as before, and the second change undoes the first."""
    engine = factory(case.program)
    before = keys(engine.facts())
    for rule in case.program.rules:
        forth, back = _apply(engine, Update(remove_rules=(rule_key(rule),))), _apply(engine, Update(add_rules=(rule,)))
        assert keys(engine.facts()) == before
        assert (keys(forth.inserted), keys(forth.deleted)) == (keys(back.deleted), keys(back.inserted))


def positive_programs_are_monotone(case: Case, factory: Factory) -> None:
    """Without negation and aggregates, insertions take nothing away and deletions bring nothing."""
    rules = tuple(rule for rule in case.program.rules if not _is_non_monotone(rule.body))
    engine = factory(replace(case.program, rules=rules))
    for update in case.updates:
        assert not keys(_apply(engine, Update(delete=update.delete)).inserted)
        assert not keys(_apply(engine, Update(insert=update.insert)).deleted)


LAWS: dict[str, Law] = {
    law.__name__: law
    for law in (
        renaming_changes_names_only,
        order_carries_no_meaning,
        redundant_atoms_change_nothing,
        splitting_updates_changes_nothing,
        insert_then_delete_is_identity,
        removing_and_adding_a_rule_is_identity,
        positive_programs_are_monotone,
    )
}


def run(case: Case, factory: Factory) -> set[FactKey]:
    """The facts after all updates that are not to be refused."""
    engine = factory(case.program)
    for update in case.updates:
        if not update.refused:
            _apply(engine, update)
    return keys(engine.facts())


def _without_rule_changes(case: Case) -> Case:
    """The case with the facts of its updates only: a changed rule is not known by its old text."""
    kept = (Update(update.insert, update.delete) for update in case.updates if not update.refused)
    return replace(case, updates=tuple(kept))


def _apply(engine: Engine, update: Update) -> Change:
    return engine.apply(**update.arguments)  # type: ignore[arg-type]


def _net(changes: Iterable[Change]) -> tuple[set[FactKey], set[FactKey]]:
    """Changes one after the other as one: what came to stay and what went for good."""
    inserted: set[FactKey] = set()
    deleted: set[FactKey] = set()
    for change in changes:
        came, went = keys(change.inserted), keys(change.deleted)
        inserted, deleted = (inserted - went) | (came - deleted), (deleted - came) | (went - inserted)
    return inserted, deleted


def _steps(update: Update) -> Iterable[Update]:
    """An update in steps of one fact or rule, in the order in which its parts take effect."""
    yield from (Update(delete=(fact,)) for fact in update.delete)
    yield from (Update(insert=(fact,)) for fact in update.insert)
    yield from (Update(remove_rules=(name,)) for name in update.remove_rules)
    yield from (Update(add_rules=(rule,)) for rule in update.add_rules)


def _new(relation: str) -> str:
    """Another name, which also sorts in another order."""
    return f"{chr(ord('z') - ord(relation[0]) + ord('a'))}_{relation}"


def _renamed_program(program: Program) -> Program:
    return replace(
        program,
        rules=tuple(map(_renamed_rule, program.rules)),
        facts=tuple(replace(fact, relation=_new(fact.relation)) for fact in program.facts),
        declarations=tuple(replace(found, relation=_new(found.relation)) for found in program.declarations),
    )


def _renamed_update(update: Update) -> Update:
    return replace(
        update,
        insert=tuple((_new(relation), values) for relation, values in update.insert),
        delete=tuple((_new(relation), values) for relation, values in update.delete),
        add_rules=tuple(map(_renamed_rule, update.add_rules)),
        remove_rules=tuple(map(_renamed_key, update.remove_rules)),
    )


def _renamed_key(known: str) -> str:
    """The name of a rule as it is; the canonical text of an unnamed one renamed like the rule."""
    return rule_key(_renamed_rule(parse(known).rules[0])) if ":-" in known else known


def _renamed_rule(rule: Rule) -> Rule:
    names = {found.name: f"other_{found.name}" for found in rule_variables(rule) if not found.is_anonymous}
    renamed = rename_rule(rule, names)
    return replace(renamed, head=_renamed_literal(renamed.head), body=tuple(map(_renamed_literal, renamed.body)))


def _renamed_literal(literal: Literal) -> Literal:
    match literal:
        case Atom(relation=relation):
            return replace(literal, relation=_new(relation))
        case Negation(atom=atom):
            return replace(literal, atom=replace(atom, relation=_new(atom.relation)))
        case Aggregate(body=body):
            return replace(literal, body=tuple(map(_renamed_literal, body)))
        case _:
            return literal


def _with_redundant_atoms(rule: Rule) -> Rule:
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    if not atoms:
        return rule
    wildcards = sum(variable.is_anonymous for variable in rule_variables(rule))
    weaker = Atom(atoms[-1].relation, tuple(Variable(f"_:{wildcards + n}") for n in range(len(atoms[-1].terms))))
    return replace(rule, body=(atoms[0], *rule.body, weaker))


def _is_non_monotone(body: Iterable[Literal]) -> bool:
    return any(isinstance(literal, Negation | Aggregate) for literal in body)


def _shuffled(rng: Random, items: tuple[Item, ...]) -> tuple[Item, ...]:
    return tuple(rng.sample(items, len(items)))
