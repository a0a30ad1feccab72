"""The order of rows inside a micro-batch, and where it is cut: the same when it comes again, however Spark reads it.

Taught by a job that was killed between two parts of CSV files and started again on more cores: rows were left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.backends.spark.engines import with_settings
from tests.pipeline.places import Place, Recorder, facts, summed
from tidelog.errors import PipelineError
from tidelog.pipeline import job
from tidelog.pipeline.follow import arrival, pieces, updates
from tidelog.pipeline.settings.config import Always, RowColumns, UpdateSource
from tidelog.pipeline.status import Status

COLUMNS = '[updates.columns]\nop = "op"\nrelation = "relation"\nvalues = ["x", "y"]\ntypes = ["symbol", "symbol"]\n'
AS_COLUMNS = RowColumns("op", "relation", ("x", "y"), ("symbol", "symbol"))
WHOLE = {"spark.sql.files.maxPartitionBytes": "128m", "spark.sql.files.minPartitionNum": "1"}
SPLIT = {"spark.sql.files.maxPartitionBytes": "700", "spark.sql.files.minPartitionNum": "7"}
MESSAGE = "op binary, relation binary, values binary, topic string, partition int, offset long"


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of 1,000 bytes."""
    monkeypatch.setattr(updates, "MOST_BYTES", 1_000)


def write(spark: SparkSession, folder: Path, form: str, order: str = "") -> None:
    """Three files of 120 rows, each larger than a piece."""
    for file in range(3):
        rows = [("delete" if at % 9 == 0 else "insert", "edge", f"n{file}", f"m{at}", at // 40) for at in range(120)]
        names = ["op", "relation", "x", "y", "at"]
        frame = spark.createDataFrame(rows, names).coalesce(1)
        (frame if order else frame.drop("at")).write.mode("append").format(form).save(str(folder))


def parts(spark: SparkSession, source: UpdateSource, checkpoint: Path) -> list[list[str]]:
    """The lines of the parts of the first micro-batch."""
    seen: list[list[str]] = []

    def take(batch: DataFrame, _: int) -> None:
        seen.extend([line.text for line in part.lines] for part in updates.parts_of(batch, source))

    stream = arrival.stream_of(spark, source).writeStream.foreachBatch(take)
    stream.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    return seen


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(
    ("form", "order"),
    [("csv", ""), ("json", "at"), *(pytest.param(form, "", marks=pytest.mark.long) for form in ("json", "orc"))],
)
def test_parts_do_not_depend_on_how_files_are_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, order: str
) -> None:
    """Whole or in pieces, by one task or by seven, at once or a piece at a time."""
    write(spark, tmp_path / "u", form, order)
    columns = AS_COLUMNS if not order else None
    if order:  # the user's column is one of several, which Spark has to find
        spark.conf.set("spark.sql.streaming.schemaInference", "true")
        columns = RowColumns("op", "relation", ("x", "y"))
    source = UpdateSource(form, str(tmp_path / "u"), order=("at",) if order else (), columns=columns)
    found = []
    for name, options, piece in (
        ("a", WHOLE, pieces.PIECE),
        ("b", SPLIT, pieces.PIECE),
        ("c", SPLIT, 3_000),
        ("d", WHOLE, 3_000),
    ):
        monkeypatch.setattr(pieces, "PIECE", piece)
        with with_settings(spark, options):
            found.append(parts(spark, source, tmp_path / name))
    spark.conf.unset("spark.sql.streaming.schemaInference")
    assert len(found[0]) > 5
    assert sum(map(len, found[0])) == 360
    assert found[1] == found[0]
    assert found[2] == found[0]
    assert found[3] == found[0]


@pytest.mark.usefixtures("little")
@pytest.mark.parametrize(("first", "second"), [(WHOLE, SPLIT), (SPLIT, WHOLE)], ids=["more tasks", "fewer tasks"])
def test_a_restart_between_parts_applies_each_row_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: dict[str, str], second: dict[str, str]
) -> None:
    """A crash after the eighth part, and a start with other pieces: no row is lost, none is applied twice."""
    place = Place(tmp_path / "p", updates=f'format = "csv"\n{COLUMNS}')
    write(spark, tmp_path / "all", "csv")
    (place.folder / "updates").mkdir(exist_ok=True)
    for at, file in enumerate((tmp_path / "all").glob("*.csv")):
        file.rename(place.folder / "updates" / f"{at}.csv")
    published: list[str] = []

    def crash(name: str) -> None:
        published.append(name)
        if published.count("version-published") == 9:
            raise OSError("a crash")

    with monkeypatch.context() as patch, with_settings(spark, first):
        patch.setattr(job, "reach", crash)
        with pytest.raises(OSError, match="a crash"):
            place.run(spark)
    with with_settings(spark, second):
        engine, events = place.run(spark)
    assert len(events.of("known")) == 8
    assert len(engine["edge"]) == 2 + 360 - 42
    assert summed(place.feed()) == facts(engine)
    stored = published.count("version-saved") - 1
    assert engine.version == 1 + stored + len(events.of("batch"))


def table(spark: SparkSession, rows: Sequence[tuple[object, ...]], schema: str, source: UpdateSource) -> DataFrame:
    return arrival.columns_of(spark.createDataFrame(list(rows), schema).repartition(3), source)


@pytest.mark.usefixtures("little")
def test_rows_that_nothing_orders_are_not_parted(spark: SparkSession) -> None:
    """One part without an order; with one that has ties, parts end between rows that differ in it."""
    rows = [("insert", "edge", f'["n{at}", "m"]', at // 50) for at in range(200)]
    schema = "op string, relation string, values string, at int"
    source = UpdateSource("rate")
    (whole,) = updates.parts_of(table(spark, rows, schema, source), source)
    assert (len(whole.lines), whole.is_ordered) == (200, False)
    source = UpdateSource("rate", order=("at",))
    several = list(updates.parts_of(table(spark, rows, schema, source), source))
    assert [(len(part.lines), part.is_ordered) for part in several] == [(50, False)] * 4
    total = [(*row[:3], at) for at, row in enumerate(rows)]
    several = list(updates.parts_of(table(spark, total, schema, source), source))
    assert len(several) > 5
    assert all(part.is_ordered and part.size <= 1_000 for part in several)


@pytest.mark.parametrize("piece", [pieces.PIECE, 500], ids=["at once", "in pieces"])
def test_messages_have_places_and_deletions_in_bytes_come_first(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    """Kafka's columns are bytes; what the user does not order is ordered by topic, partition and offset."""
    monkeypatch.setattr(pieces, "PIECE", piece)
    monkeypatch.setattr(updates, "MOST_BYTES", 200)
    rows = [
        (b"delete" if offset % 2 else b"insert", b"edge", f'["{topic}", {partition}, {offset}]'.encode(), topic,
         partition, offset) for topic in "ba" for partition in (1, 0) for offset in range(10)
    ]  # fmt: skip
    source = UpdateSource("kafka")
    found = list(updates.parts_of(table(spark, rows, MESSAGE, source), source))
    assert len(found) > 3
    assert all(part.is_ordered for part in found)
    kinds = ("delete", "insert")
    assert [line.text for part in found for line in part.lines] == [
        f'{{"{kind}": [["edge", "{topic}", {partition}, {offset}]]}}'
        for kind in kinds for topic in "ab" for partition in (0, 1) for offset in range(10)
        if kinds[1 - offset % 2] == kind
    ]  # fmt: skip


@pytest.mark.parametrize("piece", [pieces.PIECE, 500], ids=["at once", "in pieces"])
def test_columns_that_only_order_may_hold_any_bytes(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    """The log position of a database is no text; a value that is none is a reject still."""
    monkeypatch.setattr(pieces, "PIECE", piece)
    rows = [(f"n{at}".encode() if at else b"\xff", bytes([255 - at, 0x80])) for at in range(40)]
    source = UpdateSource(
        "rate", order=("lsn",), columns=RowColumns(Always("insert"), Always("edge"), ("x",), ("symbol",))
    )
    (part,) = updates.parts_of(table(spark, rows, "x binary, lsn binary", source), source)
    *good, bad = part.lines
    assert [line.text for line in good] == [f'{{"insert": [["edge", "n{at}"]]}}' for at in range(39, 0, -1)]
    assert isinstance(bad, updates.Reject)
    assert bad.text == '["insert", "edge", "\\\\xff"]'


def test_parts_are_counted_in_bytes(spark: SparkSession) -> None:
    """A letter may have several."""
    rows = [("insert", "edge", '["\u00e9\U0001f600"]', 1)]
    source = UpdateSource("rate", order=("at",))
    (part,) = updates.parts_of(table(spark, rows, "op string, relation string, values string, at int", source), source)
    (line,) = part.lines
    assert part.size == len(line.text.encode()) == len(line.text) + 4


def test_an_unordered_part_with_a_bad_row_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """The rows before the bad one may be others when the part comes again, so they are not counted as done."""
    place = Place(tmp_path / "p", on_bad="fail", updates="# none")
    running = place.pipeline()
    rows = [("insert", "edge", f'["n{at}", "m"]') for at in range(9)]
    bad = [*rows[:5], ("insert", "edge", "[1"), *rows[5:]]
    place.run(spark)
    with job.StateLog(running.state) as state:
        at_work = job.Job(running, job.read_programs(running.programs), state, spark, Status(Recorder()))
        at_work.begin()
        source = UpdateSource("rate")
        (part,) = updates.parts_of(table(spark, bad, "op string, relation string, values string", source), source)
        with pytest.raises(PipelineError, match="E728"):
            at_work._apply([part], 0, 0)
        assert state.last_batch(job._lines_in(0, 0)) is None
        assert state.last_batch(job.STREAM) is None
