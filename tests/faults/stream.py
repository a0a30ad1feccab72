"""A stream of batches with a stored engine, small enough to be killed many times.

What      : `batches(seed)` draws updates of facts and rules; `follow` applies them one by one and says so after each.
            `python -m tests.faults.stream DIRECTORY SEED` does it in a process of its own, which a failpoint may end.
Idea      : files are merged after three saves and bases written after sixty rows, so that every place is reached soon.
Invariant : the same seed gives the same batches; batch n is the same update however often it comes.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

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
BATCHES, NODES = 16, 6


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


def follow(directory: Path, updates: Iterable[Update], acknowledge: Callable[[int], None]) -> Sight:
    """Apply batches that are not part of the state yet, from the first on; what the engine holds in the end."""
    log.FAN_OUT, log.LEAST_CHANGES = 4, 60
    with log.StateLog(directory) as state:
        if state.is_empty:
            engine = Engine(PROGRAM)
            engine.apply(insert={"edge": [(0, 1), (1, 2)]})
            engine.save(state)
        else:
            engine = Engine.open(state)
        for batch, update in enumerate(updates):
            if not state.has_batch(batch):
                engine.apply_update(update)
                engine.save(state, batch=batch)
            acknowledge(batch)
        engine.verify()
        return sight(engine)


if __name__ == "__main__":
    follow(Path(sys.argv[1]), batches(int(sys.argv[2])), lambda batch: print(batch, flush=True))
