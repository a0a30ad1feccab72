"""Kernels before they are compiled.

What      : a `Kernel` is a function over arrays that runs as plain Python while there is little to do, and compiled
            from then on.
Idea      : Numba takes half a second and 70 MB to import, and some seconds to compile on a fresh installation. An
            engine with a hundred facts is done long before that, even if Python does all of it. So kernels are
            interpreted until a call is large, or until interpreting has taken about as long as the change takes: who
            rents until the rent has reached the price, never pays more than twice. Then Numba is imported, and compiled
            kernels take the places of interpreted ones in every module, for the rest of the process.
Invariant : both ways leave the same bits (tests/backends/local/test_interpreting.py). A call is done wholly or not at
            all, whatever interrupt arrives, as in compiled code: kernels are interpreted in a thread of their own, and
            an interrupted caller waits for it.
Never     : Numba is imported before it is needed.

The environment variable TIDELOG_KERNELS chooses one way for good: `compiled` or `interpreted`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, get_ident
from typing import Any

import numpy as np

from tidelog.beginning import begin

_LARGE = 1 << 12
"""Arrays of more rows than this are not interpreted: 4,096 rows take about 0.2 s to store."""
_FUEL = 1 << 11
"""How many candidates an interpreted join looks at before it stops and can go on compiled: about 0.1 s."""
_PATIENCE, _PATIENCE_COLD = 0.3, 2.0
"""Seconds of interpreting before the change to compiled kernels, which are on disk or have to be compiled first."""

Answer = Any
"""What a kernel gives: numbers, or nothing."""


class Kernel:
    """One kernel, in both ways."""

    def __init__(self, function: Callable[..., Answer], options: dict[str, Any]) -> None:
        self.function = function
        self.options = options
        self.compiled: Callable[..., Answer] | None = None
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: object) -> Answer:
        """Run it one way or the other."""
        if self.compiled is None and _INTERPRETER.takes(arguments):
            return _INTERPRETER.run(self, arguments)
        return compiled(self)(*arguments)


class _Interpreter:
    """The thread that interprets, what it has spent, and which kernels there are."""

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []
        self.is_over = False
        self.chosen = os.environ.get("TIDELOG_KERNELS", "")
        self._spent = 0.0
        self._patience: float | None = None
        self._making = Lock()
        self._worker = 0
        self._inbox: SimpleQueue[Callable[[], None]] | None = None

    def takes(self, arguments: tuple[object, ...]) -> bool:
        """Whether a call is interpreted: a part of another one always, any other while little has been spent."""
        if get_ident() == self._worker or self.chosen == "interpreted":
            return True
        if self.is_over or self.chosen == "compiled":
            return False
        if self._patience is None:
            self._patience = _PATIENCE if is_on_disk() else _PATIENCE_COLD
        is_large = any(isinstance(one, np.ndarray) and len(one) > _LARGE for one in arguments[:3])
        return not is_large and self._spent < self._patience

    def run(self, kernel: Kernel, arguments: tuple[object, ...]) -> Answer:
        """Interpret a call."""
        if get_ident() == self._worker:
            return kernel.function(*arguments)

        def work() -> Answer:
            begun = time.thread_time()
            try:
                return _plain(kernel.function(*arguments))
            finally:
                self._spent += time.thread_time() - begun

        return self.aside(work)

    def aside(self, work: Callable[[], Answer]) -> Answer:
        """Do some work where no interrupt arrives; a thread that is interrupted meanwhile waits until it is done."""
        answers: list[Answer] = []
        failures: list[BaseException] = []

        def step() -> None:
            try:
                answers.append(work())
            except BaseException as failure:  # it belongs to the caller
                failures.append(failure)

        inbox = self._thread()
        try:
            _put_and_wait(inbox, step)
        except BaseException:
            while True:
                try:
                    _put_and_wait(inbox, lambda: None)  # behind the work, if that was put there at all
                    break
                except BaseException:  # noqa: S112 - one interrupt is reported, the others are the same
                    continue
            raise
        if failures:
            raise failures[0]
        return answers[0]

    def drain(self) -> None:
        """Wait for what an interrupted caller has left behind: a second interrupt may have ended its own waiting."""
        if self._inbox is not None and get_ident() != self._worker:
            _put_and_wait(self._inbox, lambda: None)

    def _thread(self) -> SimpleQueue[Callable[[], None]]:
        with self._making:
            if self._inbox is None:
                inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
                begin(partial(self._work, inbox))
                self._inbox = inbox
            return self._inbox

    def _work(self, inbox: SimpleQueue[Callable[[], None]]) -> None:
        self._worker = get_ident()
        np.seterr(all="ignore")  # hashes wrap around, and division follows IEEE
        while True:
            inbox.get()()

    def forked(self) -> None:
        """A child process has no threads of its parent."""
        self._making, self._inbox, self._worker = Lock(), None, 0


_INTERPRETER = _Interpreter()
os.register_at_fork(after_in_child=_INTERPRETER.forked)


def kernel(function: Callable[..., Answer], **options: bool | str) -> Callable[..., Answer]:
    """The function as a kernel; the options are Numba's."""
    made = Kernel(function, options)
    _INTERPRETER.kernels.append(made)
    if _INTERPRETER.is_over:  # a module that is imported late
        from tidelog.backends.local.kernels.compiling import made as compiled_form

        made.compiled = compiled_form(function, options)
        return made.compiled
    return made


def compiled(made: Kernel) -> Callable[..., Answer]:
    """The compiled form of a kernel; from now on everything is compiled."""
    if made.compiled is None:
        if get_ident() == _INTERPRETER._worker:
            _change()
        else:
            _INTERPRETER.aside(_change)
    assert made.compiled is not None
    return made.compiled


def compile_from_now_on() -> None:
    """Interpret nothing any more in this process."""
    if not _INTERPRETER.is_over:
        _INTERPRETER.aside(_change)


def drain() -> None:
    """Return when no kernel is being interpreted. Call it before undoing or repeating what was interrupted.

    An interrupt in here is raised before anything was undone, so that the next caller begins here again.
    """
    _INTERPRETER.drain()


def is_interpreting() -> bool:
    """Whether calls may still be interpreted."""
    return not _INTERPRETER.is_over


def bounded(most: int) -> int:
    """How many candidates a join may look at before it stops: `most`, or fewer as long as joins are interpreted."""
    return most if _INTERPRETER.is_over else min(most, _FUEL)


def _change() -> None:
    """Put compiled kernels in the places of interpreted ones, in every module of ours."""
    from tidelog.backends.local.kernels import intrinsics, memory
    from tidelog.backends.local.kernels.compiling import made

    replaced: dict[int, object] = {}
    for name, one in vars(memory).items():
        if name.startswith(("load", "store", "fetch")):
            replaced[id(one)] = getattr(intrinsics, name)
    for one in list(_INTERPRETER.kernels):
        one.compiled = one.compiled or made(one.function, one.options)
        replaced[id(one)] = one.compiled
    _INTERPRETER.is_over = True
    for name, module in list(sys.modules.items()):
        if name.startswith(("tidelog.backends.", "tidelog.circuits.")):
            for attribute, value in list(vars(module).items()):
                if id(value) in replaced:
                    setattr(module, attribute, replaced[id(value)])


def _put_and_wait(inbox: SimpleQueue[Callable[[], None]], work: Callable[[], None]) -> None:
    done = Lock()
    done.acquire()

    def step() -> None:
        try:
            work()
        finally:
            done.release()

    inbox.put(step)
    done.acquire()


def _plain(answer: Answer) -> Answer:
    """An answer as compiled code gives it: Python's numbers instead of NumPy's."""
    if isinstance(answer, tuple):
        return tuple(map(_plain, answer))
    return answer.item() if isinstance(answer, np.generic) else answer


def is_on_disk() -> bool:
    """Whether the join machine, which nearly everything needs, is compiled already; a guess is enough."""
    folder = Path(__file__).parents[1] / "joins"
    if next(Path(__file__).with_name("ahead").glob(f"*.machine.run.{sys.implementation.cache_tag}*.nbi"), None):
        return True
    kept = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    places = [folder / "__pycache__", *Path(kept, "numba").glob("joins_*")]
    if os.environ.get("NUMBA_CACHE_DIR"):
        places = list(Path(os.environ["NUMBA_CACHE_DIR"]).glob("joins_*"))
    return any(next(place.glob("machine.run-*.nbi"), None) is not None for place in places)
