"""Files that tasks read themselves give the facts that Spark gives, and whatever is not plain is left to Spark."""

from __future__ import annotations

import base64
import pickle
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as encryption
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import tidelog as tl
from tidelog.backends.spark.files import near_files as module
from tidelog.backends.spark.files.hadoop_checksums import CheckedFile
from tidelog.backends.spark.files.near_files import near_files

FACTS = pa.table(
    {
        "name": pa.array(["a", None, "ü\u2028", "", "b" * 500] * 200),
        "size": pa.array([1, -(2**63), None, 2**63 - 1, 0] * 200, pa.int64()),
        "few": pa.array([1, 2, 3, 4, None] * 200, pa.int32()),
        "share": pa.array([0.5, float("nan"), None, -0.0, float("inf")] * 200),
        "known": pa.array([True, False, None, True, False] * 200),
        "wide": pa.array(["x", "y", "z", None, "w"] * 200, pa.large_string()),
        "day": pa.array([0, 1, 2, 3, 4] * 200, pa.date32()),
    }
)
PLAIN: dict[str, Callable[[DataFrame], DataFrame]] = {
    "all columns that are constants": lambda read: read.drop("day"),
    "turned": lambda read: read.select("size", "name"),
    "renamed": lambda read: read.toDF(*"abcdefg").select("b", "a"),
    "names that change places": lambda read: read.selectExpr("name as size", "size as name"),
    "renamed twice": lambda read: read.select(F.col("name").alias("x"), "size").select("size", F.col("x").alias("y")),
    "one column twice": lambda read: read.selectExpr("size as x", "size as y", "size"),
    "other letters": lambda read: read.select("NAME", "Size"),
}
OTHERS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "a filter": lambda read: read.select("name").where("name = 'a'"),
    "a computed column": lambda read: read.selectExpr("upper(name)"),
    "another type": lambda read: read.selectExpr("cast(few as long)"),
    "a constant": lambda read: read.selectExpr("name", "1 as one"),
    "a limit": lambda read: read.select("name").limit(3),
    "distinct rows": lambda read: read.select("name").distinct(),
    "two frames": lambda read: read.select("name").unionAll(read.select("name")),
    "a type that is no constant": lambda read: read.select("day"),
    "what the file is called": lambda read: read.selectExpr("name", "_metadata.file_name"),
    "kept rows": lambda read: read.select("size").cache(),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files with several row groups each, one of them without rows, in a folder with a difficult name."""
    folder = tmp_path_factory.mktemp("near") / "50 % ü #1"
    folder.mkdir()
    for number, rows in enumerate((FACTS, FACTS.slice(0, 0), FACTS.slice(3))):
        pq.write_table(rows, folder / f"part {number}.parquet", row_group_size=170)
    return str(folder)


@pytest.mark.parametrize("shape", PLAIN)
@pytest.mark.parametrize("tasks", [1, 2, 40])
def test_plain_files_give_the_rows_that_spark_gives(spark: SparkSession, files: str, shape: str, tasks: int) -> None:
    """Whatever the columns are called and however many tasks there are."""
    frame = PLAIN[shape](spark.read.parquet(files))
    assert _read_by_tasks(frame, tasks) == Counter(map(_comparable, frame.collect()))


@pytest.mark.parametrize("shape", OTHERS)
def test_what_is_not_plain_is_left_to_spark(spark: SparkSession, files: str, shape: str) -> None:
    """A plan that does more than read columns, and columns that are not as they are in the file."""
    frame = OTHERS[shape](spark.read.parquet(files))
    assert near_files(frame, 2) is None
    frame.unpersist()


def test_folders_that_are_columns_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Their values are in no file."""
    for day in (1, 2):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(FACTS.select(["name"]), tmp_path / f"day={day}" / "x.parquet")
    assert near_files(spark.read.parquet(str(tmp_path)), 2) is None


def test_files_that_differ_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Another type in one of them, a column that one lacks, two columns of which only case tells which."""
    for folder, table in {
        "type": pa.table({"name": ["x"], "size": pa.array([1], pa.int16())}),
        "lack": pa.table({"name": ["x"]}),
        "case": pa.table({"name": ["x"], "size": [1], "Size": [2]}),
    }.items():
        (tmp_path / folder).mkdir()
        pq.write_table(FACTS.select(["name", "size"]), tmp_path / folder / "1.parquet")
        pq.write_table(table, tmp_path / folder / "2.parquet")
        frame = spark.read.schema("name string, size long").parquet(str(tmp_path / folder))
        assert near_files(frame, 2) is None, folder


def test_what_is_no_parquet_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Lines of text, rows of the session, and a file whose end is cut off after Spark has listed it."""
    (tmp_path / "x.csv").write_text("a\nb\n")
    pq.write_table(FACTS.select(["name"]), tmp_path / "x.parquet")
    frame = spark.read.schema("name string").parquet(str(tmp_path / "x.parquet"))
    (tmp_path / "x.parquet").write_bytes((tmp_path / "x.parquet").read_bytes()[:-9])
    for other in (spark.read.csv(str(tmp_path / "x.csv")), spark.createDataFrame([("a",)], "name string"), frame):
        assert near_files(other, 2) is None


def test_bytes_that_are_not_as_they_were_written_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Spark writes checksums beside its files and compares when it reads. So do tasks that read them alone, whichever
    row group it is; what another program wrote has none.
    """
    rows = pa.table({"name": [f"name{at:05d}" for at in range(3000)]})
    for folder, is_checked in (("spark", True), ("other", False)):
        if is_checked:
            options = {
                "compression": "none",
                "parquet.block.size": "20000",
                "parquet.page.write-checksum.enabled": "false",
            }
            spark.createDataFrame(rows).coalesce(1).write.options(**options).parquet(str(tmp_path / folder))
        else:
            (tmp_path / folder).mkdir()
            pq.write_table(rows, tmp_path / folder / "x.parquet", compression="none", use_dictionary=False)
        [path] = (tmp_path / folder).glob("*.parquet")
        frame = spark.read.parquet(str(tmp_path / folder))
        whole = path.read_bytes()
        for name in (b"name00002", b"name02900"):
            at = whole.index(name)
            path.write_bytes(whole[: at + 4] + b"X" + whole[at + 5 :])
            if is_checked:
                with pytest.raises(Exception, match="checksum error"):
                    _read_by_tasks(frame, 2)
            else:
                assert sum(_read_by_tasks(frame, 2).values()) == 3000
            path.write_bytes(whole)
        assert sum(_read_by_tasks(frame, 2).values()) == 3000


def test_a_file_is_opened_once_for_all_its_row_groups(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening it for each of 3,000 row groups, with a footer that grows with them, took 12.6 s instead of 0.3."""
    rows = pa.table({"name": [f"name{at}" for at in range(4000)]})
    pq.write_table(rows, tmp_path / "x.parquet", row_group_size=10)
    opened: list[str] = []

    class Counted(CheckedFile):
        def __init__(self, path: str, size: int | None = None) -> None:
            super().__init__(path, size)
            opened.append(path)

    monkeypatch.setattr(module, "CheckedFile", Counted)
    for tasks in (1, 3):
        near = near_files(spark.read.parquet(str(tmp_path / "x.parquet")), tasks)
        assert near is not None
        del opened[:]
        numbers = pa.RecordBatch.from_pydict({"id": list(range(len(near.tasks)))})
        found = [name for batch in module._Read(near, lambda rows: rows)(iter([numbers])) for name in batch[0]]
        assert pa.array(found).to_pylist() == rows.column("name").to_pylist()
        assert len(opened) == len(near.tasks) == tasks


def test_bytes_that_nobody_asked_for_are_not_compared(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads two columns of a file of which another one is damaged. A footer is asked for by every read: it is
    left to Spark, which says what is wrong with it.
    """
    rows = pa.table({"name": [f"name{at:05d}" for at in range(3000)], "note": [f"note{at:05d}" for at in range(3000)]})
    options = {"compression": "none", "parquet.page.write-checksum.enabled": "false"}
    spark.createDataFrame(rows).coalesce(1).write.options(**options).parquet(str(tmp_path / "x"))
    [path] = (tmp_path / "x").glob("*.parquet")
    whole, frame = path.read_bytes(), spark.read.parquet(str(tmp_path / "x"))
    at = whole.index(b"note01500")
    path.write_bytes(whole[:at] + b"X" + whole[at + 1 :])
    assert sum(_read_by_tasks(frame.select("name"), 2).values()) == frame.select("name").count() == 3000
    with pytest.raises(Exception, match="checksum error"):
        _read_by_tasks(frame, 2)
    at = whole.index(b"parquet-mr")
    path.write_bytes(whole[:at] + b"X" + whole[at + 1 :])
    assert near_files(frame, 2) is None


def test_a_damaged_file_is_named_with_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    """The error said that an exception was thrown from the Python worker."""
    rows = pa.table({"name": [f"name{at:05d}" for at in range(3000)]})
    options = {"compression": "none", "parquet.page.write-checksum.enabled": "false"}
    spark.createDataFrame(rows).coalesce(1).write.options(**options).parquet(str(tmp_path / "x"))
    [path] = (tmp_path / "x").glob("*.parquet")
    frame, whole = spark.read.parquet(str(tmp_path / "x")), path.read_bytes()
    path.write_bytes(whole.replace(b"name01500", b"name0150X"))
    with tl.Engine("q(x) :- e(x).", backend="spark", spark=spark) as engine:
        with pytest.raises(tl.TidelogError) as caught:
            engine.apply(insert={"e": frame})
        [problem] = caught.value.problems
        assert problem.code == "E702"
        assert f"checksum error: {path} is not as it was written" in problem.sentence
        assert "write this file anew" in (problem.remedy or "")
        path.write_bytes(whole)
        engine.apply(insert={"e": frame})
        assert len(engine["q"]) == 3000


@pytest.mark.parametrize("beside", ["folder", "dangling"])
def test_checksums_that_are_no_file_are_none(spark: SparkSession, tmp_path: Path, beside: str) -> None:
    """As for Hadoop."""
    pq.write_table(FACTS.select(["name"]), tmp_path / "x.parquet")
    if beside == "folder":
        (tmp_path / ".x.parquet.crc").mkdir()
    else:
        (tmp_path / ".x.parquet.crc").symlink_to("nowhere")
    frame = spark.read.parquet(str(tmp_path / "x.parquet"))
    assert sum(_read_by_tasks(frame, 2).values()) == frame.count() == FACTS.num_rows


def test_files_of_which_spark_compares_no_checksums_are_left_to_it(spark: SparkSession, files: str) -> None:
    """A session may have another file system for the files of this machine."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]
    frame = spark.read.parquet(files).select("name")
    other = {"fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem", "fs.file.impl.disable.cache": "true"}
    try:
        for name, value in other.items():
            conf.set(name, value)
        assert near_files(frame, 2) is None
    finally:
        for name in other:
            conf.unset(name)
    assert near_files(frame, 2) is not None


def test_checksums_of_pages_are_compared_when_spark_does(spark: SparkSession, tmp_path: Path) -> None:
    """Not by default; a program may write wrong ones beside right values."""
    rows = pa.table({"name": [f"name{at:05d}" for at in range(3000)]})
    path = tmp_path / "x.parquet"
    pq.write_table(rows, path, compression="none", use_dictionary=False, write_page_checksum=True)
    path.write_bytes(path.read_bytes().replace(b"name01500", b"name0150X"))
    frame = spark.read.parquet(str(path))
    assert sum(_read_by_tasks(frame, 1).values()) == frame.count() == 3000
    spark.conf.set("parquet.page.verify-checksum.enabled", "true")
    try:
        for read in (lambda: _read_by_tasks(frame, 1), frame.collect):
            with pytest.raises(Exception, match=r"(?i)crc"):
                read()
    finally:
        spark.conf.unset("parquet.page.verify-checksum.enabled")


def test_what_arrow_cannot_decode_is_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A codec that it lacks, in a column that is asked for."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"name": ["a"] * 9, "size": [1] * 9}), path, compression="snappy")
    whole, frame = path.read_bytes(), spark.read.parquet(str(path))
    codec = whole.rindex(b"name\x15\x02") + 5  # as Thrift writes it, behind the name of a column
    path.write_bytes(whole[:codec] + b"\x06" + whole[codec + 1 :])
    assert pq.read_metadata(path).row_group(0).column(0).compression != "SNAPPY"
    assert near_files(frame, 1) is None
    assert near_files(frame.select("size"), 1) is not None


@pytest.mark.parametrize("is_plain", [True, False])
def test_encrypted_files_are_left_to_spark(spark: SparkSession, tmp_path: Path, is_plain: bool) -> None:
    """Where only columns are encrypted, Arrow ends the process of who looks at one of them without a key."""
    keys = {"footer_key": "one", "column_keys": {"two": ["name"]}, "plaintext_footer": is_plain}
    connection = encryption.KmsConnectionConfig()
    properties = encryption.CryptoFactory(_Keys).file_encryption_properties(
        connection, encryption.EncryptionConfiguration(**keys)
    )
    rows = pa.table({"name": ["a"], "size": [1]})
    with pq.ParquetWriter(tmp_path / "x.parquet", rows.schema, encryption_properties=properties) as out:
        out.write_table(rows)
    frame = spark.read.schema("name string, size long").parquet(str(tmp_path / "x.parquet"))
    assert near_files(frame, 1) is None
    assert near_files(frame.select("size"), 1) is None


class _Keys(encryption.KmsClient):  # type: ignore[misc]
    """Keys that are no secret."""

    def __init__(self, _connection: object) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, _name: str) -> str:
        return base64.b64encode(key).decode()

    def unwrap_key(self, key: str, _name: str) -> bytes:
        return base64.b64decode(key)


def test_a_file_that_has_changed_since_it_was_listed_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Another file under its name may have other row groups."""
    pq.write_table(FACTS.select(["name"]), tmp_path / "x.parquet", row_group_size=100)
    near = near_files(spark.read.parquet(str(tmp_path / "x.parquet")), 2)
    assert near is not None
    pq.write_table(FACTS.select(["name"]), tmp_path / "x.parquet", row_group_size=50)
    with pytest.raises(Exception, match="has changed since it was listed"):
        near.parcels(spark.range(1), lambda batches: batches).collect()


def test_rows_that_are_kept_later_are_left_to_spark(spark: SparkSession, files: str) -> None:
    """A frame that was looked at before it was kept: Spark gives the rows that it keeps, whatever is in the files."""
    frame = spark.read.parquet(files).select("name")
    assert near_files(frame, 2) is not None
    frame.cache()
    assert near_files(frame, 2) is None
    frame.unpersist()
    assert near_files(frame, 2) is not None


def test_a_name_that_is_no_text_leaves_a_file_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Also the name of a column that nobody asked for."""
    pq.write_table(pa.table({"name": ["a"], "qqqq": [1]}), tmp_path / "x.parquet", store_schema=False)
    path = tmp_path / "x.parquet"
    path.write_bytes(path.read_bytes().replace(b"qqqq", b"q\xff\xfeq"))
    assert near_files(spark.read.schema("name string").parquet(str(path)), 2) is None


def test_long_texts_come_a_few_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    """A small file may hold long texts: the same one of 9,000 bytes 30,000 times, in a file of a kilobyte."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 30_000, pa.int32()), pa.array(["b" * 9_000]))
    pq.write_table(pa.table({"name": texts}), tmp_path / "x.parquet", store_schema=False)
    near = near_files(spark.read.parquet(str(tmp_path / "x.parquet")), 1)
    assert near is not None
    sizes = near.parcels(spark.range(1), _sizes).collect()
    assert sum(row["home"] for row in sizes) == 30_000
    assert max(int(row["body"]) for row in sizes) < 100_000_000


def _sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for rows in batches:
        number = pa.array([rows.num_rows], pa.int32())
        yield pa.RecordBatch.from_pydict({"home": number, "body": [str(rows.nbytes).encode()], "file": [""]})


def test_settings_that_forgive_leave_files_to_spark(spark: SparkSession, files: str) -> None:
    """Spark skips what it cannot read then."""
    frame = spark.read.parquet(files).select("name")
    assert near_files(frame, 2) is not None
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        assert near_files(frame, 2) is None
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")
    assert near_files(spark.read.option("ignoreMissingFiles", "true").parquet(files).select("name"), 2) is None


def test_an_engine_loads_them(spark: SparkSession, tmp_path: Path) -> None:
    """What it derives is what the local backend derives from the same rows; a null in them is refused."""
    rows = [(f"n{at}", f"n{at * 7 % 50}") for at in range(50)]
    pq.write_table(pa.table({"x": [x for x, _ in rows], "y": [y for _, y in rows]}), tmp_path / "e.parquet")
    rules = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
    frame = spark.read.parquet(str(tmp_path / "e.parquet"))
    assert near_files(frame, 2) is not None
    local = tl.Engine(rules)
    local.apply(insert={"edge": rows})
    with tl.Engine(rules, backend="spark", spark=spark) as engine:
        engine.apply(insert={"edge": frame})
        assert set(engine["path"]) == set(local["path"])
        pq.write_table(pa.table({"x": ["a", None], "y": ["b", "c"]}), tmp_path / "null.parquet")
        with pytest.raises(tl.TidelogError):
            engine.apply(insert={"edge": spark.read.parquet(str(tmp_path / "null.parquet"))})
        assert set(engine["edge"]) == set(rows)


def _read_by_tasks(frame: DataFrame, tasks: int) -> Counter[str]:
    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in batches:
            body = pickle.dumps([tuple(row.values()) for row in rows.to_pylist()])
            yield pa.RecordBatch.from_pydict({"home": pa.array([0], pa.int32()), "body": [body], "file": [""]})

    near = near_files(frame, tasks)
    assert near is not None
    assert len(near.tasks) <= max(tasks, 1)
    parcels = near.parcels(frame, pack).collect()
    return Counter(_comparable(row) for parcel in parcels for row in pickle.loads(parcel["body"]))


def _comparable(row: tuple[object, ...]) -> str:
    return repr(tuple(row))
