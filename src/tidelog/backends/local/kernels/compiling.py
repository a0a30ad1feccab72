"""Compilations, while they happen.

What      : `made` turns a function into a compiled kernel, shielded from interrupts; `announce` says once, to a person
            who waits, that kernels are being compiled; `counted` counts them.
Idea      : Numba reports every function that it really compiles, and none that it loads from the disk
            (kernel_cache.py). A first few are not worth a word; more mean a fresh installation, and seconds of waiting.
            Numba keeps registries that an exception in the middle leaves broken for the whole process, and Ctrl-C,
            signal handlers and injected exceptions hit the thread that called us. So compiling and loading happen in a
            thread of their own, while the caller waits: an interrupt ends the waiting, never the compilation.
Invariant : nothing is printed where nobody looks: into pipes, logs and tests.
Never     : no kernel is chosen here; imported before the first kernel is compiled (interpreting.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numba
from numba.core import event

from tidelog.backends.local.kernels.kernel_cache import keep
from tidelog.beginning import done_aside

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


def shielded(kernel: Any) -> Any:  # noqa: ANN401 - a dispatcher of Numba's
    """The kernel, which from now on compiles and loads where no interrupt of its caller arrives."""
    compile_here = kernel._compile_for_args

    def compile_aside(*arguments: object, **named: object) -> object:
        """What Numba calls when it meets arguments of types that are new to the kernel."""
        return done_aside(partial(compile_here, *arguments, **named))

    kernel._compile_for_args = compile_aside
    return kernel


def made(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """The compiled kernel of a function; it compiles when it is first called, or is loaded (kernel_cache.py)."""
    chosen: dict[str, Any] = {"nogil": True, "error_model": "numpy", **options}
    try:
        kernel = numba.njit(**chosen)(function)
    except RuntimeError:  # Numba finds no folder that it can write to
        kernel = numba.njit(**{**chosen, "cache": False})(function)
    return kernel if "inline" in options else shielded(keep(kernel, function))  # type: ignore[no-any-return]


def _is_watched() -> bool:
    """Whether a person sees what is printed: at a terminal, or in a notebook."""
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


announce()
