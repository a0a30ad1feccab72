"""What Spark says when it fails, in one sentence; no session is needed to read its texts."""

import pytest
from pyspark.errors import AnalysisException

from tidelog.backends.spark.cluster.failures import cause, failed
from tidelog.backends.spark.cluster.master import problem
from tidelog.cli import main

JAVA = """An error occurred while calling o42.load.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2844)
Caused by: java.io.FileNotFoundException: /data/edge.parquet does not exist
\tat java.base/java.io.FileInputStream.open0(Native Method)
"""
TASK = """
  An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "near_files.py", line 99, in _rows
    verify(path)
OSError: checksum error: /data/x.parquet is not as it was written
"""
CHAINED = """An error occurred while calling o42.count.
: org.apache.spark.SparkException: Job aborted due to stage failure: org.apache.spark.api.python.PythonException: \
Traceback (most recent call last):
  File "a.py", line 1, in f
ValueError: the first one

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 2, in g
    h()
    ^^^

KeyError: 'x'

\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala:5)
"""
CUT = """An error occurred while calling o176.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file \
hdfs://host/data/y%201.parquet.  SQLSTATE: KD001
Caused by: java.io.EOFException: Read past End of File
"""
OURS = """
  An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "near_files.py", line 99, in _rows
OSError: x

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "near_files.py", line 101, in _rows
tidelog.errors.PipelineError: E710  a file is gone
  bring it back
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
        (TASK, "checksum error: /data/x.parquet is not as it was written"),
        (CUT, "hdfs://host/data/y%201.parquet: Read past End of File"),
        (CHAINED, "KeyError: 'x'"),
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


def test_what_a_task_of_ours_says_keeps_its_code_and_its_remedy():
    """A damaged file told people to apply the update again, and only the first line of the stack said why."""
    [problem] = failed(AnalysisException(OURS)).problems
    assert (problem.code, problem.sentence, problem.remedy) == ("E710", "a file is gone", "bring it back")


@pytest.mark.parametrize("text", [TASK, CUT])
def test_a_damaged_file_is_not_read_again_before_it_is_mended(text):
    """Whether our task has read it or Spark."""
    [problem] = failed(AnalysisException(text)).problems
    assert problem.code == "E702"
    assert "/data/" in problem.sentence
    assert "write this file anew" in problem.remedy


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
