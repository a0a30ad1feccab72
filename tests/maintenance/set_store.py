"""The naive twin of every store: marks in a dictionary, instances from the reference evaluator.

What      : `SetStore` keeps the store protocol (maintenance/store.py) in the shortest way; slow and obviously right.
Idea      : `reference.evaluation.instances` matches each literal in its own view; a view here is a filter on marks.
Invariant : `record=True` keeps every (rule, substitution) of every call, so that tests can see one derived twice.
Never     : no plan, no cleverness; a fast store is tested against this page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tidelog.language.partial import aggregate
from tidelog.language.terms import Atom, Negation, Rule, Value, variables
from tidelog.maintenance.prices import LOCAL_PRICES
from tidelog.maintenance.versions import TRANSIENT
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage, is_of_rewrites
from tidelog.planning.views import ANY, DELETED, INSERTED, NO_MARKS, NOW, OLD, Mark, Matching, View
from tidelog.reference.evaluation import Instance, head_bound, instances
from tidelog.reference.facts import Bound, FactSet, GroundFact, Union, from_fact, from_key, to_fact, to_key

Facts = dict[GroundFact, None]
UNKEPT = Mark.NOW | TRANSIENT
LASTING = Mark.OLD | Mark.NOW | Mark.WAS_EXPLICIT | Mark.EXPLICIT | Mark.FORESEEN


class Filtered:
    """The stored facts of a view, as the reference evaluator wants to match them."""

    def __init__(self, store: SetStore, view: View) -> None:
        self._store, self._view = store, view

    def __contains__(self, fact: object) -> bool:
        return fact in self._store.marks and self._view.contains(self._store.marks[fact])

    def matching(self, relation: str, bound: Bound) -> Iterator[GroundFact]:
        return (fact for fact in self._store.stored.matching(relation, bound) if fact in self)

    def estimate(self, relation: str, bound: Bound) -> int:
        return self._store.stored.estimate(relation, bound)


class SetStore:
    """Facts with marks, counts and ranks in dictionaries."""

    prices, journeys, bulk, at_once, best_values, keeps_rewrites = LOCAL_PRICES, 0, None, None, None, True

    def __init__(self, *, record: bool = False) -> None:
        self.stored = FactSet()
        self.marks: dict[GroundFact, int] = {}
        self.counts: dict[GroundFact, Counter[int]] = {}
        self.ranks: dict[GroundFact, int] = {}
        self.counted: set[frozenset[str]] = set()
        self.derivations: Counter[tuple[str, str]] = Counter()
        self.instances: Counter[tuple[object, ...]] = Counter()
        self._record = record
        self._journal: dict[GroundFact, int | None] = {}
        self._saved: tuple[dict[GroundFact, Counter[int]], dict[GroundFact, int], set[frozenset[str]]] | None = None

    # -- what an engine needs ----------------------------------------------------------------------------------------

    def intern(self, relation: str, rows: Iterable[Sequence[Value]]) -> Facts:
        return self._store(to_fact(relation, row) for row in rows)

    def find(self, relation: str, rows: Iterable[Sequence[Value]]) -> Facts:
        return {fact: None for fact in (to_fact(relation, row) for row in rows) if fact in self.marks}

    def rows(self, relation: str, view: View = NOW) -> list[tuple[Value, ...]]:
        return self.rows_of(self.select([relation], view))

    def rows_of(self, facts: Facts) -> list[tuple[Value, ...]]:
        return [from_fact(fact)[1] for fact in facts]

    def commit(self) -> None:
        for fact in self._journal:
            marks = Mark(self.marks[fact]) & LASTING & ~(Mark.OLD | Mark.WAS_EXPLICIT)
            if Mark.NOW not in marks:
                self._forget(fact)
                continue
            explicit = Mark.WAS_EXPLICIT if Mark.EXPLICIT in marks else NO_MARKS
            self.marks[fact] = int(marks | Mark.OLD | explicit)
        self._journal, self._saved = {}, None
        self.instances.clear()

    def rollback(self) -> None:
        for fact, before in self._journal.items():
            if before is None:
                self._forget(fact)
            else:
                self.marks[fact] = before
        if self._saved is not None:
            self.counts, self.ranks, self.counted = self._saved
        self._journal, self._saved = {}, None
        self.instances.clear()

    # -- sets of facts -----------------------------------------------------------------------------------------------

    def nothing(self) -> Facts:
        return {}

    def union(self, parts: Iterable[Facts], *, disjoint: bool = False) -> Facts:
        listed = [fact for part in parts for fact in part]
        assert not disjoint or len(listed) == len(set(listed))
        return dict.fromkeys(listed)

    def of(self, facts: Facts, relations: Iterable[str]) -> Facts:
        wanted = set(relations)
        return {fact: None for fact in facts if fact[0] in wanted}

    def restrict(self, facts: Facts, view: View) -> Facts:
        return {fact: None for fact in facts if view.contains(self.marks[fact])}

    def select(self, relations: Iterable[str], view: View) -> Facts:
        found = (fact for relation in relations for fact in self.stored.matching(relation, {}))
        return {fact: None for fact in found if view.contains(self.marks[fact])}

    def touched(self, relations: Iterable[str], view: View) -> Facts:
        return self.restrict(self.of(dict.fromkeys(self._journal), relations), view)

    def met(self, relations: frozenset[str]) -> list[str]:
        return sorted({relation for relation, _ in self._journal} & relations)

    def mark(self, facts: Facts, add: Mark = NO_MARKS, remove: Mark = NO_MARKS) -> None:
        for fact in facts:
            after = (self.marks[fact] & ~int(remove)) | int(add)
            if after != self.marks[fact]:
                self._journal.setdefault(fact, self.marks[fact])
                self.marks[fact] = after

    def bring_back(self, relations: frozenset[str]) -> None:
        self.mark(self.touched(relations, DELETED), add=Mark.NOW)
        self.mark(self.touched(relations, INSERTED), remove=Mark.NOW)
        self.mark(self.touched(relations, ANY), remove=TRANSIENT)

    def size(self, relation: str) -> int:
        return len(self.select([relation], OLD))

    # -- rules -------------------------------------------------------------------------------------------------------

    def derive(
        self, stage: Stage, driving: Facts, blocking: Facts, matching: Matching, heads: View, add: Mark, phase: str
    ) -> Facts:
        return self._heads(list(self._driven(stage, driving, blocking, matching, phase)), heads, add)

    def several_rounds(self, *_: object) -> None:
        """One round at a time."""

    def evaluate(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, heads: View, add: Mark, phase: str
    ) -> Facts:
        return self._heads(list(self._all(stage, rules, matching, phase)), heads, add)

    def supported(self, stage: Stage, facts: Facts, matching: Matching, phase: str) -> Facts:
        found = {}
        for fact in facts:
            for _ in self._supports(stage, fact, matching, phase):
                found[fact] = None
                break
        return found

    def expand(
        self, stage: Stage, facts: Facts, matching: Matching, bodies: View, add: Mark, limit: int, phase: str
    ) -> tuple[Facts, Facts]:
        found: Facts = {}
        exhausted: Facts = {}
        for fact in facts:
            supports = self._supports(stage, fact, matching, phase)
            for _, instance in zip(range(limit), supports):
                found.update(dict.fromkeys(self.of(dict.fromkeys(instance.body), stage.relations)))
            if next(supports, None) is None:
                exhausted[fact] = None
        found = self.restrict(found, bodies)
        self.mark(found, add=add)
        return found, exhausted

    def regroup(self, rule: GroupRule, changed: Facts, phase: str, against: View = OLD) -> tuple[Facts, Facts]:
        groups = dict.fromkeys(fact[1][: rule.group] for fact in changed if fact[0] == rule.body_relation)
        insert: Facts = {}
        delete: Facts = {}
        for group in groups:
            bound = dict(enumerate(group))
            members = [fact[1] for fact in Filtered(self, NOW).matching(rule.body_relation, bound)]
            before = dict.fromkeys(Filtered(self, against).matching(rule.relation, bound))
            before |= dict.fromkeys(Filtered(self, against).matching(rule.lacking, bound))
            values = [from_key(member[-1]) if rule.function != "count" else 0 for member in members]
            result = aggregate(rule.function, values) if members else None
            after: Facts = {(rule.lacking, group): None} if members else {}
            if result is not None:
                after = {(rule.relation, (*group, to_key(result))): None}
            self.derivations[rule.key, phase] += len(members)
            delete.update(dict.fromkeys(fact for fact in before if fact not in after))
            insert.update(dict.fromkeys(fact for fact in after if fact not in before))
        return self._store(insert), delete

    # -- counts ------------------------------------------------------------------------------------------------------

    def is_counted(self, relations: frozenset[str]) -> bool:
        return relations in self.counted

    def start_counting(self, relations: frozenset[str]) -> None:
        self.stop_counting(relations)
        for fact in self.select(relations, ANY):
            self.counts.pop(fact, None)
            self.ranks.pop(fact, None)
        self.counted.add(relations)

    def stop_counting(self, relations: Iterable[str]) -> None:
        self._save()
        gone = {stage for stage in self.counted if stage & set(relations)}
        self.counted -= gone
        self.mark(self.select(filter(is_of_rewrites, {name for stage in gone for name in stage}), ANY), remove=UNKEPT)

    def carry_counts(self, before: frozenset[str], after: frozenset[str]) -> None:
        self._save()
        assert before in self.counted
        assert not self.select(before ^ after, NOW)
        self.counted -= {before}
        self.counted.add(after)

    def count(self, stage: Stage, driving: Facts, blocking: Facts, matching: Matching, sign: int, phase: str) -> Facts:
        return self._count(stage, list(self._driven(stage, driving, blocking, matching, phase)), sign)

    def count_all(self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, sign: int, phase: str) -> Facts:
        return self._count(stage, list(self._all(stage, rules, matching, phase)), sign)

    def due(self, facts: Facts) -> tuple[int, Facts, Facts, Facts]:
        never = 1 << 60
        rounds = {}
        for fact in facts:
            rank, first = self.ranks.get(fact, never), min(self.counts.get(fact, {}), default=never)
            if Mark(self.marks[fact]) & Mark.EXPLICIT:
                first = 0
            if rank != first:
                rounds[fact] = (min(rank, first), rank < first)
        least = min((number for number, _ in rounds.values()), default=0)
        leaving = {fact: None for fact, due in rounds.items() if due == (least, True)}
        entering = {fact: None for fact, due in rounds.items() if due == (least, False)}
        return least, leaving, entering, {fact: None for fact, due in rounds.items() if due[0] > least}

    def rank(self, facts: Facts, round_number: int | None) -> None:
        self._save()
        for fact in facts:
            if round_number is None:
                self.ranks.pop(fact, None)
            else:
                self.ranks[fact] = round_number

    # -- instances ---------------------------------------------------------------------------------------------------

    def _driven(
        self, stage: Stage, driving: Facts, blocking: Facts, matching: Matching, phase: str
    ) -> Iterator[Instance]:
        for rule in stage.rules:
            for position, literal in enumerate(rule.body):
                views = self._views(stage, rule, matching, position)
                if isinstance(literal, Atom):
                    views[position] = FactSet(self.of(driving, [literal.relation]))
                    yield from self._counted(rule, instances(_plain(rule), views), phase)
                elif isinstance(literal, Negation):
                    for bound in self._bindings(rule, literal, blocking):
                        found = instances(_plain(rule), views, substitution=dict(bound))
                        yield from self._counted(rule, found, phase)

    def _all(self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, phase: str) -> Iterator[Instance]:
        for rule in rules:
            yield from self._counted(rule, instances(_plain(rule), self._views(stage, rule, matching, -1)), phase)

    def _supports(self, stage: Stage, fact: GroundFact, matching: Matching, phase: str) -> Iterator[Instance]:
        for rule in stage.rules:
            if rule.head.relation == fact[0]:
                found = instances(_plain(rule), self._views(stage, rule, matching, -1), head=fact)
                yield from self._counted(rule, found, phase, repeats=True)

    def _views(self, stage: Stage, rule: LoweredRule, matching: Matching, driver: int) -> list:
        """The view of each literal, as the driver at a position sees it."""
        views = []
        for position, literal in enumerate(rule.body):
            is_before = position < driver
            if isinstance(literal, Atom):
                is_lower = literal.relation not in stage.relations
                views.append(Filtered(self, matching.view(is_before=is_before, is_lower=is_lower)))
            else:
                views.append(Union(*(Filtered(self, view) for view in matching.absent(is_before=is_before))))
        return views

    def _bindings(self, rule: LoweredRule, literal: Negation, blocking: Facts) -> dict[tuple, None]:
        """The distinct bindings that blocking facts give to the variables which the rule binds elsewhere."""
        others = [part for part in rule.body if not isinstance(part, Negation)]
        scope = {variable.name for part in (rule.head, *others) for variable in variables(part)}
        bounds = (head_bound(literal.atom, fact) for fact in self.of(blocking, [literal.atom.relation]))
        return {
            tuple((name, key) for name, key in sorted(bound.items()) if name in scope): None
            for bound in bounds
            if bound is not None
        }

    def _counted(
        self, rule: LoweredRule, found: Iterator[Instance], phase: str, *, repeats: bool = False
    ) -> Iterator[Instance]:
        for instance in found:
            self.derivations[rule.key, phase] += 1
            if self._record and not repeats:
                self.instances[phase, rule.key, rule.head, rule.body, instance.substitution] += 1
            yield instance

    def _heads(self, found: list[Instance], heads: View, add: Mark) -> Facts:
        wanted = {x.head: None for x in found if heads.contains(self.marks.get(x.head, 0))}
        self._store(wanted)
        self.mark(wanted, add=add)
        return wanted

    def _count(self, stage: Stage, found: list[Instance], sign: int) -> Facts:
        self._save()
        heads = self._store(instance.head for instance in found)
        for instance in found:
            own = self.of(dict.fromkeys(instance.body), stage.relations)
            number = 1 + max((self.ranks[fact] for fact in own), default=0)
            counts = self.counts.setdefault(instance.head, Counter())
            counts[number] += sign
            assert counts[number] >= 0, f"{instance.head} has a negative count"
            if not counts[number]:
                del counts[number]
        return heads

    # -- storing -----------------------------------------------------------------------------------------------------

    def _store(self, facts: Iterable[GroundFact]) -> Facts:
        found = dict.fromkeys(facts)
        for fact in found:
            if fact not in self.marks:
                self.stored.add(fact)
                self.marks[fact] = 0
                self._journal[fact] = None
        return found

    def _forget(self, fact: GroundFact) -> None:
        self.stored.discard(fact)
        del self.marks[fact]
        self.counts.pop(fact, None)
        self.ranks.pop(fact, None)

    def _save(self) -> None:
        if self._saved is None:
            counts = {fact: Counter(found) for fact, found in self.counts.items()}
            self._saved = counts, dict(self.ranks), set(self.counted)


def _plain(rule: LoweredRule) -> Rule:
    return Rule(rule.head, rule.body, rule.key)
