"""The session we start is the one the design asks for, and a session that others started stays theirs."""

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyspark
import pytest

from tidelog.backends.spark.cluster.session import close, nameless_user, session, settings
from tidelog.backends.spark.worker_daemon import without_archives


def test_an_active_session_is_taken_as_it_is(spark):
    """Asking again with other options gives the same session and changes none of its settings."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    again = session("local[7]", options={"spark.sql.shuffle.partitions": "99"})
    assert again is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


def test_a_session_of_another_thread_is_taken_as_it_is(spark):
    """Taught by a thread that asked: it has no active session of its own, so the settings of the one that runs were
    changed, and it was taken for one that may be stopped."""
    before, found = dict(spark.conf.getAll), []
    thread = threading.Thread(
        target=lambda: found.append(session("local[7]", options={"spark.sql.ansi.enabled": "false"}))
    )
    thread.start()
    thread.join()
    assert found == [spark]
    assert dict(spark.conf.getAll) == before


@pytest.mark.long
@pytest.mark.spark
def test_spark_submit_says_where_a_program_runs(tmp_path):
    """Its master and its settings win over ours, and the session ends with the program."""
    program = tmp_path / "program.py"
    program.write_text(
        "from tidelog.backends.spark.cluster.session import close, session\n"
        "spark = session('local[7]', options={'spark.sql.shuffle.partitions': '5'})\n"
        "names = 'spark.sql.shuffle.partitions', 'spark.sql.ansi.enabled'\n"
        "print(spark.sparkContext.master, *map(spark.conf.get, names))\n"
        "close(spark)\n"
    )
    script = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYSPARK_PYTHON": sys.executable}
    arguments = ["--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=3", str(program)]
    done = subprocess.run([script, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip().splitlines()[-1:] == ["local[1] 3 true"], done.stderr[-2000:]


def test_a_foreign_session_is_never_stopped(spark):
    """`close` on a session without our mark leaves it running."""
    foreign = spark.newSession()
    close(foreign)
    assert foreign.range(3).count() == 3


def test_overflow_raises(spark):
    """ANSI mode is on: a sum beyond 64 bits is an error, not a wrapped number."""
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        spark.sql("SELECT 9223372036854775807 + 1L").collect()


def test_arrow_tables_go_in_and_come_out(spark):
    """The exchange format of the backend works on this Python, this Java and these versions."""
    table = pa.table({"x": [1, 2, 3], "y": ["a", "b", None]})
    assert spark.createDataFrame(table).orderBy("x").toArrow().to_pydict() == table.to_pydict()


def test_settings_for_one_machine_do_not_leak_to_a_cluster():
    """A driver that announces 127.0.0.1 cannot be reached by executors on other machines."""
    assert settings("local[2]")["spark.driver.host"] == "127.0.0.1"
    assert "spark.driver.host" not in settings("spark://host:7077")
    assert "spark.sql.shuffle.partitions" not in settings("yarn")


def test_the_log_settings_that_java_is_given_are_there():
    """Taught by a move of folders that left the file behind: Java says nothing about it and logs every warning."""
    option, *quick = settings("local[2]")["spark.driver.extraJavaOptions"].split()
    assert Path(urlsplit(option.partition("=")[2]).path).is_file()
    assert quick
    assert not set(quick) & set(settings("yarn")["spark.driver.extraJavaOptions"].split())


def test_workers_of_a_session_of_our_own_start_with_all_loaded(spark):
    """Workers are forked from a process that has imported what tasks use, and do not read Spark's archives."""

    def seen(batches):
        names = "numba", "tidelog.backends.spark.bulk.shard_tasks"
        for _ in batches:
            loaded = all(name in sys.modules for name in names)
            yield pa.RecordBatch.from_pydict({"loaded": [loaded], "archive": [".zip" in pyspark.__file__]})

    assert spark.conf.get("spark.python.daemon.module") == "tidelog.backends.spark.worker_daemon"
    found = spark.range(0, 2, 1, 2).mapInArrow(seen, "loaded boolean, archive boolean").toArrow().to_pylist()
    assert found == [{"loaded": True, "archive": False}] * 2


def test_collecting_garbage_in_workers_does_not_look_through_what_is_loaded(spark):
    """Spark's daemon collects after every task: a hundred thousand objects of modules took 65 ms each time."""

    def seen(batches):
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"kept": [gc.get_freeze_count()], "collects": [gc.isenabled()]})

    (found,) = spark.range(0, 1, 1, 1).mapInArrow(seen, "kept long, collects boolean").toArrow().to_pylist()
    assert found["kept"] > 50_000
    assert found["collects"]


def test_archives_stay_where_nothing_else_has_what_they_hold(tmp_path):
    """PySpark that is installed is taken from its folder; one that only the archive has is taken from there."""
    home = Path(pyspark.__file__).parent
    archive = str(home / "python" / "lib" / "pyspark.zip")
    assert without_archives([archive, "elsewhere.zip", *sys.path]) == ["elsewhere.zip", *sys.path]
    assert without_archives([archive, str(tmp_path)]) == [archive, str(tmp_path)]


def test_the_users_options_win():
    """Every setting of ours is a default."""
    assert settings("local[2]", {"spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"


def test_a_user_without_a_name_is_told_before_java_gives_up(monkeypatch):
    """As with `docker run --user 1000`: Java printed a stack about a folder `?/.ivy2`, and no word of the cause."""

    def unknown(number):
        raise KeyError(number)

    assert nameless_user() is None
    monkeypatch.setattr("pwd.getpwuid", unknown)
    sentence, remedy = nameless_user()
    assert "has no name on this system" in sentence
    assert "/etc/passwd" in remedy
