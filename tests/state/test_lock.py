"""An interrupt in a save leaves the directory free for the next save.

Taught by random interrupts: three of four runs met one between taking the lock and the first `try` behind it. The
descriptor stayed open, and every later save of that process was refused because another writer, itself, held the state.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import pytest

import tidelog as tl
from tidelog.errors import StateError
from tidelog.state.lock import Lock
from tidelog.state.log import StateLog, opened

PLACES = (Lock.__init__, Lock.release, StateLog.__init__, StateLog.__enter__, StateLog.__exit__, StateLog.close, opened)


def codes() -> Iterator[CodeType]:
    for place in PLACES:
        yield getattr(place, "__wrapped__", place).__code__


def interrupted(call: Callable[[], object], code: CodeType, line: int) -> BaseException | None:
    """Interrupt a call where it comes to a line; what came out."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not code:
            return trace if event == "call" else None
        if event == "line" and frame.f_lineno == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
    return None


def test_a_save_follows_an_interrupted_one(tmp_path):
    """At every line, and also while the traceback of the interrupt is kept, as an interactive session keeps it."""
    engine = tl.Engine("p(1).")
    engine.save(tmp_path)
    kept = []
    for code in codes():
        for line in sorted({line for _, _, line in code.co_lines() if line}):
            engine.apply(insert={"p": [(len(kept) + 2,)]})
            kept.append(interrupted(lambda: engine.save(tmp_path), code, line))
            engine.save(tmp_path)
    assert sum(error is not None for error in kept) > 20
    assert set(tl.Engine.open(tmp_path)["p"]) == set(engine["p"])


def test_a_log_that_is_kept_open_is_not_taken_back(tmp_path):
    """It may belong to a pipeline in the same thread."""
    with StateLog(tmp_path), pytest.raises(StateError) as refused:
        tl.Engine("p(1).").save(tmp_path)
    assert refused.value.code == "E607"
