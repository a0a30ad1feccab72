"""A streaming source with the columns and the options of Kafka's, which is no part of PySpark.

A topic is a folder, `kafka.bootstrap.servers` the folder of topics; a partition is a file, a message a line of it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from pyspark.sql.datasource import DataSource


def ledger() -> type[DataSource]:
    """The source. Its classes are made here, so that workers are sent them and import nothing of the tests."""
    import json
    from base64 import b64decode
    from collections.abc import Iterator, Mapping
    from datetime import UTC, datetime
    from pathlib import Path
    from typing import Any

    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

    class Piece(InputPartition):
        """Messages of one partition."""

        def __init__(self, path: str, number: int, start: int, end: int) -> None:
            self.path, self.number, self.start, self.end = path, number, start, end

    class Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
        """Offsets are numbers of lines; partitions are read in the wrong order, which no order but the user's helps."""

        def __init__(self, options: Mapping[str, str]) -> None:
            self.folder = Path(options["kafka.bootstrap.servers"]) / options["subscribe"]
            self.most = int(options["maxOffsetsPerTrigger"])
            self.target: dict[str, int] | None = None
            (self.folder / "options.json").write_text(json.dumps(dict(options)))

        def initialOffset(self) -> dict[str, int]:
            return {}

        def getDefaultReadLimit(self) -> ReadLimit:
            return ReadMaxRows(self.most)

        def prepareForTriggerAvailableNow(self) -> None:
            self.target = self.counted()

        def counted(self) -> dict[str, int]:
            return {file.stem: file.read_text().count("\n") for file in sorted(self.folder.glob("*.messages"))}

        def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
            found = self.counted() if self.target is None else self.target
            left = 1 << 40 if isinstance(limit, ReadAllAvailable) else limit.max_rows  # type: ignore[attr-defined]
            end = dict(start)
            for name, count in found.items():
                taken = min(left, count - end.get(name, 0))
                end[name], left = end.get(name, 0) + taken, left - taken
            return end

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Piece]:
            names = sorted(end, reverse=True)
            return [Piece(str(self.folder), int(name), start.get(name, 0), end[name]) for name in names]

        def read(self, partition: Piece) -> Iterator[tuple[Any, ...]]:  # type: ignore[override]
            folder, at = Path(partition.path), datetime(2026, 1, 1, tzinfo=UTC)
            lines = (folder / f"{partition.number}.messages").read_text().splitlines()
            for offset in range(partition.start, partition.end):
                key, value = (None if one is None else b64decode(one) for one in json.loads(lines[offset]))
                yield key, value, folder.name, partition.number, offset, at

        def commit(self, end: dict[str, int]) -> None:
            """Nothing is forgotten."""

    class Ledger(DataSource):
        """The format `ledger`."""

        @classmethod
        def name(cls) -> str:
            return "ledger"

        def schema(self) -> str:
            return "key binary, value binary, topic string, partition int, offset long, timestamp timestamp"

        def streamReader(self, schema: object) -> Reader:
            return Reader(self.options)

    return Ledger


def send(folder: Path, partition: int, *messages: tuple[bytes | None, bytes | None]) -> None:
    """Add messages to a partition of a topic."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{partition}.messages").open("a") as file:
        for message in messages:
            file.write(json.dumps([None if one is None else b64encode(one).decode() for one in message]) + "\n")
