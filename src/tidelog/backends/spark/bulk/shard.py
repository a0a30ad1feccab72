"""One shard: the local fixpoint of a stage over the facts that were delivered here.

What      : takes facts, runs the stage's rules with the compiled kernels of the local backend until nothing new
            follows, and says which facts are new here and which belong elsewhere.
Idea      : semi-naive rounds as in maintenance/seminaive.py; a derived fact is sent to every shard that needs it, and
            joins in here only if this is one of them. Facts that were sent stay stored without being present, so that
            a shard sends a fact once.
Invariant : `receive` and `run` may come in any order and any number; present facts are exactly those delivered here,
            and every instance over present facts has been enumerated once.
Never     : no Spark: a shard is plain data and kernels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tidelog.backends.local.constants.dictionary_kernels import KIND_BOOL, KIND_INT
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.relations.facts import LocalFacts, gather
from tidelog.backends.local.store import LocalStore
from tidelog.backends.spark.bulk.placement import targets
from tidelog.backends.spark.bulk.plan import BulkPlan
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.ids import Ids
from tidelog.language.terms import Atom
from tidelog.limits import Budget, Limits
from tidelog.maintenance.seminaive import FRESH
from tidelog.maintenance.versions import GAINED_ABOVE, NEW_VERSION
from tidelog.planning.views import NOW, Mark, View

_ABSENT = View(outside=Mark.NOW)
_PRESENT = Mark.NOW | Mark.DELTA


class ValuesNeeded(Exception):  # noqa: N818 - no error: another path takes over
    """A constant that stands for no small integer met arithmetic."""


@dataclass
class Outcome:
    """What one run of a shard gave, by name.

    `given` are the facts that were here before the first run, `new` those that came later or were derived here, `sent`
    the facts to send, as (shards, facts).
    """

    given: dict[str, list[Ids]] = field(default_factory=dict)
    new: dict[str, list[Ids]] = field(default_factory=dict)
    sent: dict[str, list[tuple[Ids, Ids]]] = field(default_factory=dict)
    rounds: int = 0
    derivations: Counter[str] = field(default_factory=Counter)


class Shard:
    """The facts of one shard."""

    def __init__(
        self, plan: BulkPlan, number: int, shards: int, limits: Limits | None = None, constants: int = 0
    ) -> None:
        """About how many constants there will be may be known: growing their table takes longer than filling it."""
        self._plan, self._number, self._shards = plan, number, shards
        self._store = LocalStore()
        self._store.dictionary.reserve(constants)
        self._is_started = False
        self._budget = Budget(limits)
        self._store.ask_budget = self._ask_budget
        self._waiting: list[LocalFacts] = []
        self._given: dict[str, int] = {}
        self._outcome = Outcome()

    # -- facts come and go -------------------------------------------------------------------------------------------

    def know(self, name: str, facts: Ids) -> None:
        """Store facts that drive nothing: relations that every shard has, and facts that earlier rounds have driven."""
        self._add(name, facts, Mark.NOW)

    def receive(self, name: str, facts: Ids) -> None:
        """Store facts that were delivered here; those that are new will drive the next run."""
        rows = self._add(name, facts, _PRESENT)
        if len(rows):
            self._note(name, rows, self._outcome.new if self._is_started else self._outcome.given)
            self._waiting.append(LocalFacts({name: rows}))

    def resume(self) -> None:
        """The shard has run before: rules that nothing drives have been evaluated."""
        self._is_started = True

    def present(self, name: str) -> Ids:
        """The present facts of a relation."""
        relation = self._store.relations.get(name)
        if relation is None:
            return np.empty((0, max(self._plan.arities.get(name, 1), 1)), np.int64)
        return self._longs(name, relation.rows[relation.select(NOW)])

    def derived(self, name: str, most: int) -> Iterator[Ids]:
        """The present facts of a relation that were not given before the first run, up to `most` at once.

        All of them as ids would take more memory than the store has for them.
        """
        relation = self._store.relations.get(name)
        if relation is None:
            return
        rows = relation.select(NOW)
        rows = rows[rows >= self._given.get(name, 0)]
        for start in range(0, len(rows), most):
            yield self._longs(name, relation.rows[rows[start : start + most]])

    def run(self) -> Outcome:
        """Derive until nothing new follows here."""
        store, before = self._store, Counter(self._store.derivations)
        delta, self._waiting = store.union(self._waiting), []
        if not self._is_started:
            self._given = {name: relation.count for name, relation in store.relations.items()}
            delta = store.union([delta, self._start()])
        while delta:
            self._outcome.rounds += 1
            self._budget.ask_round()
            found = store.derive(self._plan.stage, delta, store.nothing(), GAINED_ABOVE, FRESH, Mark.NEXT, "evaluate")
            store.mark(delta, remove=Mark.DELTA)
            delta = self._distribute(found)
        outcome, self._outcome = self._outcome, Outcome()
        for (key, _), number in (store.derivations - before).items():
            outcome.derivations[key] += number
        self._check_numbers()
        return outcome

    # -- within ------------------------------------------------------------------------------------------------------

    def _start(self) -> LocalFacts:
        """The heads of rules without atoms, which nothing drives."""
        self._is_started = True
        rules = [rule for rule in self._plan.stage.rules if not any(isinstance(one, Atom) for one in rule.body)]
        if not rules:
            return self._store.nothing()
        found = self._store.evaluate(self._plan.stage, rules, NEW_VERSION, FRESH, Mark.NEXT, "evaluate")
        return self._distribute(found)

    def _distribute(self, found: LocalFacts) -> LocalFacts:
        """Keep derived facts that are needed here, and put the others into the outbox."""
        parts: dict[str, list[Array]] = {}
        for name, rows in found.parts.items():
            if self._plan.is_local:
                self._keep(name, rows, parts)
                continue
            relation = self._store.relations[name]
            facts = self._longs(name, relation.rows[rows])
            for delivery in self._plan.deliveries:
                if delivery.source != name:
                    continue
                chosen, shards = targets(delivery, facts, self._shards)
                is_here = shards == self._number
                if not is_here.all():
                    away = ~is_here
                    self._outcome.sent.setdefault(delivery.name, []).append((shards[away], facts[chosen[away]]))
                here = rows[chosen[is_here]]
                if delivery.name == name:
                    self._keep(name, here, parts)
                elif len(here):
                    self._copy(delivery.name, relation.rows[here], parts)
        return gather(parts)

    def _keep(self, name: str, rows: Array, parts: dict[str, list[Array]]) -> None:
        if len(rows):
            self._store.relations[name].mark(rows, _PRESENT, Mark.NEXT)
            self._note(name, rows, self._outcome.new)
            parts.setdefault(name, []).append(rows)

    def _copy(self, name: str, table: Array, parts: dict[str, list[Array]]) -> None:
        relation = self._store.relation(name, self._plan.arities[name])
        rows = relation.store(np.ascontiguousarray(table), _ABSENT, _PRESENT)
        if len(rows):
            self._note(name, rows, self._outcome.new)
            parts.setdefault(name, []).append(rows)

    def _note(self, name: str, rows: Array, notes: dict[str, list[Ids]]) -> None:
        """Remember what is new, for the files; a stage without exchanges needs none."""
        if not self._plan.is_local:
            notes.setdefault(name, []).append(self._longs(name, self._store.relations[name].rows[rows]))

    def _add(self, name: str, facts: Ids, marks: Mark) -> Array:
        relation = self._store.relation(name, self._plan.arities[name])
        return relation.store(self._encoded(name, facts), _ABSENT, marks)

    def _encoded(self, name: str, facts: Ids) -> Array:
        """Ids of facts as the local store's numbers."""
        if not self._plan.arities[name]:
            return np.zeros((len(facts), 1), np.int32)
        table = np.empty(facts.shape, np.int32)
        dictionary = self._store.dictionary
        for column in range(facts.shape[1]):
            longs = np.ascontiguousarray(facts[:, column])
            if not self._plan.is_numeric:
                table[:, column] = dictionary.encode_scalars(_INT, longs)
                continue
            is_integer = longs & ids.TAG == ids.INTEGER
            if (name, column) in self._plan.numeric and not is_integer.all():
                raise ValuesNeeded
            table[is_integer, column] = dictionary.encode_scalars(_INT, longs[is_integer] >> 2)
            table[~is_integer, column] = dictionary.encode_scalars(_OPAQUE, longs[~is_integer])
        return table

    def _longs(self, name: str, table: Array) -> Ids:
        """The store's numbers as ids of facts."""
        if not self._plan.arities[name]:
            return np.zeros((len(table), 1), np.int64)
        known = self._store.dictionary.payloads
        payloads: Ids = np.empty(table.shape, np.int64, order="F")
        for column in range(table.shape[1]):
            payloads[:, column] = known[table[:, column]]
        if not self._plan.is_numeric:
            return payloads
        kinds = self._store.dictionary.kinds[table]
        is_integer = kinds == KIND_INT
        if not (is_integer | (kinds == KIND_BOOL)).all() or (np.abs(payloads[is_integer]) >= 2**61).any():
            raise ValuesNeeded
        return np.where(is_integer, payloads << 2, payloads)

    def _check_numbers(self) -> None:
        """Columns that arithmetic read must hold integers, also where facts were derived."""
        for name, column in self._plan.numeric:
            relation = self._store.relations.get(name)
            if relation is not None and name in self._plan.stage.relations:
                kinds = self._store.dictionary.kinds[relation.rows[: relation.count, column]]
                if (kinds != KIND_INT).any():
                    raise ValuesNeeded

    def _ask_budget(self) -> None:
        self._budget.ask_time()
        if self._budget.limits.facts is not None:
            self._budget.ask_facts(sum(relation.count for relation in self._store.relations.values()))
        if self._budget.limits.bytes is not None:
            self._budget.ask_bytes(self._store.nbytes)


_INT = np.array([KIND_INT], np.int8)
_OPAQUE = np.array([KIND_BOOL], np.int8)
"""Constants that stand for no small integer ride along as scalars of a kind that no arithmetic accepts."""
