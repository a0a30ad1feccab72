"""Random streams over states that are saved at every update and opened by both backends in turn.

What      : `continued(spark, seed, directory)` runs a stream of the random world in engines each of which lives for one
            update or some, with the settings that `Way.of` draws for the seed, opens every version again, and compares.
Idea      : a relation may be in files of the state or rows of its table, with changes in memory, in rows or in a file
            of their own. Which of these it is depends on who saved last and how; so who opens next, and with how much
            room, is drawn anew for each update. Some saves fail on their way and are repeated, at once or after another
            update. Bases and merges come after few rows.
Invariant : a seed determines everything.
Never     : no opinion about what is right: that is the business of the undisturbed engine (tests/state/streams.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Self
from unittest.mock import patch

from pyspark.sql import SparkSession

from tests.backends.spark.engines import BULK, HELD, PAGED, driver
from tests.differential.case import Case
from tests.differential.updates import draw_case
from tests.faults.test_kill import unnamed
from tests.state.streams import Sight, announce, sight, step, uninterrupted
from tidelog import Engine
from tidelog.backends.spark.files import changed_file
from tidelog.language.printer import print_program
from tidelog.maintenance.registry import STRATEGIES
from tidelog.state import log, reading
from tidelog.state.failpoints import FAILPOINTS, FAR, FailpointError, raising
from tidelog.state.reading import read_versions

WAYS: Mapping[str, Mapping[str, int]] = {
    "paged": PAGED,
    "by executors": {**PAGED, "written": 0},
    "overlaid": {**PAGED, "overlay": 3},
    "in bulk": BULK,
    "held": HELD,
}
LOCAL, SAME = "in process", "by the same engine"


@dataclass(frozen=True)
class Turn:
    """One update: who opens the state for it, the place at which a save of it fails, and whether that is repeated."""

    opener: str
    fails_at: str = ""
    is_repeated: bool = True

    @staticmethod
    def of(draw: Random, opener: str) -> Turn:
        """By chance; who does not repeat a save goes on, so the next turn is of the same engine."""
        fails_at = draw.choice((*FAILPOINTS, *FAR)) if draw.random() < 0.3 else ""
        return Turn(opener, fails_at, draw.random() < 0.5)


@dataclass(frozen=True)
class Way:
    """How the state of a stream is written, and by whom: a turn for every update."""

    strategy: str
    first: str
    turns: tuple[Turn, ...]
    fan_out: int
    least_changes: int
    near: int
    least_filed: int

    @staticmethod
    def of(seed: int, updates: int) -> Way:
        """The way of a seed; every second engine is in process in a third of the streams, in others by chance.

        Only `auto` gives up a strategy for which the driver has no room, so others are never in bulk.
        """
        draw, kind = Random(seed), seed % 3
        strategy = "auto" if seed % 2 else tuple(STRATEGIES)[seed // 2 % len(STRATEGIES)]
        on_spark = [name for name in WAYS if strategy == "auto" or name != "in bulk"]
        turns: list[Turn] = []
        for number in range(updates):
            is_local = (kind == 0 and number % 2 == 0) or (kind == 1 and draw.random() < 0.3)
            opener = LOCAL if is_local else draw.choice([*on_spark, SAME, SAME])
            is_open = bool(turns) and bool(turns[-1].fails_at) and not turns[-1].is_repeated
            turns.append(Turn.of(draw, SAME if is_open else opener))
        if turns:
            turns[-1] = Turn(turns[-1].opener, turns[-1].fails_at)
        return Way(
            strategy,
            draw.choice(on_spark),
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


class Relay:
    """A state that one engine after the other has."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark, self.directory = spark, directory
        self._now = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._now.close()

    def begin(self, name: str, program: str, strategy: str) -> Engine:
        """The first engine."""
        where = self._goes_to(name)
        return self._now.enter_context(Engine(program, strategy=strategy, **where))

    def opened(self, name: str, version: int | None = None) -> Engine:
        """The next engine, in place of the last one."""
        where = self._goes_to(name)
        return self._now.enter_context(Engine.open(self.directory, version=version, **where))

    def _goes_to(self, name: str) -> dict[str, Any]:
        self._now.close()
        if name == LOCAL:
            return {}
        self._now.enter_context(driver(self.spark, WAYS[name], partitions=2))
        return {"backend": "spark", "spark": self.spark}


def save(engine: Engine, directory: Path, turn: Turn) -> None:
    """Save, after a save that failed if the turn says so; its place need not be one that this save passes."""
    is_saved = False
    if turn.fails_at:
        with suppress(FailpointError), raising(turn.fails_at):
            engine.save(directory)
            is_saved = True
    if not is_saved and (turn.is_repeated or not turn.fails_at):
        engine.save(directory)


def reopened(spark: SparkSession, case: Case, way: Way, directory: Path) -> list[Sight]:
    """The stream in the engines of a way."""
    with Relay(spark, directory) as relay:
        engine = relay.begin(way.first, print_program(case.program), way.strategy)
        sights = [sight(engine)]
        engine.save(directory)
        for number, (turn, update) in enumerate(zip(way.turns, case.updates)):
            if turn.opener != SAME:
                engine = relay.opened(turn.opener)
            sights.append(step(engine, update))
            announce(engine, case, number)
            save(engine, directory, turn)
        engine.verify()
    return sights


def check_every_version(spark: SparkSession, directory: Path, expected: list[Sight]) -> int:
    """Every version is what it was, on both backends; how many there are."""
    by_version = {one.version: one for one in expected}
    versions = [info.version for info in read_versions(directory)]
    assert versions[-1] == expected[-1].version
    with Relay(spark, directory) as relay:
        for number, version in enumerate(versions):
            before = by_version[version]
            for name in (LOCAL, tuple(WAYS)[number % len(WAYS)]):
                found = sight(relay.opened(name, version), before.inserted, before.deleted)
                assert found == before, f"version {version} {name}"
    return len(versions)


def continued(spark: SparkSession, seed: int, directory: Path) -> Counter[str]:
    """One stream, in one engine and in many; what was done."""
    case = draw_case(seed)
    way = Way.of(seed, len(case.updates))
    expected = uninterrupted(case, way.strategy)
    with way.taken():
        assert reopened(spark, case, way, directory) == expected, f"seed {seed}: {way}"
        assert unnamed(directory) == set(), f"seed {seed}: {way} leaves files that no version names"
        versions = check_every_version(spark, directory, expected)
    failing = sum(bool(turn.fails_at) for turn in way.turns)
    openers = Counter([way.first, *(turn.opener for turn in way.turns)])
    return openers + Counter({"streams": 1, "versions": versions, "saves told to fail": failing})
