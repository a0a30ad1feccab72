"""A stream of batches with a stored engine, small enough to be killed many times.

What      : `batches(seed)` draws updates of facts and rules; `follow` applies them one by one and says so after each.
            `python -m tests.faults.stream DIRECTORY SEED` does it in a process of its own, which a failpoint may end;
            with `spark` behind it, on a Spark of its own, where every relation is in files.
Idea      : files are merged after one save or three, bases written after thirty or sixty rows, and old versions
            forgotten, so that every place is reached soon.
Invariant : the same seed gives the same batches; batch n is the same update however often it comes.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.state.streams import Sight, sight
from tidelog import Engine
from tidelog.changes.update import Update
from tidelog.state import log

PROGRAM = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
reached(x, n) :- edge(x, _), n = count : { path(x, _) }.
"""
EXTRA = "extra: loop(x) :- path(x, x)."
BATCHES, BATCHES_ON_SPARK, NODES = 16, 8, 6
FORGOTTEN = 4
"""After so many saves all but the last so many versions are forgotten."""


def batches(seed: int) -> list[Update]:
    """The updates of a seed; a rule comes and goes in the middle."""
    draw = random.Random(seed)

    def edges(count: int) -> dict[str, list[tuple[object, ...]]]:
        pairs = ((draw.choice((draw.randrange(NODES), "a", 1.0, True)), draw.randrange(NODES)) for _ in range(count))
        return {draw.choice(("edge", "edge", "path")): list(pairs)}

    found = [Update.of(edges(draw.randint(1, 4)), edges(draw.randint(0, 3))) for _ in range(BATCHES)]
    found[4] = Update.of(edges(2), add_rules=EXTRA)
    found[11] = Update.of(delete=edges(2), remove_rules=["extra"])
    return found


def follow(directory: Path, updates: Iterable[Update], acknowledge: Callable[[int], None], **where: Any) -> Sight:
    """Apply batches that are not part of the state yet, from the first on; what the engine holds in the end.

    `where` names another backend, whose stream is shorter.
    """
    fan_out, least_changes = (2, 30) if where else (4, 60)
    with patch.multiple(log, FAN_OUT=fan_out, LEAST_CHANGES=least_changes), log.StateLog(directory) as state:
        if state.is_empty:
            engine = Engine(PROGRAM, **where)
            engine.apply(insert={"edge": [(0, 1), (1, 2)]})
            engine.save(state)
        else:
            engine = Engine.open(state, **where)
        for batch, update in enumerate(updates):
            if not state.has_batch(batch):
                engine.apply_update(update)
                engine.save(state, batch=batch)
                if batch % FORGOTTEN == FORGOTTEN - 1:
                    state.forget_all_but(FORGOTTEN)
            acknowledge(batch)
        engine.verify()
        return sight(engine)


def on_spark(directory: Path) -> dict[str, Any]:
    """A Spark of this process, for an engine that brings nothing to the driver as a whole; its files are beside it."""
    from tests.backends.spark.engines import PAGED
    from tidelog.backends.spark.cluster.session import session

    options = {f"spark.tidelog.driver.{name}": str(value) for name, value in PAGED.items()}
    options |= {"spark.sql.shuffle.partitions": "2", "spark.tidelog.directory": f"{directory}-store"}
    return {"backend": "spark", "spark": session("local[2]", app="tidelog-killed", options=options)}


if __name__ == "__main__":
    place, number, *backend = sys.argv[1:]
    updates = batches(int(number))[: BATCHES_ON_SPARK if backend else None]
    its = on_spark(Path(place)) if backend else {}
    follow(Path(place), updates, lambda batch: print(batch, flush=True), **its)
