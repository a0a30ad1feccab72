"""A small engine around a store and a strategy, so that strategies can be held to the law without the public engine.

What      : `StoreEngine` keeps rules, lowers them, and hands updates to `maintain`; it fits tests/differential.
Idea      : a stream's next update is known in advance (`upcoming`), so that marking strategies look ahead.
Invariant : an update that raises is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.differential.case import Update, Values, by_relation
from tests.differential.engines import NetChange
from tests.maintenance.set_store import SetStore
from tidelog.analysis import safety, stratification
from tidelog.errors import ProgramError
from tidelog.language.parser import parse
from tidelog.language.printer import rule_key
from tidelog.language.terms import Program, Rule
from tidelog.limits import Budget, Limits
from tidelog.maintenance.counters import Counters
from tidelog.maintenance.marking import Foreseen, look_ahead
from tidelog.maintenance.registry import strategy as make_strategy
from tidelog.maintenance.schedule import Schedule
from tidelog.maintenance.transaction import maintain
from tidelog.planning.lowered import is_hidden
from tidelog.planning.lowering import lower


class StoreEngine:
    """Rules, a store, a strategy."""

    def __init__(
        self,
        program: Program | str,
        strategy: str,
        store: Any = None,
        upcoming: Sequence[Update] = (),
    ) -> None:
        program = parse(program) if isinstance(program, str) else program
        self.store = SetStore(record=True) if store is None else store
        self.strategy = make_strategy(strategy)
        self.limits = Limits()
        self.rules: tuple[Rule, ...] = ()
        self.schedule = Schedule(())
        self.relations: set[str] = set()
        self.foreseen: Foreseen | None = None
        self.counters = Counters()
        self._upcoming = list(upcoming)
        facts = [(fact.relation, tuple(constant.value for constant in fact.values)) for fact in program.facts]
        self._update(by_relation(facts), {}, program.rules)

    def apply(
        self,
        insert: Mapping[str, Iterable[Values]] | None = None,
        delete: Mapping[str, Iterable[Values]] | None = None,
        add_rules: str | None = None,
        remove_rules: Sequence[str] = (),
    ) -> NetChange:
        """Process one update."""
        if self._upcoming:
            self._upcoming.pop(0)
        kept = tuple(rule for rule in self.rules if rule_key(rule) not in remove_rules)
        return self._update(insert or {}, delete or {}, kept + parse(add_rules or "").rules)

    def facts(self) -> dict[str, list[Values]]:
        """Everything that holds in the user's relations."""
        return {name: self.store.rows(name) for name in sorted(self.relations) if not is_hidden(name)}

    def _update(
        self, insert: Mapping[str, Iterable[Values]], delete: Mapping[str, Iterable[Values]], rules: tuple[Rule, ...]
    ) -> NetChange:
        problems = [*safety.problems(Program(rules=rules)), *stratification.problems(Program(rules=rules))]
        if problems:
            raise ProgramError(problems)
        lowered = lower(rules)
        schedule = self.schedule if rules == self.rules and self.rules else Schedule(lowered.stages)
        self._declare(lowered.arities, insert)
        store = self.store
        try:
            outcome = maintain(
                store,
                schedule,
                self.strategy,
                delete={name: store.find(name, rows) for name, rows in delete.items()},
                insert={name: store.intern(name, rows) for name, rows in insert.items()},
                previous=self.schedule,
                budget=Budget(self.limits),
                foreseen=self.foreseen,
            )
        except BaseException:
            store.rollback()
            raise
        inserted = {name: store.rows_of(facts) for name, facts in outcome.inserted.items() if not is_hidden(name)}
        deleted = {name: store.rows_of(facts) for name, facts in outcome.deleted.items() if not is_hidden(name)}
        self.repeated = {key: n for key, n in getattr(store, "instances", {}).items() if n > 1}
        store.commit()
        self.rules, self.schedule, self.counters, self.foreseen = rules, schedule, outcome.counters, None
        self._look_ahead()
        return NetChange(inserted, deleted)

    def _declare(self, arities: Mapping[str, int], insert: Mapping[str, Iterable[Values]]) -> None:
        self.relations |= set(arities) | set(insert)

    def _look_ahead(self) -> None:
        if self.strategy.looks_ahead and self._upcoming:
            delete = by_relation(self._upcoming[0].delete)
            found = {name: self.store.find(name, rows) for name, rows in delete.items()}
            self.foreseen = look_ahead(self.store, self.schedule, found, passes_on=self.strategy.passes_on)
            self.repeated |= {key: n for key, n in getattr(self.store, "instances", {}).items() if n > 1}
            self.store.commit()


def factory(strategy: str, make_store: Callable[[], Any], upcoming: Sequence[Update] = ()) -> Callable:
    """What tests/differential wants: an engine from a program."""
    return lambda program: StoreEngine(program, strategy, make_store(), upcoming)
