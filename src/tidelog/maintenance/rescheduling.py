"""The stages after a small change of rules.

What      : `turned` gives the schedule of the next rule book from that of the present one.
Idea      : a rule belongs to the stage of its head. If it reads nothing from later stages, it changes that stage alone.
            A rule for a new relation that no rule reads yet makes a new stage at the end. Other changes may merge
            stages, split them or put them in another order; then the answer is None, and all rules are lowered again.
            So it is for aggregates, which share relations across rules, and for arithmetic, which has companions
            (planning/undefined.py).
Source    : de Lima et al. 2024, section 4.2: a change of rules is followed incrementally, as a change of facts is.
Departures: the paper has no stages, and so nothing to put in order.
Invariant : the stages are those that lowering all rules would give, each after the stages that it reads; a stage that
            does not change is the same object.
Cost      : grows with the stages that change; of the others only references are copied, unless a stage goes.
Never     : no facts, and no lowering of a whole program (planning/lowering.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.analysis.components import components, relations_read
from tidelog.analysis.computed import is_partial
from tidelog.language.terms import Aggregate, Atom, Call, Comparison, Negation, Rule
from tidelog.maintenance.schedule import Schedule
from tidelog.planning.lowered import LoweredRule, Stage
from tidelog.planning.lowering import lowered_rules


def turned(
    schedule: Schedule, added: Sequence[Rule], removed: Sequence[Rule], after: Iterable[Rule]
) -> Schedule | None:
    """The schedule after some rules have come and gone; None if all rules, then `after`, have to be lowered anew."""
    if any(map(_has_companions, (*added, *removed))):
        return None
    new = [rule for rule in added if rule.head.relation not in schedule.place]
    old = [rule for rule in added if rule.head.relation in schedule.place]
    if any(schedule.readers.get(rule.head.relation) for rule in new) or not _stay_in_order(schedule, old, new):
        return None
    replaced = _replaced(schedule, old, removed, after)
    if replaced is None:
        return None
    appended = [_stage(one.relations, lowered_rules(one.rules)) for one in components(new)]
    if all(stage.rules for stage in replaced.values()):
        return schedule.with_stages(replaced, appended)
    stages = [replaced.get(number, scheduled.stage) for number, scheduled in enumerate(schedule.stages)]
    return Schedule((*(stage for stage in stages if stage.rules or stage.groups), *appended), schedule)


def _has_companions(rule: Rule) -> bool:
    """Whether rules of ours stand beside a rule: for its aggregates, or for its instances without a value."""
    for literal in (rule.head, *rule.body):
        match literal:
            case Atom(terms=terms) | Negation(atom=Atom(terms=terms)):
                if Call in map(type, terms):
                    return True
            case Comparison(op=op, left=left, right=right):
                if is_partial(op, left, right):
                    return True
            case Aggregate():
                return True
    return False


def _replaced(
    schedule: Schedule, added: Iterable[Rule], removed: Sequence[Rule], after: Iterable[Rule]
) -> dict[int, Stage] | None:
    """The stages that rules come to and go from, by number; None if one of them may fall apart."""
    losing = {rule.head.relation for rule in removed}
    staying: dict[Rule, int] = {}
    for rule in after if losing else ():
        if rule.head.relation in losing:
            staying.setdefault(rule, len(staying))
    come: dict[int, list[Rule]] = {schedule.place[relation]: [] for relation in losing}
    for rule in added:
        come.setdefault(schedule.place[rule.head.relation], []).append(rule)
    found = {}
    for number, rules in come.items():
        stage = schedule.stages[number].stage
        if stage.groups:
            return None
        if len(stage.relations) > 1 and not losing.isdisjoint(stage.relations):
            return None
        kept = [rule for rule in stage.rules if rule.head.relation not in losing or rule.source in staying]
        both = dict.fromkeys([*kept, *lowered_rules(rules)])
        found[number] = _stage(stage.relations, sorted(both, key=lambda rule: staying.get(rule.source, 0)))
    return found


def _stay_in_order(schedule: Schedule, old: Iterable[Rule], new: Iterable[Rule]) -> bool:
    """Whether rules for derived relations read nothing that is derived later."""
    fresh = {rule.head.relation for rule in new}
    return all(
        read not in fresh and schedule.place.get(read, -1) <= schedule.place[rule.head.relation]
        for rule in old
        for read in relations_read(rule)
    )


def _stage(relations: frozenset[str], rules: Iterable[LoweredRule]) -> Stage:
    """The stage of relations that belong together, with their rules in the order of the program."""
    ordered = tuple(sorted(rules, key=lambda rule: rule.head.relation))
    is_recursive = len(relations) > 1 or any(not relations.isdisjoint(rule.reads) for rule in ordered)
    return Stage(relations, ordered, (), is_recursive)
