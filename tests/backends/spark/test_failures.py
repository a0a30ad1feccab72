"""What Spark says when it fails, in one sentence; no session is needed to read its texts."""

import pytest
from pyspark.errors import AnalysisException

from tidelog.backends.spark.cluster.failures import cause
from tidelog.backends.spark.cluster.master import problem
from tidelog.cli import main

JAVA = """An error occurred while calling o42.load.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2844)
Caused by: java.io.FileNotFoundException: /data/edge.parquet does not exist
\tat java.base/java.io.FileInputStream.open0(Native Method)
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (JAVA, "/data/edge.parquet does not exist"),
        ("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: cvs. SQLSTATE: 42K02", "[DATA_SOURCE_NOT_FOUND]"),
        (
            "An error occurred while calling o1.load.\n: org.apache.spark.SparkClassNotFoundException:"
            " [DATA_SOURCE_NOT_FOUND] Failed to find x.\nCaused by: java.lang.ClassNotFoundException: x.DefaultSource",
            "[DATA_SOURCE_NOT_FOUND] Failed to find x.",
        ),
        ("", ""),
        ("\n\n", ""),
        ("x" * 5000, "x" * 300),
    ],
)
def test_one_line_says_what_went_wrong(text, sentence):
    """The innermost cause, without classes, stacks and states."""
    found = cause(text)
    assert found.startswith(sentence)
    assert "\n" not in found
    assert "SQLSTATE" not in found
    assert len(found) <= 300


@pytest.mark.parametrize(
    "master",
    [
        *("local", "local[*]", "local[4]", "local[2,3]", "local-cluster[2,1,1024]", "yarn"),
        *("spark://host:7077", "spark://a:1,b:2", "k8s://https://x:443", "sc://host"),
    ],
)
def test_addresses_of_clusters_pass(master):
    """Whatever Spark takes."""
    assert problem(master) is None


@pytest.mark.parametrize("master", ["", "locl[*]", "local[x]", "spark:/host", "cluster", "local[*]; rm", "\x1b[31m"])
def test_other_texts_are_refused_with_a_remedy(master):
    """Before Java starts."""
    sentence, remedy = problem(master) or ("", "")
    assert "no master of Spark" in sentence
    assert "local[*]" in remedy
    assert "\x1b" not in sentence


@pytest.mark.parametrize("verbose", [False, True])
def test_an_exception_of_spark_is_no_fault_of_ours(monkeypatch, capsys, verbose):
    """Exit code 1, one sentence and a remedy; the stack only on demand."""
    import tidelog.cli.check as command

    def fail(_args):
        raise AnalysisException(JAVA)

    monkeypatch.setattr(command, "run", fail)
    monkeypatch.setenv("TIDELOG_TRACEBACK", "")
    assert main(["check", "x.dl", *(["--verbose"] if verbose else [])]) == 1
    told = capsys.readouterr().err
    assert told.startswith("E702")
    assert "/data/edge.parquet does not exist" in told
    assert "fault of Tidelog" not in told
    assert ("FileInputStream" in told) == verbose
    assert ("Traceback" in told) == verbose
