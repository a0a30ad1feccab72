"""A version on Spark against its recomputation.

What      : `compared` derives everything from the explicit facts of a store that is too large for the driver, in a
            second store, and gives the facts in which the two differ.
Idea      : a working frame marks facts as OLD and NOW. With the committed facts as OLD and the derived ones as NOW,
            what is missing was inserted and what is too much was deleted.
Invariant : the store is not changed. Both use the same constants, so equal facts have equal ids.
Never     : no decision about which facts are right.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.large.cold import ColdRelation
from tidelog.backends.spark.large.working import Working
from tidelog.backends.spark.store import Facts, SparkStore
from tidelog.changes.change import FactTable
from tidelog.maintenance.recompute import Recompute
from tidelog.maintenance.schedule import Schedule
from tidelog.maintenance.transaction import maintain
from tidelog.planning.views import DELETED, INSERTED


def compared(
    jobs: Jobs, store: SparkStore, schedule: Schedule, kept: Callable[[int, DataFrame], FactTable]
) -> dict[str, tuple[FactTable, FactTable]]:
    """By relation the facts that are missing and those that are too many; `kept` makes tables of them."""
    fresh = SparkStore(jobs, store.capacity, store.constants)
    insert: dict[str, Facts] = {
        name: fresh.include(name, cold.arity, cold.frame(jobs).where("explicit"))
        for name, cold in store.committed.relations.items()
        if cold.size
    }
    maintain(fresh, schedule, Recompute(), delete={}, insert=insert, previous=Schedule(()))
    found = {}
    for name in dict.fromkeys((*fresh.large.working, *fresh.near.relations, *store.committed.relations)):
        cold = store.committed.relations.get(name)
        arity = cold.arity if cold is not None else fresh.large.enlarged(name, fresh.arity(name) or 0).arity
        both = Working(jobs, cold or ColdRelation(name, arity), None)
        both.renew(fresh.large.now(name, arity))
        missing, extra = (kept(arity, both.facts(view)) for view in (INSERTED, DELETED))
        both.release()
        if len(missing) or len(extra):
            found[name] = missing, extra
    fresh.forget()
    return found
