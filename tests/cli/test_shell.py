"""`tidelog shell` and `tidelog query` as processes: a script, a plain terminal, and a real one."""

import json
import os
import re
import stat
import subprocess
import sys

import pexpect
import pytest

from tidelog.cli import main

RULES = "path(x, y) :- edge(x, y).\nr2: path(x, z) :- edge(x, y), path(y, z).\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.dl").write_text(RULES)
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "edge.csv").write_text("a,b\nb,c\n")
    (tmp_path / "facts" / "blocked.csv").write_text("c\n")
    return tmp_path


def shell(folder, *more):
    return [sys.executable, "-m", "tidelog", "shell", str(folder / "p.dl"), "--facts", str(folder / "facts"), *more]


def drawn(text):
    """A pattern for a text on a terminal, which may be drawn in pieces with control sequences between them."""
    return r"(?:\x1b\[[0-9;?]*[A-Za-z])*".join(map(re.escape, text))


def test_a_script_on_standard_input(folder):
    """Answers only on stdout, mistakes with their line on stderr, and code 1 because there was one."""
    script = 'path("a", x),\n  !blocked(x)\nedge("c", "d").\npth(x, y)\npath("a", "d")\n'
    done = subprocess.run(shell(folder), input=script, capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout.startswith("x\n-\nb\n(1 row)\nChange(version 2")
    assert done.stdout.endswith("yes\n")
    assert "line 4: E802" in done.stderr
    assert done.returncode == 1


def test_in_a_real_terminal(folder):
    """Completion, several lines, an abandoned line, history that only its owner can read, Ctrl-D."""
    environment = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(folder / "state"), "PROMPT_TOOLKIT_NO_CPR": "1"}
    child = pexpect.spawn(shell(folder)[0], shell(folder)[1:], env=environment, encoding="utf-8", timeout=60)
    child.expect("tidelog>")
    child.send("pat\t")
    child.expect(drawn("path"))
    child.send('("a", x)\r')
    child.expect(r"\(2 rows\)")
    child.expect("tidelog>")
    child.send("reach(x) :-\r")
    child.expect(r"\.\.\.")
    child.send('path("a", x).\r')
    child.expect("inserted")
    child.expect("tidelog>")
    child.send("edge(x,")
    child.send("\x03")
    child.expect("abandoned")
    child.expect("tidelog>")
    child.send(".undo\r")
    child.expect("deleted")
    child.expect("tidelog>")
    child.sendeof()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    history = folder / "state" / "tidelog" / "history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert 'path("a", x)' in history.read_text()


def test_in_a_dumb_terminal_and_without_history(folder):
    """Plain lines with a prompt and no escape sequences; nothing is remembered."""
    environment = {**os.environ, "TERM": "dumb", "XDG_STATE_HOME": str(folder / "state")}
    command = shell(folder, "--no-history")
    child = pexpect.spawn(command[0], command[1:], env=environment, encoding="utf-8", timeout=200, echo=False)
    child.expect("tidelog> ")
    child.send('path("a", x)\n')
    child.expect("tidelog> ")
    assert "\x1b" not in child.before
    assert re.search(r"b\r\nc\r\n\(2 rows\)", child.before)
    child.send(".quit\n")
    child.expect(pexpect.EOF)
    assert not (folder / "state").exists()


def test_files_a_program_and_parameters(folder, capsys):
    """Every file is a relation; the program comes before the question; a parameter is a value."""
    facts = ["--facts", str(folder / "facts")]
    assert main(["query", "edge(x, y), !blocked(y)", *facts, "--format", "csv"]) == 0
    assert capsys.readouterr().out == "x,y\na,b\n"
    assert main(["query", str(folder / "p.dl"), *facts, "path($from, x)", "--param", "from=a", "--format", "json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [{"x": "b"}, {"x": "c"}]
    assert main(["query", 'path("a", "c")', *facts, str(folder / "p.dl")]) == 1
    assert main(["query", *facts]) == 1


def test_a_stored_version_is_asked(folder, capsys):
    """`--state` and `--at`: what held then."""
    import tidelog as tl

    engine = tl.Engine(RULES)
    engine.apply(insert={"edge": [("a", "b")]})
    engine.save(folder / "kept")
    engine.apply(insert={"edge": [("b", "c")]})
    engine.save(folder / "kept")
    state = ["--state", str(folder / "kept")]
    assert main(["query", "path(x, y)", *state]) == 0
    assert "(3 rows)" in capsys.readouterr().out
    assert main(["query", "path(x, y)", *state, "--at", "1"]) == 0
    assert "(1 row)" in capsys.readouterr().out
    assert main(["query", str(folder / "p.dl"), "path(x, y)", *state]) == 1
