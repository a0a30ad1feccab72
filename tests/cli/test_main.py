"""Exit codes are a contract: 0 fine, 1 the input is wrong, 2 we failed. Each way out is walked here."""

import json
import os
import subprocess
import sys
from types import ModuleType

import pytest

import tidelog.cli
from tidelog.errors import Place, Problem, ProgramError


@pytest.fixture
def command(monkeypatch):
    """Install a command named `probe` whose `run` is given by the test."""

    def install(run):
        module = ModuleType("tidelog.cli.probe")
        module.register = lambda subparsers: subparsers.add_parser("probe").add_argument("--depth", type=int)
        module.run = run
        monkeypatch.setitem(sys.modules, "tidelog.cli.probe", module)
        monkeypatch.setattr(tidelog.cli, "COMMANDS", (*tidelog.cli.COMMANDS, "probe"))

    return install


def test_a_command_receives_its_arguments_and_decides_the_code(command):
    """Adding a command takes one name in `COMMANDS`; nothing else is wired by hand."""
    command(lambda args: args.depth)
    assert tidelog.cli.main(["probe", "--depth", "0"]) == 0
    assert tidelog.cli.main(["probe", "--depth", "1"]) == 1


def test_wrong_input_is_code_1_and_the_error_is_the_whole_message(command, capsys):
    """The user sees place, code, sentence and remedy on stderr, no traceback, and nothing on stdout."""
    problem = Problem("E202", "variable z is unsafe", Place("rules.dl", 4, 9, "path(x, z) :- edge(x, y)."), "bind z")

    def run(args):
        raise ProgramError(problem)

    command(run)
    assert tidelog.cli.main(["probe"]) == 1
    assert capsys.readouterr() == ("", f"{problem}\n")


def test_our_fault_is_code_2_with_one_line_and_a_way_to_see_more(command, capsys, monkeypatch):
    """An unexpected exception is never shown as the user's mistake; the traceback is there on request."""

    def run(args):
        return {}["missing"]

    command(run)
    monkeypatch.delenv("TIDELOG_TRACEBACK", raising=False)
    assert tidelog.cli.main(["probe"]) == 2
    message = capsys.readouterr().err
    assert "KeyError" in message
    assert "TIDELOG_TRACEBACK=1" in message
    assert "Traceback" not in message
    monkeypatch.setenv("TIDELOG_TRACEBACK", "1")
    assert tidelog.cli.main(["probe"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["no-such-command"], ["probe", "--depth", "x"], ["--no-such-option"]])
def test_wrong_arguments_are_wrong_input(command, capsys, argv):
    """argparse itself would leave with 2, which here means that we failed."""
    command(lambda args: 0)
    assert tidelog.cli.main(argv) == 1
    assert "--help" in capsys.readouterr().err


def test_an_interrupt_ends_without_a_traceback(command, capsys):
    """Ctrl-C is neither the input's fault nor ours."""

    def run(args):
        raise KeyboardInterrupt

    command(run)
    assert tidelog.cli.main(["probe"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_help_and_version_are_fine(capsys):
    """Both print to stdout and leave with 0."""
    assert tidelog.cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tidelog ")
    assert tidelog.cli.main(["--help"]) == 0
    assert "COMMAND" in capsys.readouterr().out


def test_a_reader_that_leaves_early_is_no_fault():
    """`tidelog ... | head -0` must not end in a traceback or a failure."""
    script = (
        "import sys, types, tidelog.cli as cli\n"
        "m = types.ModuleType('tidelog.cli.flood'); m.register = lambda s: s.add_parser('flood')\n"
        "m.run = lambda args: [print('x' * 1000) for _ in range(1000)] and 0\n"
        "sys.modules['tidelog.cli.flood'] = m; cli.COMMANDS = ('flood',); sys.exit(cli.main(['flood']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert (process.wait(60), process.stderr.read()) == (0, "")
    process.stderr.close()


def test_the_module_is_the_command():
    """`python -m tidelog` and the installed script are the same program."""
    done = subprocess.run([sys.executable, "-m", "tidelog", "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "E801" in done.stderr


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [("| head -1", 0, ""), (">/dev/full", 1, "E806"), (">&-", 0, "")],
    ids=["a reader that leaves", "a full disk", "no standard output"],
)
@pytest.mark.parametrize("command", ["materialize p.dl", "maintain p.dl --updates u.jsonl"])
def test_standard_output_can_end_early(tmp_path, command, ending, code, said):
    """Neither is a fault of ours, and a reader that has seen enough is none at all."""
    (tmp_path / "p.dl").write_text(" ".join(f"q({n})." for n in range(9_000)) + " p(x) :- q(x).")
    (tmp_path / "u.jsonl").write_text("".join(f'{{"insert": [["q", "{n}"]]}}\n' for n in range(60)))
    shell = f"set -o pipefail; {sys.executable} -m tidelog {command} {ending}"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "E900" in done.stderr) == (code, False), done.stderr
    assert said in done.stderr
    assert bool(said) == ("E806" in done.stderr)


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_may_be_closed(tmp_path, closed):
    """As daemons and schedulers do it: whatever would be read is empty, whatever would be written goes nowhere."""
    (tmp_path / "p.dl").write_text('p(x) :- q(x). q("a").')
    shell = f"{sys.executable} -m tidelog shell {tmp_path / 'p.dl'} --no-history {closed}"
    given = None if "<&-" in closed else "p(x)\n"
    done = subprocess.run(["sh", "-c", shell], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("(1 row)" in done.stdout) == (given is not None)


def test_a_terminal_that_knows_few_characters_gets_escapes(tmp_path):
    """A text that its encoding lacks is no fault of ours; JSON stays JSON."""
    (tmp_path / "p.dl").write_text('p(x) :- q(x). q("ü日").', encoding="utf-8")
    base = [sys.executable, "-m", "tidelog", "query", str(tmp_path / "p.dl"), "p(x)", "--format"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    shown = {}
    for form in ("table", "json"):
        done = subprocess.run([*base, form], capture_output=True, text=True, check=False, env=env)
        assert done.returncode == 0, done.stderr
        shown[form] = done.stdout
    assert "\\xfc\\u65e5" in shown["table"]
    assert json.loads(shown["json"]) == {"x": "ü日"}
