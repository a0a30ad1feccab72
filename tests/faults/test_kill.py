"""`kill -9` at every named place: the state is the one before or the one after, and the run goes on from there.

Figure 9 of the guarantees. A process that dies cannot tidy up, so nothing may depend on it: acknowledged batches are
there, the batch in flight is there wholly or not at all, and batches that come again change nothing.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.faults.stream import BATCHES, PROGRAM, batches, follow
from tests.state.streams import sight
from tidelog import Engine
from tidelog.state import far, lock, log
from tidelog.state.failpoints import FAILPOINTS, FORGETTING, VARIABLE, FailpointError, raising
from tidelog.state.log import StateLog
from tidelog.state.reading import read_versions

ROOT = Path(__file__).parents[2]


def killed(directory: Path, seed: int, failpoint: str, *backend: str) -> list[int]:
    """Follow the stream in a process that dies at the failpoint; the batches that it acknowledged."""
    acknowledged = killed_if_reached(directory, seed, failpoint, *backend)
    assert acknowledged is not None, f"{failpoint} was not reached"
    return acknowledged


def killed_if_reached(directory: Path, seed: int, failpoint: str, *backend: str) -> list[int] | None:
    """As `killed`; None if the stream ends before the failpoint.

    Every process that has the output ends first: Java, too, which ends when its driver does.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.stream", str(directory), str(seed), *backend],
        cwd=ROOT,
        env={**os.environ, VARIABLE: failpoint},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return None if done.returncode == 0 else [int(line) for line in done.stdout.split()]


def expected(seed: int, count: int) -> object:
    """What an engine that nobody disturbs holds after a number of batches; None for what is before the first facts."""
    engine = Engine(PROGRAM)
    engine.apply(insert={"edge": [(0, 1), (1, 2)]})
    for update in batches(seed)[:count]:
        engine.apply_update(update)
    return sight(engine)


def unnamed(directory: Path) -> set[str]:
    """Files that no version names: rows, drafts of them, and files beside the table; and strange entries of the log."""
    log, segments = directory / "_delta_log", directory / far.FOLDER
    named = far.files_of(directory, (info.store for info in read_versions(directory)))
    for entry in log.glob("*.json"):
        lines = [json.loads(line) for line in entry.read_bytes().split(b"\n") if line]
        named |= {line["add"]["path"] for line in lines if "add" in line} | {entry.name}
    found = [*directory.iterdir(), *log.iterdir(), *(segments.iterdir() if segments.exists() else ())]
    return {path.name for path in found if path.is_file()} - named - {lock.NAME}


def check(directory: Path, seed: int, acknowledged: list[int], many: int = BATCHES, **where: Any) -> None:
    """Look at what a process left that had acknowledged a number of batches, and continue."""
    with StateLog(directory) as state:
        is_empty, last = state.is_empty, state.last_batch()
    present = 0 if last is None else last + 1
    assert present in (len(acknowledged), len(acknowledged) + 1), "an acknowledged batch is lost, or one too many there"
    if not is_empty:
        engine = Engine.open(directory, **where)
        engine.verify()
        assert sight(engine) == expected(seed, present), "the state is neither the one before nor the one after"
        engine.close()
    assert follow(directory, batches(seed)[:many], lambda batch: None, **where) == expected(seed, many)
    assert unnamed(directory) == set(), "files are left that no version names"
    recorded = [info.batch for info in read_versions(directory) if info.batch is not None]
    assert recorded == list(range(many)), "a batch is missing or applied twice"


@pytest.mark.parametrize("failpoint", [*FAILPOINTS, *FORGETTING])
def test_a_killed_process_leaves_a_version(failpoint, tmp_path):
    """Once per place, the second time that it is reached, so that there is a version before."""
    check(tmp_path / "state", 1, killed(tmp_path / "state", 1, f"{failpoint}:2"))


@pytest.mark.parametrize("failpoint", ["files-written", "committed"])
def test_the_very_first_save_can_be_killed(failpoint, tmp_path):
    """Before there is any version, the way out is to begin again."""
    check(tmp_path / "state", 1, killed(tmp_path / "state", 1, failpoint))


@pytest.mark.long
@pytest.mark.parametrize("failpoint", [*FAILPOINTS, *FORGETTING])
def test_a_killed_process_always_leaves_a_version(failpoint, tmp_path):
    """Fifty times per place, over seeds and times of passing; not every stream passes a merge twice."""
    kills = 0
    for seed in range(100):
        directory = tmp_path / str(seed)
        acknowledged = killed_if_reached(directory, seed, f"{failpoint}:{1 + seed % 2}")
        if acknowledged is not None:
            check(directory, seed, acknowledged)
            kills += 1
        if kills == 50:
            return
    pytest.fail(f"{failpoint} was reached {kills} times only")


def killed_by_chance(directory: Path, seed: int) -> list[int]:
    """Follow the stream in a process that is killed some moments after some batch; the acknowledged ones."""
    draw = random.Random(seed)
    command = [sys.executable, "-m", "tests.faults.stream", str(directory), str(seed)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(draw.randint(1, BATCHES // 2))]
    time.sleep(draw.random() * 0.05)
    process.kill()
    rest, _ = process.communicate()
    return acknowledged + [int(line) for line in rest.split()]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_process_killed_by_chance_leaves_a_version(seed, tmp_path):
    """Places that have no name are places, too: inside the table library, inside the system."""
    check(tmp_path / "state", seed, killed_by_chance(tmp_path / "state", seed))


@pytest.mark.long
def test_processes_killed_by_chance_leave_versions(tmp_path):
    """A hundred moments."""
    for seed in range(100):
        check(tmp_path / str(seed), seed, killed_by_chance(tmp_path / str(seed), seed))


@pytest.mark.parametrize("failpoint", FAILPOINTS)
def test_a_failed_save_can_be_repeated_in_the_same_process(failpoint, tmp_path, monkeypatch):
    """A save that raises, before its commit or after it, is repeated as if nothing had happened."""
    monkeypatch.setattr(log, "FAN_OUT", 4)
    monkeypatch.setattr(log, "LEAST_CHANGES", 40)
    engine, undisturbed, failures = Engine(PROGRAM), Engine(PROGRAM), 0
    for number, update in enumerate(batches(3)):
        engine.apply_update(update)
        undisturbed.apply_update(update)
        try:
            with raising(failpoint):
                engine.save(tmp_path / "state", batch=number)
        except FailpointError:
            failures += 1
            with StateLog(tmp_path / "state") as state:
                if not state.has_batch(number):
                    engine.save(state, batch=number)
        assert sight(Engine.open(tmp_path / "state")) == sight(undisturbed)
    assert failures
    assert [info.batch for info in read_versions(tmp_path / "state")] == list(range(BATCHES))
