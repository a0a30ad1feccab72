"""Long work on arrays, a step at a time.

What      : `ranges` and `pieces` cut rows into steps of some milliseconds; a `Pause` is asked between two of them.
Idea      : an update that arrives is looked at between two steps, so no step may be long. Whatever walks through all
            rows of a relation (an index that is built, marks of many facts) walks a range at a time. What is built is
            built aside, so that it can be given up between two steps. A step that several threads share is longer: as
            long as makes sharing worth it (kernels/workers.py).
Invariant : only the thread that writes is asked, and never while other threads work for it. A reader of another thread
            that builds a table does so in one go, because what has arrived is not its business. Nobody is asked while
            the thread holds the latch: the answer may take long, and readers would wait for it.
Never     : no step is asked for after a transaction is decided.
"""

from __future__ import annotations

import mmap as system
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import prod
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from threading import RLock, get_ident
from typing import Any

import numpy as np

from tidelog.backends.local.kernels.compiled import Array
from tidelog.backends.local.kernels.workers import ALONE, Workers

STEP = 1 << 16
"""How many rows a step takes: to enter one into a table that is larger than the cache takes about 30 ns, to find its
group up to 150 ns; so 2 to 10 ms."""
STORED = 1 << 15
"""How many rows are stored in a step, which may be new: each touches memory in several places for the first time."""
COPIED = 1 << 18
"""How many are copied or filled in a step, at 4 to 8 bytes each: 1 ms, if the memory is touched for the first time; on
a machine that is short of memory 25 ms were seen."""
_LARGE = 1 << 22
"""From how many bytes on numpy asks for pages of 2 MB. To make one takes up to 35 ms where free memory is scattered,
and nothing can be looked at meanwhile; a page of 4 KB takes a microsecond."""
_SHARED, _DRIVING, SHARED_STORED = 1 << 18, 1 << 20, 1 << 17
"""What several threads build is built in steps of _SHARED rows: starting threads takes 0.1 ms, the step 5 ms. Rows that
drive a join are handed over in larger pieces, because a join asks between two tables anyway; rows that are stored in
smaller ones: each takes 50 to 80 ns, and all of them are one thread's where the other cores are busy."""


_HUGE_PAGES = getattr(system, "MADV_HUGEPAGE", None)


def never() -> None:
    """Asked where nobody can stop the work."""


class Pause:
    """What the thread that writes asks between two steps."""

    def __init__(self, latch: RLock | None = None) -> None:
        self._latch = latch or RLock()
        self._ask: Callable[[], None] = never
        self._thread = 0
        self._is_held = False

    def begin(self, ask: Callable[[], None]) -> None:
        """From now on this thread is asked; what it is asked may raise."""
        self._ask, self._thread, self._is_held = ask, get_ident(), False

    def once(self, ask: Callable[[], None]) -> Callable[[], None]:
        """The same question, not asked again while it is being answered: a watcher may read, which has pauses, too."""

        def asked() -> None:
            if not self._is_held:
                self._is_held = True
                try:
                    ask()
                finally:
                    self._is_held = False

        return asked

    @contextmanager
    def released(self) -> Iterator[None]:
        """While a question is being answered: let another transaction ask its own."""
        held, self._is_held = self._is_held, False
        try:
            yield
        finally:
            self._is_held = held

    def end(self) -> None:
        """Nobody is asked any more."""
        self._ask = never

    @property
    def is_mine(self) -> bool:
        """Whether this is the thread that is asked, and it holds no latch."""
        if self._ask is never or get_ident() != self._thread:
            return False
        return not self._latch._is_owned()  # type: ignore[attr-defined]  # as conditions of the standard library ask it

    def __call__(self) -> None:
        """Ask, if this is the thread that writes."""
        if self._ask is not never and self.is_mine:
            self._ask()


def ranges(size: int, step: int = 0, workers: Workers = ALONE) -> Iterator[tuple[int, int]]:
    """The range of `size` rows, cut into steps; longer ones if several threads work on each."""
    step = step or STEP
    if workers.threads > 1:
        step = max(step, _SHARED)
    for start in range(0, size, step):
        yield start, min(start + step, size)


def pieces(
    rows: Array, pause: Callable[[], None], workers: Workers = ALONE, step: int = 0, shared: int = _DRIVING
) -> Iterable[Array]:
    """Some rows, cut into steps, with pauses between them; into `shared` ones if the workers share them."""
    step = step or STEP
    return (rows,) if len(rows) <= step else _pieces(rows, pause, workers, step, shared)


def _pieces(rows: Array, pause: Callable[[], None], workers: Workers, step: int, shared: int) -> Iterator[Array]:
    start = 0
    while start < len(rows):
        if start:
            pause()
        stop = start + (shared if workers.takes(len(rows) - start) else step)
        yield rows[start:stop]
        start = stop


def joined(parts: list[Array], pause: Callable[[], None] = never) -> Array:
    """What was done in steps, as one array, which is filled in steps: its memory is touched for the first time."""
    if len(parts) == 1:
        return parts[0]
    size, start = sum(map(len, parts)), 0
    if size <= STEP:
        return np.concatenate(parts)
    made = untouched((size, *parts[0].shape[1:]), parts[0].dtype)
    for part in parts:
        for first, last in ranges(len(part)):
            made[start + first : start + last] = part[first:last]
            pause()
        start += len(part)
    return made


def untouched(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Memory that is touched for the first time when it is filled, a small page at a time."""
    size = prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    return np.frombuffer(_memory(size), dtype).reshape(shape)


def copied(array: Array) -> Array:
    """A copy that cannot be made in steps: in small pages, because it may have dozens of large ones."""
    made = untouched(array.shape, array.dtype)
    made[...] = array
    return made


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Zeros. NumPy takes memory that was used before, if there is some, and clears all of it in one step; large ones
    are asked of the system, which clears each page when it is touched.
    """
    size = prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.zeros(shape, dtype)
    memory = _memory(size)
    if _HUGE_PAGES is not None:
        with suppress(OSError):  # where there are none
            memory.madvise(_HUGE_PAGES)
    return np.frombuffer(memory, dtype).reshape(shape)


def _memory(size: int) -> mmap:
    """Memory of the system, not touched yet."""
    try:
        return mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"there is no room for {size:,} bytes") from error


def full(size: int, value: int, dtype: type, pause: Callable[[], None] = never) -> Array:
    """An array of one value."""
    made: Array = np.empty(size, dtype)
    for start, stop in ranges(size, COPIED):
        made[start:stop] = value
        pause()
    return made
