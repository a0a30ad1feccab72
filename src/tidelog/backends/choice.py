"""Which backend, by name; and the move from this process to Spark.

What      : makes backends, importing each when it is first used; `auto` begins in this process and moves once.
Idea      : the compiled store is faster by far as long as everything fits; when facts take half of the machine's
            memory, a committed version is handed over to Spark, and work goes on there.
Invariant : a move happens between two updates and changes no fact and no version.
Never     : back: what does not fit once is likely not to fit again.
"""

from __future__ import annotations

import os
from typing import Any

from tidelog.backends.backend import Backend
from tidelog.errors import UsageError
from tidelog.maintenance.schedule import Schedule

BACKENDS = ("local", "spark", "auto")
SHARE_OF_MEMORY = 0.5
"""The share of this machine's memory that facts may take before `auto` moves."""


def backend_named(name: str, spark: Any) -> Backend[Any]:  # noqa: ANN401 - a SparkSession, whose type is not imported
    """The backend of that name; `auto` begins as `local`."""
    if name in ("local", "auto"):
        from tidelog.backends.local.backend import LocalBackend

        return LocalBackend()
    if name == "spark":
        from tidelog.backends.spark.backend import SparkBackend

        return SparkBackend(spark)
    raise UsageError.of("E811", f"there is no backend {name!r}", remedy=f"use one of: {', '.join(BACKENDS)}")


def has_outgrown(backend: Backend[Any]) -> bool:
    """Whether the facts of a local backend no longer fit comfortably."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return backend.name == "local" and backend.nbytes() > SHARE_OF_MEMORY * memory


def moved_to_spark(backend: Backend[Any], schedule: Schedule, spark: Any) -> Backend[Any]:  # noqa: ANN401
    """A Spark backend with the committed facts of another one; relations go over one by one."""
    larger = backend_named("spark", spark)
    for relation in backend.relations():
        facts, explicit = backend.snapshot(relation)
        larger.restore(relation, facts, explicit, backend.arity(relation) or 0)
        larger.commit()
    larger.use(schedule)
    return larger
