"""A plan as DataFrame joins.

What      : runs a join plan over DataFrames of ids and gives the heads of all its instances.
Idea      : the same plans as everywhere (planning/plan.py); slots are columns s0, s1, ...; steps join, filter, compute.
Invariant : every step reads the relation in the frame it is given; heads may repeat.
Never     : no job is started here; no marks.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.expressions import Texts, computed, is_plain, tested
from tidelog.backends.spark.values.ids import Naming
from tidelog.planning.plan import Absent, Bind, Column, Compute, Join, Known, Literally, Plan, Same, Slot, Step, Test

Source = Callable[[Join | Absent], DataFrame]
"""Where a step finds the facts of its relation."""


def heads(plan: Plan, driving: DataFrame, source: Source, texts: Texts) -> DataFrame:
    """The heads (columns c0, ...), and x0, ... with the texts of computed constants, null for the others.

    `driving` are the driving facts, or one row of anything for a plan without a driver.
    """
    frame = _matched(driving, plan.columns, texts.naming) if plan.columns else driving.select(F.lit(0).alias("one"))
    for step in plan.steps:
        frame = _stepped(frame, step, source, texts)
    number = {at: plan.slots + at for at in range(len(plan.head))}
    frame = computed(frame, {number[at]: expression for at, expression in enumerate(plan.head)}, texts)
    columns = [F.col(f"s{number[at]}").alias(f"c{at}") for at in number]
    known = [f"x{number[at]}" in frame.columns for at in number]
    nothing = F.lit(None).cast("string")
    extra = [(F.col(f"x{number[at]}") if known[at] else nothing).alias(f"x{at}") for at in number]
    return frame.select(*columns, *extra)


def computes(plan: Plan) -> bool:
    """Whether a plan makes constants."""
    steps = (step.expression for step in plan.steps if isinstance(step, Compute))
    return any(not is_plain(expression) for expression in (*steps, *plan.head))


def _stepped(frame: DataFrame, step: Step, source: Source, texts: Texts) -> DataFrame:
    match step:
        case Join():
            return _joined(frame, _matched(source(step), step.columns, texts.naming))
        case Absent():
            return _without(frame, _matched(source(step), step.columns, texts.naming))
        case Test():
            return tested(frame, step, texts)
        case Compute(slot, expression):
            return computed(frame, {slot.number: expression}, texts)


def _joined(frame: DataFrame, facts: DataFrame) -> DataFrame:
    shared = [name for name in facts.columns if name in frame.columns]
    return frame.join(facts, shared) if shared else frame.crossJoin(facts)


def _without(frame: DataFrame, facts: DataFrame) -> DataFrame:
    shared = [name for name in facts.columns if name in frame.columns]
    if shared:
        return frame.join(facts.select(*shared), shared, "left_anti")
    one = facts.limit(1).select(F.lit(0).alias("nobody"))
    return frame.withColumn("nobody", F.lit(0)).join(one, "nobody", "left_anti").drop("nobody")


def _matched(facts: DataFrame, columns: tuple[Column, ...], naming: Naming) -> DataFrame:
    """The facts of an atom as slots, known ones too: constants and repeated variables are tested, the rest dropped."""
    chosen: dict[str, SparkColumn] = {}
    for position, column in enumerate(columns):
        value = F.col(f"c{position}")
        match column:
            case Known(Literally(constant)):
                facts = facts.where(value == F.lit(ids.of_value(constant, naming)))
            case Known(Slot(number)) | Bind(Slot(number)) | Same(Slot(number)):
                name = f"s{number}"
                if name in chosen:
                    facts = facts.where(value == chosen[name])
                else:
                    chosen[name] = value

    if not chosen:
        return facts.limit(1).select(F.lit(0).alias("any"))
    return facts.select(*(value.alias(name) for name, value in chosen.items()))


def needs_values(plan: Plan) -> bool:
    """Whether a plan looks behind ids."""
    tests = (step for step in plan.steps if isinstance(step, Test))
    return computes(plan) or any(
        test.op not in ("=", "!=") or not is_plain(test.left) or not is_plain(test.right) for test in tests
    )
