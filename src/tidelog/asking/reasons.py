"""Why, and why not: the engine's questions to provenance, with the mistakes that users make.

What      : `proof_of` a fact that is there, `absence_of` one that is not, `cause_of` one that the last change touched.
Idea      : a fact that is not there has no proof and one that is there has no absence: who asks the wrong question is
            told the right one.
Never     : no search here (provenance).

Codes: E808 the fact is not there, or is there; E809 the change is not the last one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from tidelog.backends.backend import Backend
from tidelog.changes.change import Change
from tidelog.changes.columns import plain
from tidelog.errors import UsageError, expect
from tidelog.language.printer import print_fact
from tidelog.language.terms import Rule, Value
from tidelog.provenance.absence import Absence, absence
from tidelog.provenance.before import Before
from tidelog.provenance.cause import Cause, cause
from tidelog.provenance.explain import explain
from tidelog.provenance.proof import Proof
from tidelog.provenance.stored_facts import StoredFacts


def proof_of(
    relation: str, arity: int, fact: tuple[Value, ...], rules: tuple[Rule, ...], backend: Backend[Any]
) -> Proof:
    """A shallowest proof of a fact of a relation that has `arity` columns."""
    _check_columns(relation, arity, fact)
    found = explain(relation, fact, rules, StoredFacts(backend)) if _is_there(relation, fact, backend) else None
    if found is None:
        sentence = f"{print_fact(relation, fact)} is not in the materialisation"
        raise UsageError.of("E808", sentence, remedy="ask why not: engine.explain_absence, or see engine.query")
    return found


def absence_of(
    relation: str, arity: int, fact: tuple[Value, ...], rules: tuple[Rule, ...], backend: Backend[Any]
) -> Absence:
    """Why a fact is not in a relation that has `arity` columns."""
    _check_columns(relation, arity, fact)
    if _is_there(relation, fact, backend):
        sentence = f"{print_fact(relation, fact)} is in the materialisation"
        raise UsageError.of("E808", sentence, remedy="ask why: engine.explain")
    return absence((relation, fact), rules, StoredFacts(backend))


def asked_values(fact: object) -> tuple[Value, ...]:
    """The values of the fact that is asked about; what no fact can hold is refused."""
    expect(fact, Iterable, "the fact", "a tuple of values")
    values = tuple(cast(Iterable[object], fact))
    return tuple(plain(value, f"value {number} of the fact") for number, value in enumerate(values, 1))


def _check_columns(relation: str, arity: int, fact: tuple[Value, ...]) -> None:
    if len(fact) != arity:
        sentence = f"{print_fact(relation, fact)} has {len(fact)} values, {relation} has {arity} columns"
        raise UsageError.of("E808", sentence, remedy="give one value per column")


def _is_there(relation: str, fact: tuple[Value, ...], backend: Backend[Any]) -> bool:
    return backend.arity(relation) is not None and fact in backend.table(relation)


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
