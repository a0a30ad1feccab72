"""Plans and executables of a stage, made when they are first needed.

What      : which rules a fact can drive, and the executable for each rule, driver and matching.
Idea      : planning costs more than a small update, so its results are kept with the stage until the sizes of the
            relations have changed so much that other join orders may be better.
Invariant : executables are keyed by identity of rule and matching, which are kept alive here.
Never     : no facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.joins.bundle import Bundle
from tidelog.backends.local.joins.executable import Executable
from tidelog.backends.local.joins.fused import Fused, is_fusable, plain
from tidelog.backends.local.joins.sweep import MOST_RELATIONS, Relay
from tidelog.backends.local.relations.facts import distinct
from tidelog.backends.local.relations.relation import Relation
from tidelog.language.terms import Atom, Negation
from tidelog.planning.join_order import Estimates
from tidelog.planning.lowered import LoweredRule, Stage
from tidelog.planning.plan import Driver, Plan
from tidelog.planning.planner import other_leading, plan_all, plan_head, plan_literal
from tidelog.planning.views import Matching

_SAMPLE = 256
_REPLAN_FACTOR = 8
_MOST_STEPS = 1 << 18
"""How many steps of plans are kept: a body of n literals has n plans of n steps, which is too many if n is large."""
_MOST_ASKED = 64


class Sizes:
    """Estimates for the planner, from the stored relations."""

    def __init__(self, relations: dict[str, Relation]) -> None:
        self._relations = relations

    def size(self, relation: str) -> int:
        """The number of stored rows; an empty relation may be about to fill, so it counts as an average one."""
        found = self._relations.get(relation)
        if found is not None and found.count:
            return found.count
        counts = [other.count for other in islice(self._relations.values(), _MOST_ASKED) if other.count]
        return sum(counts) // len(counts) if counts else 1000

    def distinct(self, relation: str, column: int) -> int:
        """The number of keys of an index on the column, else an estimate from a sample."""
        found = self._relations.get(relation)
        if found is None or not found.count or column >= found.arity:
            return 0
        known = found.distinct(column)
        if known:
            return known
        step = max(found.count // _SAMPLE, 1)
        sample = found.rows[: found.count : step, column]
        seen = len(distinct(sample))
        return seen if seen * 2 < len(sample) else max(found.count * seen // len(sample), 1)


@dataclass(frozen=True, slots=True)
class Crew:
    """The executables that facts of one relation drive, the simple ones in a bundle."""

    bundle: Bundle | None
    others: list[Executable]
    everyone: list[Executable]


class Preparation:
    """Everything prepared for one stage."""

    def __init__(
        self,
        stage: Stage,
        relations: dict[str, Relation],
        relation_of: Callable[[str, int], Relation],
        dictionary: Dictionary,
        sizes: Estimates | None = None,
    ) -> None:
        self.stage = stage
        self._relations = relations
        self._sizes = sizes or Sizes(relations)
        self._relation_of = relation_of
        self._dictionary = dictionary
        self._planned_at: dict[str, int] = {}
        self._plans: dict[tuple[int, Driver, int | None], Plan] = {}
        self._executables: dict[tuple[int, int, int], Executable] = {}
        self._crews: dict[tuple[str, Driver, int], Crew] = {}
        self._rivals: dict[tuple[str, Matching], Crew | None] = {}
        self._mixed: dict[tuple[str, Matching, tuple[bool, ...]], Crew] = {}
        self._relays: dict[tuple[frozenset[str], int], Relay | None] = {}
        self._alive: list[object] = []
        self._steps = 0
        self.driven: dict[str, list[tuple[LoweredRule, int]]] = {}
        self.blocked: dict[str, list[tuple[LoweredRule, int]]] = {}
        self.heads: dict[str, list[LoweredRule]] = {}
        for rule in stage.rules:
            self.heads.setdefault(rule.head.relation, []).append(rule)
            for position, literal in enumerate(rule.body):
                match literal:
                    case Atom(relation):
                        self.driven.setdefault(relation, []).append((rule, position))
                    case Negation(Atom(relation)):
                        self.blocked.setdefault(relation, []).append((rule, position))

    def executable(self, rule: LoweredRule, driver: Driver, literal: int | None, matching: Matching) -> Executable:
        """The executable of a rule for a driver and views."""
        place = literal if literal is not None else -1 if driver is Driver.NOTHING else -2
        key = (id(rule), place, id(matching))
        found = self._executables.get(key)
        if found is None:
            if self._steps > _MOST_STEPS:
                self._forget()
            plan = self._plan(rule, driver, literal)
            self._steps += len(plan.steps)
            found = self._made(plan, matching)
            self._executables[key] = found
            self._alive.extend((rule, matching))
        return found

    def from_nothing(self, rules: Iterable[LoweredRule], matching: Matching) -> list[Executable]:
        """The executables of rules as wholes, of those that can have instances.

        A rule with a positive atom of a relation without rows needs no plan. Its relations are known from now on.
        """
        useful = [rule for rule in rules if 0 not in [relation.count for relation in self._read(rule)]]
        return [self.executable(rule, Driver.NOTHING, None, matching) for rule in useful]

    def _read(self, rule: LoweredRule) -> Iterator[Relation]:
        for literal in rule.body:
            match literal:
                case Atom(relation, terms):
                    yield self._relation_of(relation, len(terms))
                case Negation(Atom(relation, terms)):
                    self._relation_of(relation, len(terms))

    def crew(self, relation: str, driver: Driver, matching: Matching) -> Crew:
        """Everything that facts of a relation drive: as positive literals of bodies, or as heads."""
        key = (relation, driver, id(matching))
        found = self._crews.get(key)
        if found is None:
            if driver is Driver.HEAD:
                everyone = [self.executable(rule, driver, None, matching) for rule in self.heads.get(relation, ())]
            else:
                places = self.driven.get(relation, ())
                everyone = [self.executable(rule, driver, literal, matching) for rule, literal in places]
            found = self._crews[key] = self._crew(everyone, matching)
            self._alive.append(matching)
        return found

    def relay(self, relations: Iterable[str], matching: Matching) -> Relay | None:
        """Everything that facts of some relations drive, directly or by heads of the stage that they derive.

        None if that cannot be one kernel call (sweep.py).
        """
        key = (frozenset(relations), id(matching))
        if key not in self._relays:
            self._relays[key] = self._relay(key[0], matching)
            self._alive.append(matching)
        found = self._relays[key]
        if found is not None:
            for one in found.relations:
                if not one.count:
                    return None
        return found

    def _relay(self, relations: Iterable[str], matching: Matching) -> Relay | None:
        names = sorted(relations)
        everyone, scanned = list[Executable](), set[str]()
        for name in names:  # which become more
            crew = self.crew(name, Driver.LITERAL, matching)
            if crew.others:
                return None
            if crew.bundle is not None:
                everyone += crew.everyone
                scanned |= crew.bundle.scans
                heads = (one.plan.rule.head for one in crew.everyone)
                names += sorted(
                    {self._relation_of(one.relation, len(one.terms)).name for one in heads}.difference(names)
                )
            if len(names) > MOST_RELATIONS or not scanned.isdisjoint(names):
                return None
        if len(names) == 1:
            bundle = self.crew(names[0], Driver.LITERAL, matching).bundle
        else:  # an executable is in one bundle only
            bundle = self._crew([self._made(one.plan, matching) for one in everyone], matching).bundle
        if bundle is None:
            return None
        return Relay([self._relations[name] for name in names], bundle)

    def whole(self, matching: Matching) -> Crew:
        """The executables of all rules that start from nothing."""
        key = ("", Driver.NOTHING, id(matching))
        found = self._crews.get(key)
        if found is None:
            everyone = [self.executable(rule, Driver.NOTHING, None, matching) for rule in self.stage.rules]
            simple = [one for one in everyone if one.is_simple]  # room for new constants follows the driving facts
            others = [one for one in everyone if not one.is_simple]
            found = self._crews[key] = Crew(Bundle([*simple]) if simple else None, others, everyone)
            self._alive.append(matching)
        return found

    def rivals(self, relation: str, matching: Matching) -> Crew | None:
        """As the crew of heads, but with other orders of joins; None if no rule has another order."""
        key = (relation, matching)
        if key not in self._rivals:
            usual = [one.plan for one in self._simple(relation, matching)]
            others = [self._other_order(plan) for plan in usual]
            is_new = any(other is not plan for other, plan in zip(others, usual))
            self._rivals[key] = (
                self._crew([self._made(plan, matching) for plan in others], matching) if is_new else None
            )
        return self._rivals[key]

    def mixed(self, relation: str, matching: Matching, are_rivals: tuple[bool, ...]) -> Crew:
        """The crew of heads with some executables replaced by their rivals."""
        key = (relation, matching, are_rivals)
        found = self._mixed.get(key)
        if found is None:
            usual, rivals = self.crew(relation, Driver.HEAD, matching), self.rivals(relation, matching)
            assert usual.bundle is not None
            assert rivals is not None
            assert rivals.bundle is not None
            pairs = zip(usual.bundle.executables, rivals.bundle.executables, are_rivals)
            plans = [rival.plan if is_rival else own.plan for own, rival, is_rival in pairs]
            found = self._crew([*(self._made(plan, matching) for plan in plans), *usual.others], matching)
            self._mixed[key] = found
        return found

    def _simple(self, relation: str, matching: Matching) -> Sequence[Executable]:
        bundle = self.crew(relation, Driver.HEAD, matching).bundle
        return bundle.executables if bundle is not None else ()

    def _other_order(self, plan: Plan) -> Plan:
        leading = other_leading(plan)
        return plan if leading is None else plan_head(plan.rule, self._sizes, leading)

    def _crew(self, everyone: list[Executable], matching: Matching) -> Crew:
        """The crew of some executables; those with arithmetic that the machine can do are in the bundle, too."""
        bundled: list[Executable] = []
        for one in everyone:
            if one.is_simple:
                bundled.append(one)
            elif is_fusable(one.plan):
                bundled.append(Fused(one, matching, self._relation_of, self._dictionary))
        known = set(map(plain, bundled))
        return Crew(Bundle(bundled) if bundled else None, [one for one in everyone if one not in known], everyone)

    def _made(self, plan: Plan, matching: Matching) -> Executable:
        return Executable(plan, matching, self.stage.relations, self._relation_of, self._dictionary)

    def forget_if_outgrown(self) -> None:
        """Plan anew when a relation has become eight times larger or smaller since it was planned for."""
        for name, size in self._planned_at.items():
            relation = self._relations.get(name)
            count = relation.count if relation is not None else 0
            if count > _REPLAN_FACTOR * size + 64 or size > _REPLAN_FACTOR * count + 64:
                self._forget()
                return

    def _forget(self) -> None:
        for kept in (self._plans, self._executables, self._planned_at):
            kept.clear()
        for made in (self._crews, self._rivals, self._mixed, self._relays):
            made.clear()
        self._alive.clear()
        self._steps = 0

    def _plan(self, rule: LoweredRule, driver: Driver, literal: int | None) -> Plan:
        key = (id(rule), driver, literal)
        found = self._plans.get(key)
        if found is None:
            self._note_sizes(rule)
            if driver is Driver.HEAD:
                found = plan_head(rule, self._sizes)
            elif literal is None:
                found = plan_all(rule, self._sizes)
            else:
                found = plan_literal(rule, literal, self._sizes)
            self._plans[key] = found
            self._alive.append(rule)
        return found

    def _note_sizes(self, rule: LoweredRule) -> None:
        for literal in rule.body:
            if isinstance(literal, Atom):
                relation = self._relations.get(literal.relation)
                self._planned_at.setdefault(literal.relation, relation.count if relation is not None else 0)


NO_DRIVER = np.zeros((1, 1), np.int32)
"""The one driving row of a plan that starts from nothing."""
