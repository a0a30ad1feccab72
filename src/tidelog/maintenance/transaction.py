"""The schedule of one update over the stages.

What      : `maintain` brings a materialisation from one version to the next: explicit deletions, then insertions, then
            every stage that may change, in topological order, each with the strategy's schedule of calls.
Idea      : while a stage is processed everything below it has its final NOW and its OLD. Afterwards its net change is
            read from the marks of the facts that were touched (INSERTED, DELETED), and wakes the stages that read it.
            Further updates may join while it runs (joining.py): explicit facts are netted again, visited stages that
            the difference reaches go back and are visited anew, the others stay.
Invariant : a stage none of whose inputs changed is not visited. Nothing is committed here; on an error the caller rolls
            back.
Never     : of the strategies that users choose none is known by name; no fact is known by value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Generic

from tidelog.limits import Budget
from tidelog.maintenance import bulk
from tidelog.maintenance.counters import Counters
from tidelog.maintenance.dred import DRed
from tidelog.maintenance.explicit import Explicit
from tidelog.maintenance.joining import Joining, Pair, TurnBackError, go_back
from tidelog.maintenance.marking import Foreseen
from tidelog.maintenance.optima import Optima
from tidelog.maintenance.outcome import Outcome
from tidelog.maintenance.schedule import RuleChange, Schedule, Scheduled
from tidelog.maintenance.store import F, Store
from tidelog.maintenance.task import Strategy, Task
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage
from tidelog.planning.views import DELETED, INSERTED, NOW, Mark, View

_SIMPLE = DRed()
"""What maintains instances without a value: they do not recur, and hardly one has two derivations."""
_NOT_NOW, _ONLY_NOW = View(Mark.EXPLICIT, Mark.NOW), View(Mark.NOW, Mark.EXPLICIT)
_COMES, _GOES = View(Mark.TURNED, Mark.OLD), View(Mark.TURNED | Mark.OLD)


def maintain(
    store: Store[F],
    schedule: Schedule,
    strategy: Strategy,
    *,
    delete: Mapping[str, F],
    insert: Mapping[str, F],
    previous: Schedule | None = None,
    budget: Budget | None = None,
    foreseen: Foreseen[F] | None = None,
    later: Sequence[Pair[F]] = (),
    joining: Joining[F] | None = None,
    describe: Callable[[Outcome[F]], None] = lambda _: None,
) -> Outcome[F]:
    """Process one update: stored facts by relation, and other rules if `previous` is not `schedule`.

    `previous` is the schedule before the update; an empty `Schedule(())` before the first rules.
    `foreseen` is what `look_ahead` found after the last update; it is used if it fits and always forgotten.
    `later` are updates of facts that follow in the same transaction, `joining` brings more of them while it runs.
    `describe` is shown the outcome at the end, and again if updates have joined meanwhile.
    """
    store.derivations.clear()
    run = _Run(store, schedule, strategy, RuleChange.between(previous or schedule, schedule), budget or Budget())
    run.joining = joining
    if later or joining is not None:
        run.explicit.in_turn([(delete, insert), *later])
    else:
        run.use(foreseen)  # which is about one update
        run.explicit.once(delete, insert)
    run.relations_without_rules()
    run.wake()
    if joining is not None:
        joining.begin(run)
    run.stages()
    while not run.has_described(describe):
        run.stages()
    if foreseen is not None:
        foreseen.clear(store)
    run.outcome.counters.collect(store.derivations)
    return run.outcome


class _Run(Generic[F]):
    """One update on its way through the stages."""

    def __init__(
        self, store: Store[F], schedule: Schedule, strategy: Strategy, rules: RuleChange, budget: Budget
    ) -> None:
        self.store, self.schedule, self.strategy, self.rules, self.budget = store, schedule, strategy, rules, budget
        self.added, self.removed = _by_head(rules.added), _by_head(rules.removed)
        self.ruled = rules.new_groups.union(self.added, self.removed)
        self.outcome: Outcome[F] = Outcome()
        self.explicit = Explicit(store, self.outcome)
        self.withdrawn, self.asserted = self.explicit.withdrawn, self.explicit.asserted
        self.foreseen: Foreseen[F] | None = None
        self.bulk = store.bulk
        self.joining: Joining[F] | None = None
        self.waiting: list[int] = []
        self.visited: list[int] = []
        self.visiting: int | None = None
        self.replaced: set[str] = set()
        self.within: set[int] | None = None
        """The only stages to be visited, if not all."""

    def use(self, foreseen: Foreseen[F] | None) -> None:
        """Use what was foreseen for these very rules, if the strategy looks ahead."""
        if foreseen is not None and foreseen.schedule is self.schedule and not self.rules and self.strategy.looks_ahead:
            self.foreseen = foreseen
            foreseen.use(self.store)

    def relations_without_rules(self) -> None:
        """Relations that no rule derives change directly; one that loses its last rule is visited once more."""
        lone = {rule.head.relation for rule in self.rules.removed} - self.schedule.place.keys()
        for relation in sorted(lone):
            stage = Stage(frozenset({relation}), (), (), is_recursive=False)
            self._visit(Scheduled.of(stage))
        for relation in sorted((self.withdrawn.keys() | self.asserted.keys()) - self.schedule.place.keys() - lone):
            deleted, inserted = self._of(self.withdrawn, relation), self._of(self.asserted, relation)
            self.store.mark(deleted, remove=Mark.NOW)
            self.store.mark(inserted, add=Mark.NOW)
            self._note(relation, inserted, deleted)  # all its facts are explicit
        for relation in sorted(self.rules.dropped):
            self.store.mark(self.store.select([relation], NOW), remove=Mark.NOW)
            self._changed(relation)
        if lone or self.rules.dropped:
            self.store.stop_counting(lone | self.rules.dropped)

    def wake(self) -> None:
        """Let every stage whose rules or explicit facts changed be visited."""
        place = self.schedule.place
        explicit = {relation for facts in (self.withdrawn, self.asserted) for relation, some in facts.items() if some}
        woken = {place[relation] for relation in self.ruled | explicit if relation in place}
        self.waiting = list(woken.union(self.waiting))
        heapify(self.waiting)

    def stages(self) -> None:
        """Every stage that something may have changed, from the bottom up."""
        last = -1
        self._border()
        while self.waiting:
            number = heappop(self.waiting)
            if number == last or (self.within is not None and number not in self.within):
                continue
            self.visited.append(number)
            last = self.visiting = number
            try:
                self._visit(self.schedule.stages[number])
            except TurnBackError:
                if self.joining is None:
                    raise
                self.visiting = None
                self._take_in(self.joining.opposite(), number)
                self.joining.give_way()
                last = -1
            self.visiting = None
            if self.joining is not None and (self.waiting or self.joining.is_due or self.joining.has_passed):
                self._border()

    def has_described(self, describe: Callable[[Outcome[F]], None]) -> bool:
        """Describe the outcome; False if an update has come meanwhile that undoes most of it, and was taken in."""
        self.outcome.asserted, self.outcome.ceased = self.asserted, self.withdrawn
        try:
            describe(self.outcome)
            turns_back = self.joining is not None and self.joining.is_due
        except TurnBackError:
            turns_back = True
        if turns_back and self.joining is not None:
            self._take_in(self.joining.opposite())
            self.joining.give_way()
        has_passed = self.joining is not None and self.joining.has_passed
        return not (turns_back or has_passed or self.waiting)

    def _border(self) -> None:
        """Between two stages: catch up with urgent updates, then take in updates that undo most of what runs.

        Last come updates that change nothing that a visited stage reads or derives.
        """
        if self.joining is not None and self.joining.has_passed:
            self._catch_up()
            self.joining.begin(self)
        if self.joining is not None and self.joining.is_due:
            self._take_in(self.joining.opposite())
        if self.joining is not None and self.joining.has_come:
            self._take_in(self.joining.beside(self.has_visited))

    def reaches(self, relations: Iterable[str]) -> bool:
        """Whether a change of the relations would reach the stage that is being visited."""
        return self.visiting is not None and self.visiting in self._reached(set(relations))

    def uses(self) -> set[str]:
        """The relations that visited stages derive and read."""
        visited = [self.schedule.stages[number] for number in self.visited]
        return set().union(*(one.stage.relations | one.reads for one in visited))

    def _reached(self, relations: set[str]) -> list[int]:
        """The visited stages that a change of the relations would reach; what they derive is added to `relations`."""
        found = []
        for number in sorted(self.visited):
            one = self.schedule.stages[number]
            if relations & (one.stage.relations | one.reads):
                relations |= one.stage.relations
                found.append(number)
        return found

    def has_visited(self, relations: Iterable[str]) -> bool:
        """Whether a change of the relations would reach a stage that was visited."""
        return bool(self._reached(set(relations)))

    def _take_in(self, steps: Iterable[Pair[F]], interrupted: int | None = None) -> None:
        """Let further updates join: net the explicit facts again, and go back where the difference has been."""
        if self.joining is not None and self.joining.has_passed:
            if interrupted is not None:
                self._go_back(set(), interrupted)
                interrupted = None
            self._catch_up()  # and go on taking in
        changed = self.explicit.in_turn(steps)
        if changed or interrupted is not None:
            self._go_back(changed, interrupted)
        if self.joining is not None:
            self.joining.begin(self)

    def _catch_up(self) -> None:
        """Maintain what was visited for the urgent updates that have passed, as if it were a version already.

        They are in the last version, and this transaction has not seen them yet. Afterwards it has begun on that
        version, and they have the last word about their own facts.
        """
        if self.joining is None or not self.joining.has_passed:
            return
        steps = list(self.joining.overriding())
        self.joining.rebase()
        top = _Run(self.store, self.schedule, self.strategy, self.rules, self.budget)
        top.within, top.outcome.counters = set(self.visited), self.outcome.counters
        top.explicit.on_top(steps)
        top.relations_without_rules()
        top.wake()
        top.pass_on(top.within)
        top.stages()
        self.joining.straighten()
        named = {*self.outcome.inserted, *self.outcome.deleted, *self.explicit.compare(steps)}
        derived = (self._stage(number).relations for number in self.visited)
        for relation in (named - self.schedule.place.keys()).union(*derived):
            self._forget(relation)
            self._changed(relation)
        self.waiting = [number for number in self.waiting if number not in self.visited]
        heapify(self.waiting)

    def pass_on(self, visited: set[int]) -> None:
        """Derived relations of stages that were not visited change as they did in the last version."""
        for relation, number in self.schedule.place.items():
            if number not in visited:
                come, gone = (self.store.touched([relation], view) for view in (_COMES, _GOES))
                self.store.mark(come, add=Mark.NOW)
                self.store.mark(gone, remove=Mark.NOW)
                self._note(relation, come, gone)

    def _go_back(self, changed: set[str], interrupted: int | None) -> None:
        """Bring stages that a change of explicit facts reaches back to their old version, and let them run again."""
        place = self.schedule.place
        again = {place[relation] for relation in changed if relation in place}
        for relation in changed - place.keys():
            self.store.mark(self.store.touched([relation], _NOT_NOW), add=Mark.NOW)
            self.store.mark(self.store.touched([relation], _ONLY_NOW), remove=Mark.NOW)
            self._forget(relation)
            self._changed(relation)
        lost = () if interrupted is None else self._stage(interrupted).relations
        for number in self._reached({*changed, *lost}):
            again.add(number)
            go_back(self.store, self._stage(number).relations)
            for relation in self._stage(number).relations:
                self._forget(relation)
        self.visited = [number for number in self.visited if number not in again]
        self.waiting = list({number for number in again if self._has_cause(number)}.union(self.waiting))
        heapify(self.waiting)

    def _has_cause(self, number: int) -> bool:
        """Whether anything that is known now calls for a visit; what is below and visited again may call later."""
        one = self.schedule.stages[number]
        own, changes = one.stage.relations, (self.outcome.inserted, self.outcome.deleted)
        explicit = any(self._of(facts, relation) for facts in (self.withdrawn, self.asserted) for relation in own)
        return explicit or bool(own & self.ruled) or any(relation in some for some in changes for relation in one.reads)

    def _stage(self, number: int) -> Stage:
        return self.schedule.stages[number].stage

    def _forget(self, relation: str) -> None:
        self.outcome.inserted.pop(relation, None)
        self.outcome.deleted.pop(relation, None)
        self.replaced.discard(relation)

    def _visit(self, scheduled: Scheduled) -> None:
        stage = scheduled.stage
        if stage.groups and not stage.rules:
            for group in stage.groups:
                self._regroup(group)
            return
        task, strategy = self._task(scheduled), self.strategy
        if stage.groups:
            strategy = Optima(anew=not stage.relations.isdisjoint(self.ruled))
        if stage.finds_undefined:
            task.counters, task.budget, strategy = Counters(), self.budget.without_rounds(), _SIMPLE
        if not strategy.keeps_counts:
            self.store.stop_counting(stage.relations)
        if self.bulk is None:
            strategy.maintain(task)
        else:
            bulk.maintain(task, strategy, self.bulk)
        if task.exchanged is not None and self.bulk is None:  # marks need not be asked
            for relation in stage.relations:
                self._note(relation, *(self.store.of(facts, [relation]) for facts in task.exchanged))
            return
        for relation in self.store.met(stage.relations):
            self._changed(relation)

    def _task(self, scheduled: Scheduled) -> Task[F]:
        store, relations = self.store, scheduled.stage.relations
        task = Task(
            store,
            scheduled,
            self.outcome.counters,
            self.budget,
            self.outcome.inserted,
            self.outcome.deleted,
            withdrawn=store.union([facts for relation, facts in self.withdrawn.items() if relation in relations]),
            asserted=store.union([facts for relation, facts in self.asserted.items() if relation in relations]),
            foreseen=store.nothing(),
            replaced=self.replaced,
        )
        if self.foreseen is not None:
            task.foreseen, task.looked_ahead = store.of(self.foreseen.heads, relations), self.foreseen.relations
        if self.rules:
            task.added = [rule for relation in sorted(relations) for rule in self.added.get(relation, ())]
            task.removed = [rule for relation in sorted(relations) for rule in self.removed.get(relation, ())]
        return task

    def _regroup(self, group: GroupRule) -> None:
        """Aggregates are the same for every strategy: only the groups of changed facts are looked at.

        What has changed is known already. Only where facts may be large are marks asked again: a change that is large
        may have turned out to be small, and a store says so when it is asked.
        """
        store, body, known = self.store, group.body_relation, self.outcome
        if group.relation in self.rules.new_groups:
            parts = [store.select([body], NOW)]
        elif self.bulk is None:
            parts = [facts[body] for facts in (known.inserted, known.deleted) if body in facts]
        else:
            parts = [store.touched([body], view) for view in (INSERTED, DELETED)]
        changed = store.union(parts, disjoint=True)
        insert, delete = store.regroup(group, changed, "group")
        store.mark(insert, add=Mark.NOW)
        store.mark(delete, remove=Mark.NOW)
        if self.bulk is not None or store.of(insert, [group.lacking]) or store.of(delete, [group.lacking]):
            self._changed(group.relation)
            self._changed(group.lacking)
        else:
            self._note(group.relation, insert, delete)
            if len(changed) == 1 and insert and delete:  # of one group
                self.replaced.add(group.relation)

    def _changed(self, relation: str) -> None:
        """Note a relation's net change as its marks tell it."""
        self._note(relation, self.store.touched([relation], INSERTED), self.store.touched([relation], DELETED))

    def _note(self, relation: str, inserted: F, deleted: F) -> None:
        """Note a relation's net change, and wake the stages that read it."""
        if inserted:
            self.outcome.inserted[relation] = inserted
        if deleted:
            self.outcome.deleted[relation] = deleted
        if inserted or deleted:
            for number in self.schedule.readers.get(relation, ()):
                heappush(self.waiting, number)

    def _of(self, facts: Mapping[str, F], relation: str) -> F:
        return facts[relation] if relation in facts else self.store.nothing()


def _by_head(rules: Iterable[LoweredRule]) -> dict[str, list[LoweredRule]]:
    found: dict[str, list[LoweredRule]] = {}
    for rule in rules:
        found.setdefault(rule.head.relation, []).append(rule)
    return found
