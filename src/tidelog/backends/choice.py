"""Which backend, by name or by what fits; and the move from this process to Spark.

What      : makes backends, importing each when it is first used. `auto` begins in this process and moves once; a
            pipeline, which knows the size of its sources before it loads them, asks `fitting_backend` instead.
Idea      : the compiled store is faster by far as long as everything fits, so the only question is whether facts and
            what follows from them take more than half of the machine's memory.
Invariant : a move happens between two updates and changes no fact and no version. A name that the user gave is never
            overruled.
Never     : back: what does not fit once is likely not to fit again.
"""

from __future__ import annotations

import os
from typing import Any

from tidelog.backends.backend import Backend
from tidelog.errors import PipelineError, UsageError, expect
from tidelog.maintenance.schedule import Schedule
from tidelog.observe.logs import log
from tidelog.state.stored_facts import TablePart

BACKENDS = ("local", "spark", "auto")
SPARK_PACKAGES = ("pyspark", "py4j", "pandas")
"""What the extra `spark` brings."""
SHARE_OF_MEMORY = 0.5
"""The share of this machine's memory that facts may take."""
BYTES_PER_VALUE = 40
"""About what one value of an explicit fact costs: its id, its share of the indexes and of the dictionary."""
GROWTH = 6
"""How many times the explicit facts the materialisation is assumed to be."""


def backend_named(
    name: str,
    spark: Any,  # noqa: ANN401 - a SparkSession, whose type is not imported
    threads: int | None = None,
) -> Backend[Any]:
    """The backend of that name; `auto` begins as `local`. Large work in this process uses that number of threads."""
    _check_threads(threads)
    if name in ("local", "auto"):
        from tidelog.backends.local.backend import LocalBackend
        from tidelog.backends.local.kept_memory import keep_freed_memory
        from tidelog.backends.local.kernels.workers import Workers, every_core
        from tidelog.backends.local.store import LocalStore

        keep_freed_memory()
        return LocalBackend(LocalStore(workers=Workers(threads or every_core())))
    if name == "spark":
        try:
            from tidelog.backends.spark.backend import SparkBackend
        except ModuleNotFoundError as error:
            raise without_spark(error) from error

        return SparkBackend(spark)
    raise UsageError.of("E811", f"there is no backend {name!r}", remedy=f"use one of: {', '.join(BACKENDS)}")


def _check_threads(threads: int | None) -> None:
    """Refuse what is no number of threads."""
    if threads is None:
        return
    expect(threads, int, "the number of threads", "a whole number")
    if threads < 1:
        raise UsageError.of(
            "E842", f"{threads} threads cannot do any work", remedy="give a number from 1 on, or None for all cores"
        )


def without_spark(error: ModuleNotFoundError) -> Exception:
    """What to say when a package of the extra `spark` is not there; any other missing module is the error itself."""
    if (error.name or "").partition(".")[0] not in SPARK_PACKAGES:
        return error
    return PipelineError.of("E708", f"{error.name} is not installed", remedy="pip install 'tidelog[spark]'")


def fitting_backend(asked: str, values: int, memory: int | None = None) -> tuple[str, str]:
    """The backend for facts with this number of values in all, before they are loaded, and the reason in words."""
    if asked != "auto":
        return asked, "chosen in the pipeline file"
    need, allowed = values * BYTES_PER_VALUE * GROWTH, _allowed(memory)
    sentence = f"{values:,} values, with what follows about {_size(need)} of {_size(allowed)} allowed"
    if need <= allowed:
        return "local", f"{sentence}: fits the driver"
    return "spark", f"{sentence}: does not fit the driver"


def has_outgrown(backend: Backend[Any]) -> bool:
    """Whether the facts of a local backend no longer fit comfortably."""
    return backend.name == "local" and backend.nbytes() > _allowed()


def backend_from_now_on(
    backend: Backend[Any],
    schedule: Schedule,
    spark: Any,  # noqa: ANN401 - as above
    *,
    may_move: bool,
) -> Backend[Any]:
    """The backend after a commit: as a rule the same; on Spark if it has outgrown this process and may move.

    One whose constants are mostly in no fact any more is made anew from its facts. Ids of constants are in changes,
    journals and snapshots that people hold; these keep the old dictionary, as long as they need it.
    """
    if may_move and has_outgrown(backend):
        return moved(backend, backend_named("spark", spark), schedule)
    empty = backend.successor()
    if empty is None:
        return backend
    try:
        return moved(backend, empty, schedule)
    except Exception as error:  # the version is decided, and the old backend is complete
        log(__name__).warning("constants that are in no fact stay for now: %s", error)
        return backend


def moved(backend: Backend[Any], other: Backend[Any], schedule: Schedule) -> Backend[Any]:
    """An empty backend with the committed facts of another one; relations go over one by one."""
    for relation in backend.relations():
        other.restore(relation, backend.arity(relation) or 0, [TablePart(*backend.snapshot(relation))])
        other.commit()
    other.use(schedule)
    return other


def _allowed(memory: int | None = None) -> int:
    """The bytes that facts may take, of this machine's memory or of the given one."""
    return int((memory or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) * SHARE_OF_MEMORY)


def _size(count: int) -> str:
    """Bytes for people."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
