"""Random streams over states that are saved at every update and opened by both backends in turn.

What      : `continued(spark, seed, directory)` runs a stream of the random world in engines each of which lives for one
            update, with the settings that `Way.of` draws for the seed, opens every version again, and compares.
Idea      : a relation may be in files of the state or rows of its table, with changes in memory, in rows or in a file
            of their own. Which of these it is depends on who saved last and how; so who opens next, and with how much
            room, is drawn anew for each update. Bases and merges come after few rows.
Invariant : a seed determines everything.
Never     : no opinion about what is right: that is the business of the undisturbed engine (tests/state/streams.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest.mock import patch

from pyspark.sql import SparkSession

from tests.backends.spark.engines import BULK, HELD, PAGED, driver
from tests.differential.case import Case
from tests.differential.updates import draw_case
from tests.state.streams import Sight, announce, sight, step, uninterrupted
from tidelog import Engine
from tidelog.backends.spark.files import changed_file
from tidelog.language.printer import print_program
from tidelog.maintenance.registry import STRATEGIES
from tidelog.state import log, reading
from tidelog.state.reading import read_versions

WAYS: Mapping[str, Mapping[str, int]] = {
    "paged": PAGED,
    "by executors": {**PAGED, "written": 0},
    "overlaid": {**PAGED, "overlay": 100},
    "in bulk": BULK,
    "held": HELD,
}
LOCAL = "in process"


@dataclass(frozen=True)
class Way:
    """How the state of a stream is written, and by whom: a name for every update, and one before the first."""

    strategy: str
    turns: tuple[str, ...]
    fan_out: int
    least_changes: int
    near: int
    least_filed: int

    @staticmethod
    def of(seed: int, updates: int) -> Way:
        """The way of a seed; every second engine is in process in a third of the streams, in others by chance."""
        draw = Random(seed)
        on_spark, kind = list(WAYS), seed % 3
        turns = [draw.choice(on_spark)]
        for number in range(updates):
            is_local = (kind == 0 and number % 2 == 0) or (kind == 1 and draw.random() < 0.3)
            turns.append(LOCAL if is_local else draw.choice(on_spark))
        return Way(
            tuple(STRATEGIES)[seed % len(STRATEGIES)],
            tuple(turns),
            draw.choice((2, 3, 32)),
            draw.choice((3, 30, 100_000)),
            draw.choice((0, reading.NEAR)),
            draw.choice((0, changed_file._LEAST)),
        )

    @contextmanager
    def taken(self) -> Iterator[None]:
        """The sizes of this way, for a while."""
        with (
            patch.multiple(log, FAN_OUT=self.fan_out, LEAST_CHANGES=self.least_changes),
            patch.object(reading, "NEAR", self.near),
            patch.object(changed_file, "_LEAST", self.least_filed),
        ):
            yield


@contextmanager
def _turn(spark: SparkSession, name: str, directory: Path, version: int | None = None) -> Iterator[Engine]:
    """An engine that opens the state, for a while."""
    with nullcontext() if name == LOCAL else driver(spark, WAYS[name], partitions=2):
        given = {} if name == LOCAL else {"backend": "spark", "spark": spark}
        engine = Engine.open(directory, version=version, **given)  # type: ignore[arg-type]
        try:
            yield engine
        finally:
            engine.close()


def reopened(spark: SparkSession, case: Case, way: Way, directory: Path) -> list[Sight]:
    """The stream in engines each of which lives for one update."""
    program, first = print_program(case.program), way.turns[0]
    with driver(spark, WAYS[first], partitions=2):
        engine = Engine(program, strategy=way.strategy, backend="spark", spark=spark)
        sights = [sight(engine)]
        engine.save(directory)
        engine.close()
    for number, (name, update) in enumerate(zip(way.turns[1:], case.updates)):
        with _turn(spark, name, directory) as engine:
            sights.append(step(engine, update))
            announce(engine, case, number)
            engine.save(directory)
            if number + 1 == len(case.updates):
                engine.verify()
    return sights


def check_every_version(spark: SparkSession, way: Way, directory: Path, expected: list[Sight]) -> int:
    """Every version is what it was, on both backends; how many there are."""
    by_version = {one.version: one for one in expected}
    versions = [info.version for info in read_versions(directory)]
    for number, version in enumerate(versions):
        before = by_version[version]
        for name in (LOCAL, tuple(WAYS)[number % len(WAYS)]):
            with _turn(spark, name, directory, version) as engine:
                assert sight(engine, before.inserted, before.deleted) == before, f"version {version} {name}"
    return len(versions)


def continued(spark: SparkSession, seed: int, directory: Path) -> Counter[str]:
    """One stream, in one engine and in many; what was done."""
    case = draw_case(seed)
    way = Way.of(seed, len(case.updates))
    expected = uninterrupted(case, way.strategy)
    with way.taken():
        assert reopened(spark, case, way, directory) == expected, f"seed {seed}: {way}"
        versions = check_every_version(spark, way, directory, expected)
    return Counter(way.turns) + Counter(streams=1, versions=versions)
