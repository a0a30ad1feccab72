"""Every command of the tutorial is run, in order, and shows what the tutorial says it shows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tidelog.cli import main

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(script: str) -> list[str]:
    """The commands of a script: those of `tidelog` one by one, what lies between them as one."""
    found, here, ending = [], [], None
    for line in script.splitlines():
        if ending is None and line.startswith("tidelog "):
            found += ["\n".join(here), line]
            here = []
            continue
        here.append(line)
        if ending is None and (match := re.search(r"<<'(\w+)'", line)):
            ending = match[1]
        elif line == ending:
            ending = None
    return [command for command in (*found, "\n".join(here)) if command.strip()]


def interrupt_soon() -> None:
    """Ctrl-C, as soon as somebody listens and has published the updates, or has had more than enough time to do it."""
    before, most = signal.getsignal(signal.SIGINT), time.monotonic() + 120

    def send() -> None:
        while signal.getsignal(signal.SIGINT) is before:
            time.sleep(0.1)
        while not Path("out/changes/version=4").exists() and time.monotonic() < most:
            time.sleep(0.1)
        time.sleep(1)  # mostly it waits for more by then; a version in hand would be finished
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=send, daemon=True).start()


def run(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    if not command.startswith("tidelog "):
        return subprocess.run(["bash", "-ec", command], check=True, capture_output=True, text=True).stdout
    arguments = command.split()[1:]
    if arguments[0] == "run" and len(arguments) == 2:
        interrupt_soon()
    assert main(arguments) == 0, command
    shown = capsys.readouterr()
    return shown.out + shown.err


def test_the_tutorial(spark, tmp_path, monkeypatch, capsys):
    """In an empty folder, from the first file to the last version."""
    monkeypatch.chdir(tmp_path)
    shown = ""
    for kind, text in BLOCK.findall(TUTORIAL.read_text(encoding="utf-8")):
        if kind == "sh":
            shown = "\n".join(run(command, capsys) for command in commands(text))
        elif kind == "text":
            for line in text.splitlines():
                assert line in shown, f"{line!r} is not in:\n{shown}"
        elif kind == "python":
            exec(text, {})  # the tutorial's own text
            shown = capsys.readouterr().out
    assert shown.splitlines()[0].startswith('recall("cabinet")  by recall:')
    (reject,) = [
        row for file in Path("rejects").glob("part=*/*.parquet") for row in pq.ParquetFile(file).read().to_pylist()
    ]
    assert (reject["line"], reject["reason"]) == (7, "quantity is no number")
    assert not list(Path().glob("spark-warehouse"))
