"""Many kills at one named place of a save, quickly.

What      : `kill_at` kills processes that follow a stream, looks at what each left, and continues the stream.
Idea      : every stream and every look is a process of its own, forked from one that has loaded everything but has
            never touched a state; so a kill costs a fraction of a second.
Invariant : what counts as right is `check` of test_kill.py.
"""

from __future__ import annotations

import os
import shutil
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.faults.stream import PROGRAM, batches, follow
from tests.faults.test_kill import check
from tidelog import Engine
from tidelog.state.failpoints import VARIABLE


def kill_at(place: str, kills: int, first_seed: int, folder: Path) -> Counter[str]:
    """Kill that many processes at one place; which version each left."""
    Engine(PROGRAM).apply(insert={"edge": [(0, 1)]})  # loads the kernels
    left, seed = Counter[str](), first_seed
    while left["kills"] < kills:
        assert seed < first_seed + 6 * kills, f"{place} was reached {left['kills']} times only"
        directory = folder / f"{place}-{seed}"
        acknowledged = _killed(directory, seed, f"{place}:{1 + seed % 3}")
        if acknowledged is not None:
            code, said = _forked(lambda pipe, its=(directory, seed, acknowledged): _look(pipe, *its))
            assert code == 0, f"seed {seed}: {said.decode(errors='replace')}"
            left.update(["kills", said.decode()])
        shutil.rmtree(directory, ignore_errors=True)
        seed += 1
    return left


def _forked(work: Callable[[int], None]) -> tuple[int, bytes]:
    """Do something in a process of its own, which may write to a pipe; how it ended, and what it wrote."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(reading)
            work(writing)
            code = 0
        except BaseException:
            os.write(writing, traceback.format_exc().encode()[-4000:])
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said


def _killed(directory: Path, seed: int, failpoint: str) -> list[int] | None:
    """The batches that a process acknowledged before it died at the failpoint; None if it got to the end."""

    def work(pipe: int) -> None:
        os.environ[VARIABLE] = failpoint

        def acknowledge(batch: int) -> None:
            os.write(pipe, f"{batch} ".encode())

        follow(directory, batches(seed), acknowledge)

    code, said = _forked(work)
    if code == 0:
        return None
    assert code == -signal.SIGKILL, said.decode(errors="replace")
    return [int(word) for word in said.split()]


def _look(pipe: int, directory: Path, seed: int, acknowledged: list[int]) -> None:
    from tidelog.state.log import StateLog

    with StateLog(directory) as state:
        last = state.last_batch()
    check(directory, seed, acknowledged)
    is_before = (0 if last is None else last + 1) == len(acknowledged)
    os.write(pipe, b"left the version before" if is_before else b"left the version after")
