"""Compilations, while they happen.

What      : `announce` says once, to a person who waits, that kernels are being compiled; `counted` counts them.
Idea      : Numba reports every function that it really compiles, and none that it loads from the cache. A first few are
            not worth a word; more mean a fresh installation, and seconds of waiting.
Invariant : nothing is printed where nobody looks: into pipes, logs and tests.
Never     : no kernel is chosen or compiled here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

_EVENT = "numba:compile"
_FEW = 3
SENTENCE = "compiling Tidelog's kernels, once per installation (some seconds; `tidelog warm` compiles all of them)"


class _Listener(event.Listener):
    """Calls back at the beginning of every compilation."""

    def __init__(self, begun: Callable[[], None]) -> None:
        self._begun = begun

    def on_start(self, event: Any) -> None:  # noqa: ANN401, ARG002 - Numba's interface
        """A function is about to be compiled."""
        self._begun()

    def on_end(self, event: Any) -> None:  # noqa: ANN401 - Numba's interface
        """A function is compiled."""


def announce() -> None:
    """From now on, say once if more than a few functions are compiled while a person waits."""
    compiled = 0

    def begun() -> None:
        nonlocal compiled
        compiled += 1
        if compiled == _FEW and _is_watched():
            print(SENTENCE, file=sys.stderr, flush=True)

    event.register(_EVENT, _Listener(begun))  # type: ignore[no-untyped-call]


@contextmanager
def counted(begun: Callable[[], None]) -> Iterator[None]:
    """Call back for every compilation inside the block."""
    listener = _Listener(begun)
    event.register(_EVENT, listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister(_EVENT, listener)  # type: ignore[no-untyped-call]


def _is_watched() -> bool:
    """Whether a person sees what is printed: at a terminal, or in a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
