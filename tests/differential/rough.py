"""Engines that are treated roughly.

What      : a `RoughEngine` is `tidelog.Engine` in the hands of somebody who does everything that is allowed between two
            updates, and whose updates fail on the way; `hair_triggers` makes small worlds reach what large ones reach.
Idea      : each part is tested alone, and faults sit in the seams: what an update that failed leaves for stages in
            bits, what a question leaves for rules that come back, what another strategy finds of the one before.
Invariant : a seed always treats an engine in the same way. Whatever is done between two updates changes no fact, and
            proofs are checked by their own checker.
Never     : no comparison with recomputation here (harness.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tidelog as tl
from tests.differential.case import Values, key
from tests.differential.engines import STRATEGIES, Change, PublicEngine
from tests.differential.harness import keys
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.bits import at_once
from tidelog.backends.local.bits.rows_or_bits import Way, computing
from tidelog.backends.local.joins import aggregates
from tidelog.backends.local.relations import derivation_counts, ledgers, relation
from tidelog.language.printer import print_literal
from tidelog.language.terms import Program, Variable
from tidelog.limits import Budget
from tidelog.provenance.checker import check_proof
from tidelog.reference.evaluation import FactSet, instances, uniform
from tidelog.reference.facts import from_fact, to_fact
from tidelog.state import log


class Stopped(BaseException):
    """What interrupts an update."""


class RoughEngine(PublicEngine):
    """An engine, and what is done to it."""

    def __init__(self, program: Program, seed: str, folder: Path) -> None:
        self._draw, self._state = Random(f"rough {seed}"), folder / f"state {seed}"
        with self._any_way():
            super().__init__(program, strategy=self._draw.choice(STRATEGIES))

    def apply(
        self,
        insert: dict[str, list[Values]],
        delete: dict[str, list[Values]],
        add_rules: str | None,
        remove_rules: list[str],
    ) -> Change:
        """Process one update, after and before other things."""
        update = {"insert": insert, "delete": delete, "add_rules": add_rules, "remove_rules": remove_rules}
        before = keys(self.facts())
        for _ in range(self._draw.randint(0, 4)):
            change = self._draw.choice(_TREATMENTS)(self, update)
            if change is not None:
                return self._looked_at(change)
            assert keys(self.facts()) == before
        return self._looked_at(self._changed(update))

    def _changed(self, update: dict[str, Any]) -> tl.Change:
        submits, profiles = self._draw.random() < 0.15, self._draw.random() < 0.15
        with self._any_way(), tl.profiling() if profiles else nullcontext():
            return self._engine.submit(**update).result() if submits else self._engine.apply(**update)

    @contextmanager
    def _any_way(self) -> Iterator[None]:
        with computing(self._draw.choice(list(Way))):
            yield

    def _looked_at(self, change: tl.Change) -> tl.Change:
        """The change, after a look at why one of its facts came or went."""
        facts = [(name, fact) for part in (change.inserted, change.deleted) for name in part for fact in part[name]]
        if facts and self._draw.random() < 0.5:
            assert str(self._engine.explain_change(change, *self._draw.choice(facts)))
        return change

    def _held(self) -> list[tuple[str, Values]]:
        return [(name, fact) for name, facts in self.facts().items() for fact in facts]

    # -- what is done between two updates; None, or the change if the update went through ----------------------------

    def other_strategy(self, _update: dict[str, Any]) -> None:
        """Go on with another strategy."""
        self._engine.strategy = self._draw.choice(STRATEGIES)

    def too_dear(self, update: dict[str, Any]) -> tl.Change | None:
        """Try the update with hardly any budget."""
        rounds, facts = self._draw.randint(1, 6), max(1, len(self._held()) + self._draw.randint(-3, 8))
        self._engine.limits = self._draw.choice((tl.Limits(rounds=rounds), tl.Limits(facts=facts)))
        try:
            return self._changed(update)
        except tl.BudgetError:
            return None
        finally:
            self._engine.limits = tl.Limits()

    def interrupted(self, update: dict[str, Any]) -> tl.Change | None:
        """Interrupt the update somewhere."""
        left = self._draw.randint(1, 12)

        def watcher(_facts: int) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise Stopped

        self._engine.watcher = watcher
        try:
            with self._any_way():
                return self._engine.apply(**update)
        except Stopped:
            return None
        finally:
            self._engine.watcher = None

    def refused(self, _update: dict[str, Any]) -> None:
        """Try an update that is refused after it has brought new constants."""
        named = self._draw.sample(self._engine.relations, min(3, len(self._engine.relations)))
        strangers = {
            name: [tuple(self._stranger() for _ in range(self._engine[name].arity)) for _ in range(5)] for name in named
        }
        with pytest.raises(tl.UpdateError):
            self._engine.apply(insert={**strangers, "odd": [(1,), (1, 2)]})

    def _stranger(self) -> int | str:
        number = self._draw.randrange(10**9)
        return self._draw.choice((number, f"stranger {number}"))

    def saved(self, _update: dict[str, Any]) -> None:
        """Save, and go on with the engine or with what was saved."""
        self._engine.save(self._state)
        if self._draw.random() < 0.7:
            self._engine = tl.Engine.open(self._state, strategy=self._draw.choice(STRATEGIES))

    def asked(self, _update: dict[str, Any]) -> None:
        """Ask the body of a rule: it finds what the rule derives."""
        rules = [rule for rule in self._engine.program.rules if all(isinstance(t, Variable) for t in rule.head.terms)]
        if not rules:
            return
        rule = self._draw.choice(rules)
        facts = FactSet(to_fact(*one) for one in self._held())
        answer = self._engine.query(", ".join(map(print_literal, rule.body)), {})
        places = [answer.columns.index(term.name) for term in rule.head.terms if isinstance(term, Variable)]
        found = {key(rule.head.relation, tuple(row[place] for place in places)) for row in answer}
        assert found == {key(*from_fact(one.head)) for one in instances(rule, uniform(rule, facts, facts))}

    def explained(self, _update: dict[str, Any]) -> None:
        """Explain facts that are there, and one that may not be there."""
        engine, held = self._engine, self._held()
        for name, fact in self._draw.sample(held, min(3, len(held))):
            faults = check_proof(
                engine.explain(name, fact),
                engine.program.rules,
                lambda one: list(engine[one]) if one in engine else [],
                lambda one, values: values in engine.explicit(one),
            )
            assert not faults
            other = fact[:-1] + self._draw.choice(held)[1][:1]
            if len(other) == len(fact) and other not in engine[name]:
                assert str(engine.explain_absence(name, other))

    def foretold(self, update: dict[str, Any]) -> None:
        """Look ahead, preview the rules, build indexes, verify."""
        engine = self._engine
        self._draw.choice(
            (
                lambda: engine.look_ahead(tl.Update.of(delete=update["delete"])),
                lambda: engine.preview(update["add_rules"], update["remove_rules"]),
                engine.prepare,
                engine.verify,
            )
        )()


_TREATMENTS: tuple[Callable[[RoughEngine, dict[str, Any]], tl.Change | None], ...] = (
    RoughEngine.other_strategy,
    RoughEngine.too_dear,
    RoughEngine.interrupted,
    RoughEngine.refused,
    RoughEngine.saved,
    RoughEngine.asked,
    RoughEngine.explained,
    RoughEngine.foretold,
)


def hair_triggers(patch: pytest.MonkeyPatch) -> None:
    """Let groups be large, stages dense, dead rows and changes many from a handful on; always forget constants."""
    begin = LocalBackend.begin

    def forgetful(self: LocalBackend, budget: Budget) -> None:
        begin(self, budget)
        if self._constants is not None:
            self._constants = self._constants[0], 0

    patch.setattr(LocalBackend, "begin", forgetful)
    for where, name, value in (
        (aggregates, "_LARGE", 2),
        (aggregates, "_FEW", 1),
        (ledgers, "_LEAST_EMPTY", 2),
        (ledgers.Ordering, "price", 1),
        (at_once, "FEWEST", 0),
        (at_once, "THIN", 0),
        (relation, "_LEAST_DEAD", 6),
        (derivation_counts, "_LEAST_GARBAGE", 4),
        (log, "LEAST_CHANGES", 3),
        (log, "FAN_OUT", 3),
    ):
        patch.setattr(where, name, value)
