"""Join plans in words: what drives a rule, what is joined in which order, through which index.

What      : `describe` prints, for every stage, its rules with one line per driver: the literals in the order of
            evaluation, each with the columns by which it is looked up; then the indexes that all plans share.
Idea      : the plans are those of planner.py, made without data; with data other orders may be chosen.
Invariant : every literal of a rule appears once per line, the driving one first (a negated one is then tested, too).
            Hidden relations of aggregates have short names (short_names.py).
Never     : no plan is made differently here than for execution.

    1. path (recursive)
       path(x, z) :- edge(x, y), path(y, z).
         edge changes    edge(x, y) > path(y, z) by 1
         path changes    path(y, z) > edge(x, y) by 2
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidelog.language.printer import print_literal
from tidelog.language.terms import Atom, Literal, Negation
from tidelog.planning.join_order import Estimates, NoEstimates
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage
from tidelog.planning.plan import Absent, Driver, Join, Plan, Step, key_columns
from tidelog.planning.planner import plan_all, plan_head, plan_literal
from tidelog.planning.short_names import renamed, short_names
from tidelog.visible import visible


def describe(stages: Sequence[Stage], estimates: Estimates | None = None) -> str:
    """The plans of all stages that users know of, for people."""
    known = [stage for stage in stages if not stage.finds_undefined]
    told = _Telling(names_in(known))
    lines: list[str] = []
    plans: list[Plan] = []
    for number, stage in enumerate(known, start=1):
        lines.append(f"{number}. {stage.name}{' (recursive)' if stage.is_recursive else ''}")
        for group in stage.groups:
            lines += map("   {}".format, told.group(group))
        for rule in stage.rules:
            found = list(plans_of(rule, estimates or NoEstimates()))
            lines.append(f"   {told.rule(rule)}")
            width = max(len(told.driver(plan)) for plan in found)
            lines += [f"     {told.driver(plan).ljust(width)}  {' > '.join(told.steps(plan))}" for plan in found]
            plans += found
    needed = sorted((told.name(relation), columns) for relation, columns in indexes(plans))
    if needed:
        lines.append("indexes")
        lines += [f"   {name} by {_columns(columns)}" for name, columns in needed]
    return "\n".join(map(visible, lines))


def names_in(stages: Iterable[Stage]) -> dict[str, str]:
    """Short names for the hidden relations of stages."""
    relations: list[str] = []
    for stage in stages:
        for group in stage.groups:
            relations += (group.body_relation, group.relation)
        for rule in stage.rules:
            relations += (rule.head.relation, *sorted(rule.reads))
    return short_names(relations, relations)


def plans_of(rule: LoweredRule, estimates: Estimates) -> Iterator[Plan]:
    """Every plan of a rule: all instances, driven by each literal, driven by the head."""
    yield plan_all(rule, estimates)
    for position, literal in enumerate(rule.body):
        if isinstance(literal, Atom | Negation):
            yield plan_literal(rule, position, estimates)
    yield plan_head(rule, estimates)


def indexes(plans: Iterable[Plan]) -> set[tuple[str, tuple[int, ...]]]:
    """Relations and columns on which the plans need an index; a look-up by all columns needs no index."""
    found = set()
    for plan in plans:
        for step in plan.steps:
            if isinstance(step, Join | Absent):
                columns = key_columns(step.columns)
                if 0 < len(columns) < len(step.columns):
                    found.add((step.relation, columns))
    return found


class _Telling:
    """Rules, drivers and steps as text, with short names for hidden relations."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def name(self, relation: str) -> str:
        return self._names.get(relation, relation)

    def literal(self, literal: Literal) -> str:
        return print_literal(renamed(literal, self._names))

    def group(self, group: GroupRule) -> Iterator[str]:
        yield f"{self.name(group.relation)} = {group.function} of {self.name(group.body_relation)}"
        if group.lacking in self._names:
            yield f"{self.name(group.lacking)} = groups without a {group.function}"

    def rule(self, rule: LoweredRule) -> str:
        head, body = self.literal(rule.head), ", ".join(map(self.literal, rule.body))
        return f"{head} :- {body}." if body else f"{head}."

    def driver(self, plan: Plan) -> str:
        if plan.relation is None:
            return "all instances"
        if plan.driver is Driver.HEAD:
            return f"supports of {self.name(plan.relation)}"
        return f"{self.name(plan.relation)} changes"

    def steps(self, plan: Plan) -> Iterator[str]:
        if plan.driver is Driver.HEAD:
            yield self.literal(plan.rule.head)
        elif plan.literal is not None:
            yield self.literal(plan.rule.body[plan.literal])
        for step in plan.steps:
            yield self._step(step, plan.rule)

    def _step(self, step: Step, rule: LoweredRule) -> str:
        if not isinstance(step, Join | Absent):
            return "compare the head" if step.literal is None else self.literal(rule.body[step.literal])
        text = self.literal(rule.body[step.literal])
        columns = key_columns(step.columns)
        if len(columns) == len(step.columns):
            return f"{text} whole"
        return f"{text} by {_columns(columns)}" if columns else f"{text} scan"


def _columns(columns: Iterable[int]) -> str:
    """Columns as people count them, from 1."""
    return ", ".join(str(column + 1) for column in columns)
