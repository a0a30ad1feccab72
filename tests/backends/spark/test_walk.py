"""The walk of a deletion through the Spark store is the one that decision 12 prints.

A list of calls in a document is true on the day on which it is written. Here a small deletion is followed call by call,
and what it does must be the list: a layer that comes back between the store and its parts shows as a line too many.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType

import tidelog as tl
from tests.backends.spark.engines import PAGED, driver

RECORD = Path(__file__).parents[3] / "docs" / "decisions" / "0012-spark-store-by-composition.md"
PATHS = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
Walk = list[tuple[str, ...]]


def written() -> Walk:
    """The second list of the record: each call with those that it is made from."""
    walk: Walk = []
    for line in RECORD.read_text(encoding="utf-8").split("```")[3].strip().splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        walk.append((*(walk[-1][:depth] if walk else ()), line.split()[0]))
    return walk


class Follower:
    """Notes the calls of some functions of the package, and which of them each is made from."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._stack: list[str | None] = []
        self.walk: Walk = []

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            name = _name(frame)
            self._stack.append(name if name in self._names else None)
            walked = tuple(filter(None, self._stack))
            if name in self._names and walked not in self.walk:
                self.walk.append(walked)
        elif event == "return" and self._stack:
            self._stack.pop()


def _name(frame: FrameType) -> str:
    """`Class.method`, or `module.function`."""
    name = frame.f_code.co_qualname
    return name if "." in name else f"{Path(frame.f_code.co_filename).stem}.{name}"


def test_a_deletion_walks_as_the_record_says(spark):
    """With a driver that holds nothing, so that each look-up is brought from files."""
    with driver(spark, PAGED):
        engine = tl.Engine(PATHS, strategy="dred", backend="spark", spark=spark)
        engine.apply(insert={"edge": [(at, at + 1) for at in range(20)]})
        engine.apply(delete={"edge": [(12, 13)]}, insert={"edge": [(30, 31)]})
        expected = written()
        follower, before = Follower({calls[-1] for calls in expected}), sys.getprofile()
        sys.setprofile(follower)
        try:
            change = engine.apply(delete={"edge": [(5, 6)]})
        finally:
            sys.setprofile(before)
        assert len(change.deleted["path"]) == 6 * 7
        assert follower.walk == expected
        engine.close()
