"""Cases in which some derived relations are declared inline.

What      : `twin(case)` is a case and a twin of it that differ in one thing: in the twin some relations are inline.
            `agree` holds engines that run the twin to the model of the case, in all other relations.
Idea      : `inline` says how a relation is handled and not what it means, so the case is the oracle of its twin. Facts
            of the chosen relations are taken out of both; where types allow it, every relation is declared, because
            then comparisons under a negation turn round.
Invariant : what must be refused (recursion, several rules in an aggregate) is not chosen; rules that come and go are
            taken into account.
Never     : no rule is expanded here; for the reference algorithms, which know no inline relations, engines.py does it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from random import Random

from tests.differential.case import Case, FactKey, State, Update
from tests.differential.engines import Change, Declined, Engine, Factory, LookAhead
from tests.differential.harness import keys
from tests.differential.oracle import model
from tidelog.analysis.program_check import examine
from tidelog.analysis.types import relation_types
from tidelog.language.terms import Declaration, Program


def twin(case: Case) -> tuple[Case, Case, frozenset[str]] | None:
    """The case without facts of some relations, its twin, and these relations; None if none of them can be inline."""
    rng = Random(case.seed)
    updates = tuple(update for update in case.updates if not update.refused)
    rules = (*case.program.rules, *(rule for update in updates for rule in update.add_rules))
    everything = Program(tuple(dict.fromkeys(rules)), (), case.program.declarations)
    declared = _declarations(everything)
    derived = sorted({rule.head.relation for rule in rules})
    chosen: frozenset[str] = frozenset()
    for name in rng.sample(derived, len(derived)):
        further = chosen | {name}
        if rng.random() < 0.7 and not examine(replace(everything, declarations=_inline(declared, further))).problems:
            chosen = further
    if not chosen:
        return None
    facts = tuple(fact for fact in case.program.facts if fact.relation not in chosen)
    kept = tuple(_without(update, chosen) for update in updates)
    program = replace(case.program, facts=facts, declarations=declared)
    return (
        Case(program, kept, case.seed),
        Case(replace(program, declarations=_inline(declared, chosen)), kept, case.seed),
        chosen,
    )


def agree(case: Case, other: Case, inline: frozenset[str], engines: Mapping[str, Factory]) -> int:
    """Hold engines that run the twin to the model of the case; how many versions were compared."""
    running = {name: made for name, factory in engines.items() if (made := _made(factory, other.program)) is not None}
    compared, state = 0, State.of(case.program)
    before, after = set[FactKey](), _others(model(state), inline)
    for step in range(len(case.updates) + 1):
        if step:
            update = case.updates[step - 1]
            state = state.after(update)
            before, after = after, _others(model(state), inline)
        for name, engine in running.items():
            change = _apply(engine, case.updates, step) if step else None
            what = f"seed {case.seed}, {name}, update {step}, inline {sorted(inline)}"
            assert keys(engine.facts()) == after, what
            if change is not None:
                assert (keys(change.inserted), keys(change.deleted)) == (after - before, before - after), what
            compared += 1
    return compared


def _made(factory: Callable[[Program], Engine], program: Program) -> Engine | None:
    try:
        return factory(program)
    except Declined:
        return None


def _apply(engine: Engine, updates: tuple[Update, ...], step: int) -> Change:
    if isinstance(engine, LookAhead):
        engine.announce(updates[step] if step < len(updates) else None)
    return engine.apply(**updates[step - 1].arguments)  # type: ignore[arg-type]


def _others(facts: Iterable[FactKey], inline: frozenset[str]) -> set[FactKey]:
    return {fact for fact in facts if fact[0] not in inline}


def _declarations(program: Program) -> tuple[Declaration, ...]:
    """All relations with their types, if each column has one; else with columns of any type."""
    types = relation_types(program)
    is_typed = all(kind not in (None, "any") for kinds in types.values() for kind in kinds)
    named = {one.relation: one for one in program.declarations}
    return tuple(
        named.get(relation)
        or Declaration(relation, tuple((f"c{at}", str(kind) if is_typed else "any") for at, kind in enumerate(kinds)))
        for relation, kinds in sorted(types.items())
    )


def _inline(declared: tuple[Declaration, ...], chosen: frozenset[str]) -> tuple[Declaration, ...]:
    """The declarations, in which some relations are inline."""
    return tuple(replace(one, is_inline=one.relation in chosen) for one in declared)


def _without(update: Update, chosen: frozenset[str]) -> Update:
    return replace(
        update,
        insert=tuple(fact for fact in update.insert if fact[0] not in chosen),
        delete=tuple(fact for fact in update.delete if fact[0] not in chosen),
    )
