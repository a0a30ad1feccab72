"""Random streams over engines that are saved and opened again.

What      : `uninterrupted(case, strategy)` runs a stream of the random world in one engine; `reopened` runs it in an
            engine that is saved, thrown away and opened again after every update. Both tell what they saw.
Idea      : a `Sight` is all that a user can see of a version, so equal lists of sights mean an equal run.
Never     : no opinion about what is right: that is the business of tests/differential.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.differential.case import Case, FactKey, Update, key
from tidelog import Engine
from tidelog.changes.update import Update as EngineUpdate
from tidelog.errors import TidelogError
from tidelog.language.printer import print_program

FactKeys = frozenset[FactKey]


@dataclass(frozen=True)
class Sight:
    """One version: number, facts, explicit facts, rules, and the change that led to it or the refusal."""

    version: int
    facts: FactKeys
    explicit: FactKeys
    rules: tuple[str, ...]
    inserted: FactKeys | str
    deleted: FactKeys | str


def keys(tables: Any) -> FactKeys:
    """Facts of any relations by typed identity."""
    return frozenset(key(relation, tuple(values)) for relation, table in tables.items() for values in table)


def sight(engine: Engine, inserted: FactKeys | str = frozenset(), deleted: FactKeys | str = frozenset()) -> Sight:
    """What can be seen of an engine."""
    facts = keys({name: engine[name] for name in engine.relations})
    explicit = keys({name: engine.explicit(name) for name in engine.relations})
    return Sight(engine.version, facts, explicit, engine.rules, inserted, deleted)


def step(engine: Engine, update: Update) -> Sight:
    """Apply an update and look."""
    try:
        change = engine.apply(**update.arguments)  # type: ignore[arg-type]
    except TidelogError as error:
        return sight(engine, error.code, error.code)
    return sight(engine, keys(change.inserted), keys(change.deleted))


def announce(engine: Engine, case: Case, number: int) -> None:
    """Tell an engine which update comes after the given one; strategies that mark make use of it."""
    if number + 1 < len(case.updates) and not case.updates[number + 1].refused:
        update = case.updates[number + 1].arguments
        engine.look_ahead(EngineUpdate.of(update["insert"], update["delete"], update["add_rules"] or ""))


def uninterrupted(case: Case, strategy: str) -> list[Sight]:
    """The stream in one engine."""
    engine = Engine(print_program(case.program), strategy=strategy)
    sights = [sight(engine)]
    for number, update in enumerate(case.updates):
        sights.append(step(engine, update))
        announce(engine, case, number)
    return sights


def saved(case: Case, strategy: str, directory: Path) -> list[Sight]:
    """The stream in one engine that is saved after every update, between the next one's announcement and arrival."""
    engine = Engine(print_program(case.program), strategy=strategy)
    engine.save(directory)
    sights = [sight(engine)]
    for number, update in enumerate(case.updates):
        sights.append(step(engine, update))
        announce(engine, case, number)
        engine.save(directory)
    return sights


def reopened(case: Case, strategy: str, directory: Path) -> list[Sight]:
    """The stream in engines each of which lives for one update."""
    engine = Engine(print_program(case.program), strategy=strategy)
    sights = [sight(engine)]
    for number, update in enumerate(case.updates):
        engine.save(directory)
        engine = Engine.open(directory)
        sights.append(step(engine, update))
        announce(engine, case, number)
    engine.verify()
    return sights
