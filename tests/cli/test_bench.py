"""`tidelog bench` runs the repository's benchmarks, and says so when they are not there."""

import subprocess

import pytest

from tidelog.cli import bench, main


def test_benchmarks_that_are_not_there(monkeypatch, capsys):
    """An installed package has no benchmarks; that is told, with what to do."""
    monkeypatch.setitem(bench.RUNNERS, "local", "benchmarks.of.nobody")
    assert main(["bench"]) == 1
    assert "E812" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "expected"), [([], []), (["--quick"], ["--quick"])])
def test_the_runner_is_started_at_the_root_of_the_repository(monkeypatch, words, expected):
    """Its exit code is ours."""
    started = []

    def start(command, cwd, **_):
        started.append((command[2:], (cwd / "benchmarks" / "run.py").is_file()))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", start)
    assert main(["bench", *words]) == 0
    assert started == [(["benchmarks.run", *expected], True)]
