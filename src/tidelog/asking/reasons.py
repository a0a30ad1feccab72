"""Why, and why not: the engine's questions to provenance, with the mistakes that users make.

What      : `proof_of` a fact that is there, `absence_of` one that is not, `cause_of` one that the last change touched.
Idea      : a fact that is not there has no proof and one that is there has no absence: who asks the wrong question is
            told the right one.
Never     : no search here (provenance).

Codes: E808 the fact is not there, or is there; E809 the change is not the last one.
"""

from __future__ import annotations

from typing import Any

from tidelog.backends.backend import Backend
from tidelog.changes.change import Change
from tidelog.changes.relation import Relation
from tidelog.errors import UsageError
from tidelog.language.printer import print_fact
from tidelog.language.terms import Rule, Value
from tidelog.provenance.absence import Absence, absence
from tidelog.provenance.before import Before
from tidelog.provenance.cause import Cause, cause
from tidelog.provenance.explain import explain
from tidelog.provenance.proof import Proof
from tidelog.provenance.stored_facts import StoredFacts


def proof_of(held: Relation, fact: tuple[Value, ...], rules: tuple[Rule, ...], backend: Backend[Any]) -> Proof:
    """A shallowest proof of a fact of a relation."""
    found = explain(held.name, fact, rules, StoredFacts(backend)) if fact in held else None
    if found is None:
        sentence = f"{print_fact(held.name, fact)} is not in the materialisation"
        raise UsageError.of("E808", sentence, remedy="ask why not: engine.explain_absence, or see engine.query")
    return found


def absence_of(held: Relation, fact: tuple[Value, ...], rules: tuple[Rule, ...], backend: Backend[Any]) -> Absence:
    """Why a fact is not in a relation."""
    if len(fact) != held.arity:
        sentence = f"{print_fact(held.name, fact)} has {len(fact)} values, {held.name} has {held.arity} columns"
        raise UsageError.of("E808", sentence, remedy="give one value per column")
    if fact in held:
        sentence = f"{print_fact(held.name, fact)} is in the materialisation"
        raise UsageError.of("E808", sentence, remedy="ask why: engine.explain")
    return absence((held.name, fact), rules, StoredFacts(backend))


def cause_of(
    fact: tuple[str, tuple[Value, ...]],
    change: Change,
    version: int,
    before: Before,
    rules: tuple[Rule, ...],
    backend: Backend[Any],
) -> Cause:
    """Why a fact came or went with a change, which has to be the last one."""
    if change.version != version:
        sentence = f"this is the change to version {change.version}, the engine is at {version}"
        raise UsageError.of("E809", sentence, remedy="ask about a change before the next update")
    return cause(fact, change, before, rules, StoredFacts(backend))
