"""The process that Spark forks Python workers from, with everything loaded that they will need.

What      : `main` stands in for Spark's own daemon in a session that we start on one machine (cluster/session.py).
Idea      : Spark's own daemon imports nothing, and every worker imports Arrow, NumPy, Numba and us, and loads kernels:
            two processor seconds each. Here that is done once, before the first fork; the memory is shared, too.
            What is loaded is never garbage: Spark collects after every task, and looked through all of it for 65 ms.
            PySpark lies in an archive for workers, without compiled modules, and Python reads the archive's directory
            again and again; the same files are beside it.
Invariant : nothing is written to the output, where Spark waits for a port; what cannot be loaded ahead is left to
            workers. No library that is loaded here minds being forked: NumPy's threads are turned off, Arrow's and
            Numba's are started by those who need them, and our own begin again in a child (kernels/interpreting.py).
Never     : no session and no facts; kernels are left to those who need them if none is on disk.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path


def main() -> None:
    """Load, then serve as Spark's daemon does."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path[:] = without_archives(sys.path)
    gc.disable()
    with suppress(Exception):  # a worker that needs it says what is wrong
        load()
    gc.freeze()
    gc.enable()
    from pyspark.daemon import manager

    manager()


def without_archives(path: list[str]) -> list[str]:
    """The module path without Spark's archives, if what they hold is installed where they come from."""
    rest = [entry for entry in path if not entry.endswith((".zip", ".jar"))]
    found = PathFinder.find_spec("pyspark", rest), PathFinder.find_spec("py4j", rest)
    homes = [Path(one.origin).parent for one in found if one is not None and one.origin is not None]
    if len(homes) < len(found):
        return path
    return [entry for entry in path if entry in rest or homes[0] not in Path(entry).parents]


def load() -> None:
    """Import what tasks use, and load kernels."""
    import pandas  # noqa: F401 - Spark's workers do
    import pyspark.worker  # noqa: F401

    from tidelog.backends.local.kernels.interpreting import compile_from_now_on, is_on_disk
    from tidelog.backends.spark.bulk import shard_tasks  # noqa: F401
    from tidelog.backends.spark.files import row_files, texts  # noqa: F401

    if is_on_disk():
        compile_from_now_on()
        _derive()


def _derive() -> None:
    """Number, sort and join a few facts, as tasks do."""
    import numpy as np
    import pyarrow as pa

    from tidelog.backends.spark.bulk.plan import Sizes, plan
    from tidelog.backends.spark.bulk.shard import Shard
    from tidelog.backends.spark.bulk.shard_rules import over_ids
    from tidelog.backends.spark.files.sorted_rows import sorted_facts
    from tidelog.backends.spark.values.ids import STANDARD
    from tidelog.backends.spark.values.numbered import STRING, numbered
    from tidelog.language.parser import parse
    from tidelog.planning.lowering import lower

    count = 5000  # fewer are sorted without kernels
    names = pa.table({"x": [f"a{at}" for at in range(count)], "y": [f"a{at + 1}" for at in range(count)]})
    columns, _ = numbered(names, (STRING, STRING), STANDARD)
    explicit = np.ones(count, np.bool_)
    sorted_facts([pa.table([*columns, explicit], names=["k0", "k1", "explicit"])], 2)
    (stage,) = lower(parse("p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z), f(z).").rules).stages
    rules = over_ids(stage)
    assert rules is not None
    planned = plan(stage, rules, Sizes({"e": count, "f": 1}, {}, count, 0))
    assert planned is not None
    shard = Shard(planned, 0, 1, constants=count)
    shard.know("f", columns[0][:1].reshape(-1, 1))
    shard.receive("e", np.stack(columns).T)
    shard.run()
    list(shard.derived("p", count))


if __name__ == "__main__":
    main()
