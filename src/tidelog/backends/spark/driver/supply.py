"""The facts that a call on the driver needs, brought before it runs.

What      : `DriverSupply`, the supply (backends/local/supply.py) of the local store on the driver: it finds out which
            look-ups a call will make, and fetches what is not there yet from a source (source.py).
Idea      : the look-ups of a plan are found by running it step by step (probes.py). The keys of all plans of a call are
            fetched together, once for each step. What has come stays, so that later rounds and updates that touch the
            same facts fetch nothing. A small relation comes as a whole. What a deletion takes away with a fact was
            there: such heads need not be looked for.
Invariant : pages (pages.py) name exactly the keys whose facts are stored; after a fetch that failed nothing is relied
            on until `reset`.
Never     : no Spark, and no large set of facts: a look-up that would bring too many raises `TooLargeError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tidelog.backends.local.joins.executable import Executable
from tidelog.backends.local.joins.preparation import Sizes
from tidelog.backends.local.joins.under_budget import under_budget
from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.store import LocalStore
from tidelog.backends.local.supply import Call
from tidelog.backends.spark.driver.capacity import Capacity
from tidelog.backends.spark.driver.pages import Pages, lacking
from tidelog.backends.spark.driver.probes import Probe, probes
from tidelog.backends.spark.driver.source import Brought, Source, Wanted
from tidelog.backends.spark.freed_memory import give_back
from tidelog.maintenance.bulk import TooLargeError
from tidelog.planning.join_order import Estimates
from tidelog.planning.lowered import Stage
from tidelog.planning.plan import Plan
from tidelog.planning.views import OLD, Mark, Matching

_PRESENT = Mark.OLD | Mark.NOW
_ASSERTED = _PRESENT | Mark.EXPLICIT | Mark.WAS_EXPLICIT
_NO_KEYS = np.empty((0, 0), np.int32)
_MANY = 250_000
"""After how many facts memory that was needed on their way is given back."""
_MOST_LADDERS = 1024
"""How many plans are remembered with their look-ups; a usual program has some dozens."""

Ladder = list[tuple[Probe, Executable]]
"""The look-ups of a plan in order, each with the executable that finds its keys."""
LookUps = Mapping[tuple[str, tuple[int, ...]], Array]
"""Keys (rows of local numbers) by relation and columns; no columns mean the whole relation."""


class DriverSupply:
    """Brings facts from a source into one local store."""

    is_partial = True
    fuses_rounds = False
    races_provers = False

    def __init__(self, source: Source, capacity: Capacity) -> None:
        self._source, self.capacity = source, capacity
        self._store = LocalStore()
        self._pages = Pages()
        self._ladders: dict[tuple[int, int], tuple[Plan, Matching, Ladder]] = {}
        self.estimates: Estimates | None = None
        self._placed = 0
        self.is_spoiled = False
        """Whether the store may lack facts that the pages name; `reset` mends it."""

    def fill(self, store: LocalStore) -> None:
        """From now on this is the store that facts are brought to."""
        self._store = store
        self.estimates = _Estimates(self._source, Sizes(store.relations))

    def reset(self) -> None:
        """Begin anew with an empty store: only what is at hand is stored. An interrupt leaves the store spoiled."""
        self.is_spoiled = True
        self._pages, self._ladders = Pages(), {}
        for brought in self._source.at_hand():
            self._place(brought)
        self.is_spoiled = False

    def forget_pages(self) -> None:
        """Nothing is known to be in the store; what is asked for comes again."""
        self._pages, self._ladders = Pages(), {}

    # -- what a local store asks ---------------------------------------------------------------------------------------

    def size(self, relation: str) -> int:
        """How many facts the relation had at the last commit."""
        return self._source.size(relation)

    def rows(self, relation: str, table: Array) -> None:
        """Bring the facts that are among these."""
        if len(table) and self._source.arity(relation) == table.shape[1]:
            self.bring({(relation, tuple(range(table.shape[1]))): table})

    def groups(self, relations: Iterable[str], groups: Array) -> None:
        """Bring all members of the groups."""
        self.bring({(relation, tuple(range(groups.shape[1]))): groups for relation in relations})

    def whole(self, relations: Iterable[str]) -> None:
        """Bring relations as a whole."""
        self.bring({(relation, ()): _NO_KEYS for relation in relations})

    def look_ups(self, stage: Stage, matching: Matching, calls: Sequence[Call]) -> None:
        """Bring what the plans will look up: what the first steps of all plans need, then the second steps, and on.

        Heads, which no step needs, come at the end, those of all plans together.
        """
        ladders = [(self._ladder(stage, plan, matching), driving) for plan, driving in calls]
        steps = max((len(ladder) for ladder, _ in ladders), default=0)
        for step in range(steps):
            found: dict[tuple[str, tuple[int, ...]], list[Array]] = {}
            lost: dict[tuple[str, tuple[int, ...]], list[Array]] = {}
            for ladder, driving in ladders:
                rung = _rung(ladder, step, steps)
                if rung is not None and not self.is_here(rung[0].relation):
                    probe, executable = rung
                    tables = under_budget(self._store.ask_budget, executable.heads(driving))
                    keys = [table for table in tables if len(table)]
                    if keys:
                        is_known = matching.is_lost and self._has_heads(stage, probe)
                        (lost if is_known else found).setdefault((probe.relation, probe.columns), []).extend(keys)
            if found:
                self.bring({key: np.concatenate(parts) for key, parts in found.items()})
            for (name, columns), parts in lost.items():
                for rows in parts:  # in the last version, and not explicit
                    self._place(Brought(name, len(columns), rows, np.zeros(len(rows), np.bool_)))

    # -- what is here --------------------------------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """How many facts the store holds."""
        return sum(found.count for found in self._store.relations.values())

    def is_here(self, relation: str) -> bool:
        """Whether every fact of the relation is in the store."""
        return not self._source.is_away(relation) or self._pages.is_whole(relation)

    def fits(self, relation: str) -> bool:
        """Whether the whole relation is in the store or has room there."""
        return self.is_here(relation) or self._source.size(relation) + self.held <= self.capacity.whole

    def bring(self, look_ups: LookUps) -> None:
        """Fetch the facts with these keys, all together, as far as they are not in the store."""
        spoiled, self.is_spoiled = self.is_spoiled, True  # pages name keys from here on whose facts are yet to come
        fewest_first = sorted(look_ups.items(), key=lambda each: len(each[0][1]))  # they may bring what others ask for
        try:
            wanted = [found for key, keys in fewest_first if (found := self._wanted(*key, keys))]
        except TooLargeError:
            for name, _ in look_ups:
                self._pages.forget(name)
            self.is_spoiled = spoiled
            raise
        if wanted:
            for brought in self._source.fetch(wanted):
                self._place(brought)
        self.is_spoiled = spoiled

    def _wanted(self, name: str, columns: tuple[int, ...], keys: Array) -> Wanted | None:
        """What has to be fetched for a look-up."""
        if self.is_here(name):
            return None
        size = self._source.size(name)
        if not columns or size <= self.capacity.relation:
            if self._source.arity(name):  # a relation without columns is one fact, and facts are always brought
                self._check_room(name, size)
            self._pages.note_whole(name)
            return Wanted(name, (), _NO_KEYS)
        is_of_facts = len(columns) == self._source.arity(name)
        stored = self._store.relations.get(name)
        if is_of_facts and stored is not None:  # a fact that is here is known, however it came
            known = stored.rows[stored.find(np.ascontiguousarray(keys), OLD)]
            keys = lacking(keys, known) if len(known) else keys
        missing = self._pages.note(name, columns, keys)
        if not len(missing):
            return None
        if not is_of_facts:
            self._check_room(name, self._expected(name, columns, len(missing)))
        return Wanted(name, columns, missing)

    def _has_heads(self, stage: Stage, probe: Probe) -> bool:
        """Whether a probe asks for heads of rules, and what it finds of the last version is known without asking.

        A version has the head of every instance of its rules, except where it keeps the best of several values. Which
        of its facts are explicit is known where none is.
        """
        if stage.groups or stage.has_links or not probe.is_of_heads or not probe.columns:
            return False
        return self._source.size(probe.relation) > self.capacity.relation and self._source.is_derived(probe.relation)

    def _expected(self, name: str, columns: tuple[int, ...], keys: int) -> int:
        """About how many facts have one of this number of keys."""
        distinct = max(self._source.distinct(name, column) for column in columns)
        return self._source.size(name) * keys // max(distinct, 1)

    def _check_room(self, name: str, more: int) -> None:
        if self.held + more > self.capacity.facts:
            raise TooLargeError.about(name, self.capacity.facts, "raise spark.tidelog.driver.facts")

    def _place(self, brought: Brought) -> None:
        """Store committed facts that are not stored yet."""
        relation = self._store.relation(brought.relation, brought.arity)
        for rows, marks in ((brought.rows[brought.explicit], _ASSERTED), (brought.rows[~brought.explicit], _PRESENT)):
            relation.place(np.ascontiguousarray(rows), marks)
        self._placed += len(brought.rows)
        if self._placed > _MANY:
            self._placed = 0
            give_back()

    def _ladder(self, stage: Stage, plan: Plan, matching: Matching) -> Ladder:
        """The look-ups of a plan; plan and matching are kept with them, because they are known by identity."""
        key = (id(plan), id(matching))
        if key not in self._ladders:
            if len(self._ladders) >= _MOST_LADDERS:
                self._ladders.clear()
            store = self._store
            ladder = [
                (probe, Executable(probe.plan, matching, stage.relations, store.relation, store.dictionary))
                for probe in probes(plan)
            ]
            self._ladders[key] = plan, matching, ladder
        return self._ladders[key][2]


def _rung(ladder: Ladder, step: int, steps: int) -> tuple[Probe, Executable] | None:
    """What a ladder looks up in one of a number of steps; heads in the last one."""
    if ladder and ladder[-1][0].is_of_heads:
        if step == steps - 1:
            return ladder[-1]
        ladder = ladder[:-1]
    return ladder[step] if step < len(ladder) else None


class _Estimates:
    """Sizes for the planner: of relations of the source by what was counted there, of others by what is stored."""

    def __init__(self, source: Source, stored: Sizes) -> None:
        self._source, self._stored = source, stored

    def size(self, relation: str) -> int:
        """The number of facts; a relation without facts may be about to fill, so it counts as an average one."""
        return self._source.size(relation) or self._stored.size(relation)

    def distinct(self, relation: str, column: int) -> int:
        """What was counted at the source, else an estimate from the stored facts."""
        return self._source.distinct(relation, column) or self._stored.distinct(relation, column)
