"""The local store: the protocol of maintenance/store.py on compiled kernels.

What      : relations, dictionary and prepared plans; every call is a few kernel runs per rule, in bounded chunks.
Idea      : a call for heads runs the join machine and stores what comes out; marks make each head count once. Facts
            that are elsewhere come through a supply (supply.py), which is told what a call will look up before it runs.
Invariant : a call costs what it enumerates and the facts it is given, whatever the sizes of the relations.
Never     : no strategy and no user-facing values (see fact_tables.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from tidelog.backends.local import incoming
from tidelog.backends.local.bits.at_once import BitStages
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.joins import calls
from tidelog.backends.local.joins.aggregates import Groups
from tidelog.backends.local.joins.best_first import BestFirst
from tidelog.backends.local.joins.bundle import MOST_DRIVING
from tidelog.backends.local.joins.preparation import Preparation
from tidelog.backends.local.joins.runner import Runner, Sink
from tidelog.backends.local.joins.sweep import sweep
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.interpreting import is_interpreting
from tidelog.backends.local.kernels.workers import ALONE, Workers
from tidelog.backends.local.relations.catalogue import Catalogue
from tidelog.backends.local.relations.counted_stages import Counted
from tidelog.backends.local.relations.facts import NOTHING, LocalFacts, gather, union
from tidelog.backends.local.relations.relation import Relation
from tidelog.backends.local.relations.steps import pieces
from tidelog.backends.local.supply import ALL_HERE, Supply
from tidelog.maintenance.prices import LOCAL_PRICES, Prices
from tidelog.maintenance.store import BulkStore, Passing, StagesAtOnce
from tidelog.maintenance.versions import TRANSIENT
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage, is_of_rewrites
from tidelog.planning.plan import Driver
from tidelog.planning.views import ANY, NO_MARKS, OLD, Mark, Matching, View

_MOST_PROVED = 1 << 13
"""How many facts are asked for proofs between two looks at the budget."""
_OLD = int(Mark.OLD)


class LocalStore:
    """Facts of all relations on this machine."""

    prices: Prices = LOCAL_PRICES
    journeys = 0  # all facts are here
    bulk: BulkStore | None = None  # nothing is too large

    def __init__(
        self, dictionary: Dictionary | None = None, supply: Supply = ALL_HERE, workers: Workers = ALONE
    ) -> None:
        dictionary = Dictionary(workers) if dictionary is None else dictionary
        self.catalogue = Catalogue(dictionary.latch, workers)
        self.relations, self.relation = self.catalogue.relations, self.catalogue.relation
        self._supply, self.workers, self.runner = supply, workers, Runner(self.relations, workers)
        self.derivations = self.runner.derivations
        self.prepared: dict[int, Preparation] = {}
        self.renumber(dictionary)

    # -- for the engine --------------------------------------------------------------------------------------------

    @property
    def ask_budget(self) -> Callable[[], None]:
        """Called while work goes on; raises when a budget is used up."""
        return self.runner.ask_budget

    @ask_budget.setter
    def ask_budget(self, ask_budget: Callable[[], None]) -> None:
        self.runner.ask_budget = self.bits.ask_budget = ask_budget
        self.catalogue.pause.begin(ask_budget)

    @property
    def at_once(self) -> StagesAtOnce | None:
        """Stages of rules over pairs are derived in bits, where all facts are here."""
        return None if self._supply.is_partial else self.bits

    @property
    def best_values(self) -> BestFirst | None:
        """Best values are found step by step, where all facts are here."""
        return None if self._supply.is_partial else self._best

    @property
    def published(self) -> Mapping[str, Relation]:
        """The relations of the last version, for readers."""
        return self.catalogue.published

    def readable(self, name: str) -> Relation:
        """A relation of the last version; one that a supply has brought since then is such a relation, too."""
        return self.published.get(name) or self.relations[name]

    def intern(self, name: str, rows: Array | Iterable[Array]) -> LocalFacts:
        """Facts given as encoded rows, in one table or in several, stored without marks if they are new, as a set."""
        tables = (rows,) if isinstance(rows, np.ndarray) else rows
        if self._supply.is_partial:
            tables = self._supplied(name, tables)
        return incoming.interned(name, self.catalogue, tables)

    def _supplied(self, name: str, tables: Iterable[Array]) -> Iterator[Array]:
        for table in tables:
            self._supply.rows(name, table)
            yield table

    def find(self, name: str, table: Array) -> LocalFacts:
        """Those of the facts, given as encoded rows, that are stored."""
        if self._supply.is_partial:
            self._supply.rows(name, table)
        relation = self.relations.get(name)
        if relation is None or relation.arity != table.shape[1]:
            return NOTHING
        return incoming.found(relation, table, self.catalogue)

    def clear(self) -> None:
        """Between transactions: forget every fact, count and plan, but no constant."""
        self.catalogue.clear()
        self.prepared, self.counted, self.groups = {}, Counted(), Groups(self.dictionary, self.catalogue.pause)

    def renumber(self, dictionary: Dictionary) -> None:
        """Between transactions: numbers are those of this dictionary from now on, for whatever reads values, too."""
        self.dictionary, self.counted, self.groups = dictionary, Counted(), Groups(dictionary, self.catalogue.pause)
        self.bits = BitStages(self.relations, self.relation, dictionary, self.derivations, lambda: self.counted)
        self._best = BestFirst(self._preparation, self.runner, self.relations, dictionary)

    def commit(self, *, tidies: bool = True) -> None:
        """End the transaction: what is NOW becomes OLD. After an interrupt inside it, call it again to finish it.

        Relations most of whose rows are dead are tidied, which may take long, or left for `tidy`.
        """
        if is_interpreting():
            self.workers.drain()
        self.catalogue.pause.end()
        has_outgrown = self.catalogue.commit(tidies=tidies)
        self.counted.commit()
        self.groups.commit()
        if has_outgrown:
            for prepared in self.prepared.values():
                prepared.forget_if_outgrown()

    def rollback(self) -> None:
        """Undo the transaction. After an interrupt inside it, `distrust` and call it again."""
        self.workers.drain()
        self.catalogue.pause.end()
        self.counted.undo()
        self.groups.undo()
        if self.catalogue.has_new:
            self.prepared.clear()
        self.catalogue.rollback()
        self.counted.follow()

    def distrust(self) -> None:
        """After an interrupt: forget counts, ledgers, rewrites and plans: they can be made again."""
        self.workers.drain()
        self.prepared, self.counted, self.groups = {}, Counted(), Groups(self.dictionary, self.catalogue.pause)
        self.catalogue.forget(is_of_rewrites)
        self.catalogue.stand_still()
        for relation in self.relations.values():
            relation.unmark()

    def keep(self, stages: Iterable[Stage]) -> None:
        """Forget what is prepared for other stages than these."""
        wanted = {id(stage): stage for stage in stages}
        self.bits.keep(set(wanted))
        self.prepared = {key: prepared for key, prepared in self.prepared.items() if key in wanted}
        self.groups.keep({group.relation for stage in wanted.values() for group in stage.groups})

    @property
    def nbytes(self) -> int:
        """The memory that facts, indexes, counts, ledgers of groups and constants take."""
        more = sum(counts.nbytes for _, counts in self.counted) + self.bits.nbytes + self.groups.nbytes
        return sum(relation.nbytes for relation in self.relations.values()) + more + self.dictionary.nbytes

    # -- sets of facts ---------------------------------------------------------------------------------------------

    def nothing(self) -> LocalFacts:
        """The empty set."""
        return NOTHING

    def union(self, parts: Iterable[LocalFacts], *, disjoint: bool = False) -> LocalFacts:
        """The union of sets."""
        return union(parts, disjoint=disjoint, pause=self.catalogue.pause)

    def of(self, facts: LocalFacts, relations: Iterable[str]) -> LocalFacts:
        """The facts of the given relations."""
        return LocalFacts({name: facts.parts[name] for name in relations if name in facts.parts})

    def restrict(self, facts: LocalFacts, view: View) -> LocalFacts:
        """The given facts that are in the view."""
        if not facts:
            return NOTHING
        return LocalFacts({name: self.relations[name].restrict(rows, view) for name, rows in facts.parts.items()})

    def select(self, relations: Iterable[str], view: View) -> LocalFacts:
        """Every stored fact of the relations that is in the view."""
        if self._supply.is_partial:
            relations = list(relations)
            self._supply.whole(relations)
        return LocalFacts({name: self.relations[name].select(view) for name in relations if name in self.relations})

    def touched(self, relations: Iterable[str], view: View) -> LocalFacts:
        """The facts journalled in this transaction that are in the view."""
        found = {}
        for name in relations:
            relation = self.relations.get(name)
            if relation is not None and relation.journalled and (not view.want & _OLD or relation.has_old):
                found[name] = relation.restrict(relation.journal, view)
        return LocalFacts(found)

    def met(self, relations: frozenset[str]) -> list[str]:
        """Those of the relations that have a journal in this transaction."""
        return self.catalogue.opened(relations)

    def mark(self, facts: LocalFacts, add: Mark = NO_MARKS, remove: Mark = NO_MARKS) -> None:
        """Give and take marks."""
        for name, rows in facts.parts.items():
            for some in pieces(rows, self.catalogue.pause):
                self.relations[name].mark(some, add, remove)

    def bring_back(self, relations: frozenset[str]) -> None:
        """Let the facts of the relations be those of OLD again."""
        for name in self.met(relations):
            self.relations[name].bring_back()

    def size(self, relation: str) -> int:
        """How many facts the relation has in the materialisation, as of the last commit."""
        if self._supply.is_partial:
            return self._supply.size(relation)
        return self.relations[relation].alive if relation in self.relations else 0

    # -- rules -----------------------------------------------------------------------------------------------------

    def derive(
        self,
        stage: Stage,
        driving: LocalFacts,
        blocking: LocalFacts,
        matching: Matching,
        heads: View,
        add: Mark,
        phase: str,
    ) -> LocalFacts:
        """The heads of the instances that the given facts drive; see the protocol."""
        if self._supply.is_partial:
            calls.announce_driven(self._supply, self._preparation(stage), self.relations, driving, blocking, matching)
        elif heads.want & _OLD and not self._had_heads(stage):
            return NOTHING
        found: dict[str, list[Array]] = {}
        self._drive(stage, driving, blocking, matching, phase, self._collector(found, heads, add))
        return gather(found, self.catalogue.pause)

    def several_rounds(
        self, stage: Stage, driving: LocalFacts, matching: Matching, heads: View, passing: Passing, phase: str
    ) -> tuple[LocalFacts, LocalFacts, int] | None:
        """Several small rounds at once, if the facts and everything that they drive are of a few relations."""
        if not driving or len(driving) > MOST_DRIVING or not self._supply.fuses_rounds:
            return None
        relay = self._preparation(stage).relay(driving.parts, matching)
        if relay is None:
            return None
        self.ask_budget()
        swept = sweep(relay, driving.parts, heads, passing, self.runner.scratch)
        for key, count in swept.hits:
            self.derivations[key, phase] += count
        self.ask_budget()
        return (swept.found, swept.driving, swept.rounds) if swept.rounds else None

    def evaluate(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, heads: View, add: Mark, phase: str
    ) -> LocalFacts:
        """The heads of all instances of the given rules."""
        if self._supply.is_partial:
            calls.announce_all(self._supply, self._preparation(stage), rules, matching)
        found: dict[str, list[Array]] = {}
        self.runner.run_all(self._preparation(stage), rules, matching, phase, self._collector(found, heads, add))
        return gather(found, self.catalogue.pause)

    def supported(self, stage: Stage, facts: LocalFacts, matching: Matching, phase: str) -> LocalFacts:
        """Those of the given facts that are the head of at least one instance."""
        if self._supply.is_partial:
            calls.announce_heads(self._supply, self._preparation(stage), self.relations, facts, matching)
        prepared, runner, races, found = self._preparation(stage), self.runner, self._supply.races_provers, {}
        for name, rows in facts.parts.items():
            crew = runner.race(prepared, name, rows, matching) if races else prepared.crew(name, Driver.HEAD, matching)
            relation = self.relations[name]
            parts = [rows[start : start + _MOST_PROVED] for start in range(0, len(rows), _MOST_PROVED)]
            found[name] = [part[runner.proved(crew, relation.rows.take(part, axis=0), phase)] for part in parts]
        return gather(found, self.catalogue.pause)

    def expand(
        self, stage: Stage, facts: LocalFacts, matching: Matching, bodies: View, add: Mark, limit: int, phase: str
    ) -> tuple[LocalFacts, LocalFacts]:
        """The stage's own body facts of at most `limit` instances per rule and given head, and the heads exhausted."""
        if self._supply.is_partial:
            calls.announce_heads(self._supply, self._preparation(stage), self.relations, facts, matching)
        return self.runner.expand(self._preparation(stage), facts, matching, limit, bodies, add, phase)

    # -- counts and aggregates -------------------------------------------------------------------------------------

    def is_counted(self, relations: frozenset[str]) -> bool:
        """Whether the counts of these relations, as one stage, are kept and true."""
        return relations in self.counted

    def start_counting(self, relations: frozenset[str]) -> None:
        """Keep counts of these relations as one stage, from no counts and no ranks on."""
        self.stop_counting(relations)
        self.counted.start(relations)

    def stop_counting(self, relations: Iterable[str]) -> None:
        """The counts of these relations are no longer true; rewrites counted with them and ledgers mean nothing."""
        self.groups.forget(relations)
        rewrites = list(filter(is_of_rewrites, self.counted.stop(relations))) if self.counted else ()
        if rewrites:
            self.mark(self.select(rewrites, ANY), remove=Mark.NOW | TRANSIENT)

    def carry_counts(self, before: frozenset[str], after: frozenset[str]) -> None:
        """What was counted as one stage is counted as another."""
        self.counted.carry(before, after)

    @property
    def keeps_rewrites(self) -> bool:
        """Whether rewrites may be kept here: a supply brings facts, and knows nothing of rewrites."""
        return not self._supply.is_partial

    def count(
        self, stage: Stage, driving: LocalFacts, blocking: LocalFacts, matching: Matching, sign: int, phase: str
    ) -> LocalFacts:
        """As `derive`, but adds `sign` to the head's count in the instance's round, once per instance."""
        if self._supply.is_partial:
            calls.announce_driven(self._supply, self._preparation(stage), self.relations, driving, blocking, matching)
        prepared, scratch = self._preparation(stage), self.runner.scratch
        runs = calls.driven(prepared, self.relations, driving, blocking, matching, self.ask_budget, scratch)
        return self.runner.count_heads(runs, self.relation, self.counted, sign, phase)

    def count_all(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, sign: int, phase: str
    ) -> LocalFacts:
        """As `evaluate`, but counting."""
        if self._supply.is_partial:
            calls.announce_all(self._supply, self._preparation(stage), rules, matching)
        runs = ((executable, None) for executable in self._preparation(stage).from_nothing(rules, matching))
        return self.runner.count_heads(runs, self.relation, self.counted, sign, phase)

    def due(self, facts: LocalFacts) -> tuple[int, LocalFacts, LocalFacts, LocalFacts]:
        """The least round that one of the facts has to leave or enter, and which facts those are; see the protocol."""
        return self.counted.due((self.relations[name], rows) for name, rows in facts.parts.items())

    def rank(self, facts: LocalFacts, round_number: int | None) -> None:
        """Give the facts a rank, or none."""
        for name, rows in facts.parts.items():
            self.counted.rank(self.relations[name], rows, round_number)

    def regroup(
        self, rule: GroupRule, changed: LocalFacts, phase: str, against: View = OLD
    ) -> tuple[LocalFacts, LocalFacts]:
        """The aggregate facts to insert and to delete, given the body facts that changed."""
        rows = changed.parts.get(rule.body_relation)
        if self._supply.is_partial and rows is not None:
            groups = self.relations[rule.body_relation].rows[rows][:, : rule.group]
            self._supply.groups((rule.body_relation, rule.relation, rule.lacking), groups)
        come, gone, looked_at = self.groups.regroup(rule, rows, self.relation, against, not self._supply.is_partial)
        self.derivations[rule.key, phase] += looked_at
        return come, gone

    # -- within ----------------------------------------------------------------------------------------------------

    def _preparation(self, stage: Stage) -> Preparation:
        found = self.prepared.get(id(stage))
        if found is None or found.stage is not stage:
            known = self.relations, self.relation, self.dictionary, self._supply.estimates
            found = self.prepared[id(stage)] = Preparation(stage, *known)
        return found

    def _had_heads(self, stage: Stage) -> bool:
        return any(self.relations[name].has_old for name in self._preparation(stage).heads if name in self.relations)

    def _drive(
        self, stage: Stage, driving: LocalFacts, blocking: LocalFacts, matching: Matching, phase: str, sink: Sink
    ) -> None:
        prepared = self._preparation(stage)
        for name, rows in driving.parts.items():
            crew = prepared.crew(name, Driver.LITERAL, matching)
            for some in pieces(rows, self.catalogue.pause, self.workers):
                self.runner.run(crew, self.relations[name].table(some), phase, sink)
        if not blocking:
            return
        blocked = calls.driven(prepared, self.relations, NOTHING, blocking, matching, self.ask_budget)
        for executable, rows in ((one, rows) for one, rows in blocked if not one.is_futile()):
            stored = self.relations[executable.plan.relation or ""].rows
            self.runner.feed(executable, stored.take(rows, axis=0), phase, sink)

    def _collector(self, found: dict[str, list[Array]], heads: View, add: Mark) -> Sink:
        def collect(rule: LoweredRule, table: Array) -> None:
            relation = self.relation(rule.head.relation, len(rule.head.terms))
            for rows in filter(len, self.catalogue.stored(relation, table, heads, add)):
                found.setdefault(rule.head.relation, []).append(rows)

        return collect
