"""`tidelog init` and `tidelog run`, as far as they go without Spark."""

import subprocess
import sys

import pytest

from tidelog.cli import main
from tidelog.cli.init import EXAMPLE


def test_the_example_is_fine_and_is_not_overwritten(tmp_path, capsys):
    """What `init` writes passes its own check; a second `init` in the same place writes nothing."""
    assert main(["init", str(tmp_path / "p")]) == 0
    assert all((tmp_path / "p" / name).is_file() for name in EXAMPLE)
    assert main(["run", str(tmp_path / "p/pipeline.toml"), "--check"]) == 0
    assert capsys.readouterr().out.endswith("pipeline.toml: fine\n")
    (tmp_path / "p/rules.dl").write_text("mine(1).")
    assert main(["init", str(tmp_path / "p")]) == 1
    assert "E806" in capsys.readouterr().err
    assert (tmp_path / "p/rules.dl").read_text() == "mine(1)."


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("pipeline.toml", 'state = "state"', 'sate = "state"', "did you mean state?"),
        ("rules.dl", "reachable(x), open", "!reachable(x), open", "E2"),
        ("pipeline.toml", 'format = "csv"', 'format = "cvs"', "did you mean csv?"),
        ("pipeline.toml", 'format = "parquet"', 'format = "parqet"', "did you mean parquet?"),
        ("pipeline.toml", 'master = "local[*]"', 'master = "locl[2]"', "did you mean local[*]?"),
    ],
)
def test_a_mistake_is_the_users_and_has_a_place(tmp_path, capsys, file, old, new, words):
    """Wrong pipeline or wrong rules: exit code 1, file and line, before Spark is even started."""
    main(["init", str(tmp_path)])
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    assert main(["run", str(tmp_path / "pipeline.toml"), "--check"]) == 1
    told = capsys.readouterr().err
    assert words in told
    assert f"{file}:" in told


def test_help_needs_no_spark():
    """Describing the commands imports nothing heavy."""
    code = "import sys, tidelog.cli as c; c.main(['run', '--help']); sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
