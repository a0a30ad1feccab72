"""The long tiers: what one step of each does.

What      : a `Tier` names a figure of the guarantees and does its work in steps of about a minute, each of which counts
            what it did and raises if a promise was broken. `python -m tests.records.tiers TIER STEP` does one step.
Idea      : the tests of the fast tier hold the code; a step only chooses other seeds and more of them.
Invariant : a step is determined by its number, except for the moments of interrupts and threads. All steps together
            make what the figure asks for.
Never     : no step writes into the repository.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.maintenance.registry import STRATEGIES
from tidelog.state.failpoints import FAILPOINTS, FAR, FORGETTING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = tuple(STRATEGIES)


@dataclass(frozen=True, slots=True)
class Tier:
    """One figure's long tier."""

    figure: int
    asks: str
    steps: int
    work: Callable[[int], Counter[str]]


@contextmanager
def _spark() -> Iterator[SparkSession]:
    from tests.conftest import JAVA
    from tidelog.backends.spark.cluster.session import close, session

    os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA)
    options = {"spark.sql.shuffle.partitions": "3", "spark.default.parallelism": "3"}
    started = session("local[2]", app="tidelog-records", options=options)
    yield started
    close(started)


def _interrupts(step: int) -> Counter[str]:
    from tests.faults.interrupts import attack

    sys.setswitchinterval(1e-5)
    return attack(NAMES[step % len(NAMES)], 250, 10_000 + step)


def _interrupts_on_spark(step: int) -> Counter[str]:
    from tests.faults.interrupts import attack

    with _spark() as spark:
        return attack(NAMES[step % len(NAMES)], 25, 20_000 + step, backend="spark", spark=spark)


def _threads(step: int) -> Counter[str]:
    from tests.faults.threads import Trial

    sys.setswitchinterval(1e-5)
    threads, seen = (2, 8)[step % 2], Counter[str]()
    for strategy in NAMES:
        found = Trial(strategy, 1_000 + step).run(threads, 60 / len(NAMES))
        assert not found["wrong"], (strategy, found["wrong"])
        assert not found["hanging"], (strategy, found["hanging"])
        seen.update({"updates": found["updates"], "answers": found["answers"]})
    return seen + Counter({f"minutes with {threads} threads": 1})


def _kills(step: int) -> Counter[str]:
    from tests.faults.kills import kill_at

    place, part = FAILPOINTS[step % len(FAILPOINTS)], step // len(FAILPOINTS)
    with tempfile.TemporaryDirectory() as folder:
        found = kill_at(place, 10, 1_000 * (part + 1), Path(folder))
    return found + Counter({f"at {place}": found["kills"]})


def _poison(step: int) -> Counter[str]:
    from tests.pipeline.test_poison import whole_stream

    seen = [whole_stream(seed) for seed in range(1_000 + 25 * step, 1_025 + 25 * step)]
    lines, rejects = (sum(column) for column in zip(*seen))
    assert 0.1 < rejects / lines < 0.6
    return Counter(streams=len(seen), lines=lines, rejects=rejects)


def _fuzz(step: int) -> Counter[str]:
    from tests.language.test_fuzz import SEEDS, fuzz
    from tidelog.language import parse

    read = fuzz(20_000, 1_000 + step, parse, SEEDS)
    assert read > 100
    return Counter(texts=20_000, programs=read)


def _law(step: int) -> Counter[str]:
    from tests.differential.run import run_chunk

    found = run_chunk(250 * step, 250 * (step + 1), NAMES)
    assert not found.disagreements, found.disagreements[:3]
    assert found.liveness.is_alive, str(found.liveness)
    return Counter({"cases": found.cases, "versions compared": found.versions.total()})


def _law_on_spark(step: int) -> Counter[str]:
    from tests.backends.spark import test_law

    ways = {
        "held": (test_law.HELD, NAMES),
        "paged": (test_law.PAGED, None),
        "crowded": (test_law.CROWDED, ("auto",)),
        "in bulk": (test_law.BULK, ("auto",)),
    }
    seen = Counter[str]()
    with _spark() as spark:
        for seed in range(1_000 + 20 * step, 1_020 + 20 * step):  # Java gets faster from case to case
            way = tuple(ways)[seed % len(ways)]
            capacity, strategies = ways[way]
            chosen = strategies or (NAMES[seed // 4 % len(NAMES)],)
            test_law._agree(spark, seed, capacity, (1, 2, 3, 8)[seed // 4 % 4], *chosen)
            seen.update(["cases", way])
    return seen


def _continuation_on_spark(step: int) -> Counter[str]:
    from tests.backends.spark.continuation import continued

    seen = Counter[str]()
    with _spark() as spark, tempfile.TemporaryDirectory() as folder:
        for seed in range(1_000 + 5 * step, 1_005 + 5 * step):
            seen += continued(spark, seed, Path(folder) / str(seed) / "state")
    return seen


def _lives(step: int) -> Counter[str]:
    from tests.laws.test_state_machine import live

    live(10, 60, repeatable=False)
    return Counter({"lives": 10, "steps of a life, at most": 600})


def _lives_on_spark(step: int) -> Counter[str]:
    from tests.backends.spark.test_lives import live_on_spark

    with _spark() as spark:
        live_on_spark(spark, 5, 20, overlay=(0, 10)[step % 2], repeatable=False)
    return Counter({"lives": 5, "steps of a life, at most": 100})


def _kills_on_spark(step: int) -> Counter[str]:
    from tests.faults.test_kill_on_spark import PLACES, kill_on_spark

    place, part = PLACES[step % len(PLACES)], step // len(PLACES)
    with _spark() as spark, tempfile.TemporaryDirectory() as folder:
        return kill_on_spark(spark, place, part, Path(folder))


def _metamorphic(step: int) -> Counter[str]:
    from tests.laws.test_metamorphic import FIRST_SEED, LAWS, keep

    law, part = tuple(LAWS)[step % len(LAWS)], step // len(LAWS)
    cases = {"public": 120, "reference": 60}
    for kind, count in cases.items():
        keep(law, kind, FIRST_SEED + 1_000 + count * part, count)
    return Counter({f"cases, {kind}": count for kind, count in cases.items()})


TIERS = {
    "interrupts": Tier(17, "20,000 hits", 80, _interrupts),
    "interrupts-spark": Tier(17, "500 hits on Spark", 20, _interrupts_on_spark),
    "threads": Tier(18, "30 minutes", 30, _threads),
    "kills": Tier(9, "50 kills per place", 5 * len(FAILPOINTS), _kills),
    "kills-spark": Tier(9, "2 kills per place on Spark", 2 * len((*FAILPOINTS, *FAR, *FORGETTING)), _kills_on_spark),
    "continuation-spark": Tier(10, "100 streams that both backends continue", 20, _continuation_on_spark),
    "poison": Tier(19, "500 streams", 20, _poison),
    "fuzz": Tier(15, "1,000,000 texts", 50, _fuzz),
    "law": Tier(1, "10,000 cases", 40, _law),
    "law-spark": Tier(2, "200 cases on Spark", 10, _law_on_spark),
    "lives": Tier(6, "200 lives of 60 steps", 20, _lives),
    "lives-spark": Tier(6, "50 lives of 20 steps on Spark", 10, _lives_on_spark),
    "metamorphic": Tier(4, "5,000 cases", 42, _metamorphic),
}


if __name__ == "__main__":
    print(json.dumps(TIERS[sys.argv[1]].work(int(sys.argv[2]))))
