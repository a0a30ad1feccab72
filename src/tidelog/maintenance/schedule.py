"""What can be said about the stages of a program before any update.

What      : a `Schedule` numbers the stages in the order of maintenance and knows which stages read a relation; a
            `Scheduled` stage knows the relations it reads and its rules by how they recur.
Idea      : a stage is visited only if a relation that it reads changed, so an update costs nothing elsewhere.
Invariant : made once per program; the same `Stage` objects are handed to the store every time, so it may keep plans.
Never     : no facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import filterfalse

from tidelog.language.terms import Atom, Negation, Rule
from tidelog.planning.exchanges import Exchange, exchanges
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage, is_hidden
from tidelog.planning.rewrites import wired
from tidelog.planning.value_steps import ValueSteps, value_steps


@dataclass(frozen=True, eq=False)
class Scheduled:
    """A stage and what strategies ask about it.

    `grounded` holds its rules that read no relation of the stage; `recurring` the others, least recursive first.
    """

    stage: Stage
    positive: frozenset[str]
    negated: frozenset[str]
    grounded: Stage
    recurring: Stage

    @staticmethod
    def of(stage: Stage) -> Scheduled:
        """The scheduled form of a stage."""
        own = {rule: _own_atoms(rule, stage) for rule in stage.rules}
        grounded = tuple(rule for rule in stage.rules if not own[rule])
        recurring = sorted((rule for rule in stage.rules if own[rule]), key=own.__getitem__)
        return Scheduled(
            stage,
            (_positive(stage.rules) | {group.body_relation for group in stage.groups}) - stage.relations,
            _negated(stage.rules),
            Stage(stage.relations, grounded, stage.groups, stage.is_recursive),
            Stage(stage.relations, tuple(recurring), stage.groups, stage.is_recursive),
        )

    @cached_property
    def begins_with(self) -> tuple[frozenset[str], ...]:
        """For each rule that reads relations below the stage only, the relations of its positive atoms.

        A plan of the rule begins with an atom of one of them.
        """
        return tuple(frozenset(found) for rule in self.grounded.rules if (found := _positive([rule])))

    @cached_property
    def linked(self) -> Scheduled:
        """The stage with a rule from members to best values in the place of each group rule (maintenance/optima.py)."""
        return Scheduled.of(self.stage.linked)

    @cached_property
    def value_steps(self) -> ValueSteps | None:
        """How one best value of the stage gives others, if its rules have that shape."""
        return value_steps(self.stage)

    @cached_property
    def literals(self) -> int:
        """How many body literals of the stage are matched with facts."""
        bodies = (literal for rule in self.stage.rules for literal in rule.body)
        return sum(isinstance(literal, Atom | Negation) for literal in bodies)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of the stage's rules."""
        return frozenset(rule.key for rule in self.stage.rules)

    @cached_property
    def wired(self) -> Scheduled:
        """The stage as a circuit works on it (planning/rewrites.py); itself if its bodies have no prefixes."""
        stage = wired(self.stage)
        return self if stage is self.stage else Scheduled.of(stage)

    @cached_property
    def exchanges(self) -> Mapping[str, Exchange]:
        """The relations of which a change exchanges facts of the stage, one for one."""
        return exchanges(self.stage)

    @property
    def forms(self) -> tuple[Stage, ...]:
        """The stages for which a store may keep plans: the stage, parts of it, and the wired one if it was needed."""
        made = self.__dict__.get("wired", self)
        return (self.stage, self.grounded, self.recurring, *(() if made is self else (made.stage,)))

    @cached_property
    def reads(self) -> frozenset[str]:
        """The relations below that the stage reads."""
        return self.positive | self.negated


class Schedule:
    """The stages of one program, in the order of maintenance; those shared with `previous` stay the same objects."""

    def __init__(self, stages: Iterable[Stage], previous: Schedule | None = None) -> None:
        known = {id(scheduled.stage): scheduled for scheduled in previous.stages} if previous else {}
        self.stages: tuple[Scheduled, ...] = tuple(known.get(id(stage)) or Scheduled.of(stage) for stage in stages)
        self.place: dict[str, int] = {
            relation: number for number, scheduled in enumerate(self.stages) for relation in scheduled.stage.relations
        }
        self.readers: defaultdict[str, list[int]] = defaultdict(list)
        for number, scheduled in enumerate(self.stages):
            for relation in scheduled.reads:
                self.readers[relation].append(number)

    def with_stages(self, replaced: Mapping[int, Stage], appended: Iterable[Stage]) -> Schedule:
        """The schedule with other stages at some numbers and more at the end, none of which has group rules.

        No stage moves, so that of all others only the references are copied.
        """
        after = Schedule(())
        after.groups = self.groups
        stages, after.place, after.readers = list(self.stages), self.place.copy(), self.readers.copy()
        for number, stage in (*replaced.items(), *enumerate(appended, start=len(stages))):
            scheduled = Scheduled.of(stage)
            before = stages[number].reads if number < len(stages) else frozenset()
            stages[number : number + 1] = [scheduled]
            after.place.update(dict.fromkeys(stage.relations, number))
            for relation in before ^ scheduled.reads:
                after.readers[relation] = sorted({number}.symmetric_difference(after.readers[relation]))
        after.stages = tuple(stages)
        return after

    def reach(self, relations: Iterable[str]) -> tuple[set[str], set[str]]:
        """What a change of explicit facts of the relations may change, and what has to be read to find out."""
        changed, read = set(relations), set[str]()
        for one in self.stages:
            if not changed.isdisjoint(one.stage.relations | one.reads):
                changed |= one.stage.relations
                read |= one.reads
        return changed, read

    @cached_property
    def groups(self) -> dict[str, GroupRule]:
        """The group rules by their relation."""
        return {group.relation: group for scheduled in self.stages for group in scheduled.stage.groups}

    def name_of(self, relation: str) -> str:
        """A relation in the user's words; a hidden relation is named after the relation that it serves."""
        place = self.place.get(relation) if is_hidden(relation) else None
        return relation if place is None else self.stages[place].stage.name

    @cached_property
    def undefined(self) -> dict[str, frozenset[Rule]]:
        """The relations of instances without a value, each with the user's rules whose instances they are."""
        stages = (scheduled.stage for scheduled in self.stages if scheduled.stage.finds_undefined)
        rules = [rule for stage in stages for rule in stage.rules]
        names = dict.fromkeys(rule.head.relation for rule in rules)
        return {name: frozenset(rule.source for rule in rules if rule.head.relation == name) for name in names}

    @property
    def hidden(self) -> frozenset[str]:
        """The relations that are ours."""
        groups = self.groups.values()
        names = (name for group in groups for name in (group.relation, group.body_relation, group.lacking))
        return frozenset((*filter(is_hidden, names), *self.undefined))


@dataclass(frozen=True, eq=False)
class RuleChange:
    """The difference between two programs. Rules are the same if head and body are, even if their names differ."""

    added: Sequence[LoweredRule] = ()
    removed: Sequence[LoweredRule] = ()
    new_groups: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()

    @staticmethod
    def between(before: Schedule, after: Schedule) -> RuleChange:
        """What was added and removed; `dropped` are our own relations that are no longer needed."""
        if before is after:
            return RuleChange()
        old, new = _changed_stages(before, after), _changed_stages(after, before)
        waiting: defaultdict[object, list[LoweredRule]] = defaultdict(list)
        for rule in (rule for stage in old for rule in stage.rules):
            waiting[rule.head, rule.body].append(rule)
        added = []
        for rule in (rule for stage in new for rule in stage.rules):
            known = waiting[rule.head, rule.body]
            if known:
                known.pop()
            else:
                added.append(rule)
        dropped = before.hidden - after.hidden
        removed = [rule for rules in waiting.values() for rule in rules if rule.head.relation not in dropped]
        return RuleChange(added, removed, frozenset(after.groups.keys() - before.groups.keys()), dropped)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.new_groups or self.dropped)


def _changed_stages(one: Schedule, other: Schedule) -> list[Stage]:
    """The stages of one schedule that the other does not share."""
    return [scheduled.stage for scheduled in filterfalse(set(other.stages).__contains__, one.stages)]


def _own_atoms(rule: LoweredRule, stage: Stage) -> int:
    return sum(isinstance(literal, Atom) and literal.relation in stage.relations for literal in rule.body)


def _positive(rules: Sequence[LoweredRule]) -> frozenset[str]:
    return frozenset(literal.relation for rule in rules for literal in rule.body if isinstance(literal, Atom))


def _negated(rules: Sequence[LoweredRule]) -> frozenset[str]:
    return frozenset(literal.atom.relation for rule in rules for literal in rule.body if isinstance(literal, Negation))
