"""Join plans in words: what drives a rule, what is joined in which order, through which index.

What      : `describe` prints, for every stage, its rules with one line per driver: the literals in the order of
            evaluation, each with the columns by which it is looked up; then the indexes that all plans share.
Idea      : the plans are those of planner.py, made without data; with data other orders may be chosen.
Invariant : every literal of a rule appears once per line, the driving one first (a negated one is then tested, too).
Never     : no plan is made differently here than for execution.

    1. path (recursive)
       path(x, z) :- edge(x, y), path(y, z).
         edge changes    edge(x, y) > path(y, z) by 1
         path changes    path(y, z) > edge(x, y) by 2
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidelog.language.printer import print_literal
from tidelog.language.terms import Atom, Negation
from tidelog.planning.join_order import Estimates, NoEstimates
from tidelog.planning.lowered import LoweredRule, Stage
from tidelog.planning.plan import Absent, Driver, Join, Plan, Step, key_columns
from tidelog.planning.planner import plan_all, plan_head, plan_literal
from tidelog.visible import visible


def describe(stages: Sequence[Stage], estimates: Estimates | None = None) -> str:
    """The plans of all stages that users know of, for people."""
    lines: list[str] = []
    plans: list[Plan] = []
    for number, stage in enumerate((stage for stage in stages if not stage.finds_undefined), start=1):
        lines.append(f"{number}. {stage.name}{' (recursive)' if stage.is_recursive else ''}")
        lines += [f"   {group.relation} = {group.function} of {group.body_relation}" for group in stage.groups]
        for rule in stage.rules:
            found = list(plans_of(rule, estimates or NoEstimates()))
            lines.append(f"   {_written(rule)}")
            width = max(len(_driver(plan)) for plan in found)
            lines += [f"     {_driver(plan).ljust(width)}  {' > '.join(_steps(plan))}" for plan in found]
            plans += found
    needed = indexes(plans)
    if needed:
        lines.append("indexes")
        lines += [f"   {relation} by {_columns(columns)}" for relation, columns in sorted(needed)]
    return "\n".join(map(visible, lines))


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


def _written(rule: LoweredRule) -> str:
    body = ", ".join(print_literal(literal) for literal in rule.body)
    return f"{print_literal(rule.head)} :- {body}." if body else f"{print_literal(rule.head)}."


def _driver(plan: Plan) -> str:
    if plan.driver is Driver.NOTHING:
        return "all instances"
    if plan.driver is Driver.HEAD:
        return f"supports of {plan.relation}"
    return f"{plan.relation} changes"


def _steps(plan: Plan) -> Iterator[str]:
    if plan.driver is Driver.HEAD:
        yield print_literal(plan.rule.head)
    elif plan.literal is not None:
        yield print_literal(plan.rule.body[plan.literal])
    for step in plan.steps:
        yield _step(step, plan.rule)


def _step(step: Step, rule: LoweredRule) -> str:
    if not isinstance(step, Join | Absent):
        return "compare the head" if step.literal is None else print_literal(rule.body[step.literal])
    text = print_literal(rule.body[step.literal])
    columns = key_columns(step.columns)
    if len(columns) == len(step.columns):
        return f"{text} whole"
    return f"{text} by {_columns(columns)}" if columns else f"{text} scan"


def _columns(columns: Iterable[int]) -> str:
    """Columns as people count them, from 1."""
    return ", ".join(str(column + 1) for column in columns)
