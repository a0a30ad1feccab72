"""Kernels compile wherever they are installed."""

import ctypes
import threading

import numba
import pytest

from tidelog.backends.local.kernels import compiling, kernel_cache
from tidelog.backends.local.kernels.compiled import compiled
from tidelog.backends.local.kernels.compiling import counted
from tidelog.backends.local.kernels.interpreting import compile_from_now_on

compile_from_now_on()


def test_kernels_compile_where_nothing_can_be_cached():
    """Numba refuses to cache when it finds no folder to write to, as on a read-only system without a home.

    A function without a file is refused for the same reason, so it stands in for such a system.
    """
    found = {}
    exec("def successor(number):\n    return number + 1\n", found)
    with pytest.raises(RuntimeError, match="no locator"):
        numba.njit(cache=True)(found["successor"])
    assert compiled(found["successor"])(41) == 42


@compiled
def doubled(number: int) -> int:
    """A kernel with a file: its compilation is kept."""
    return 2 * number


def test_kernels_with_a_file_are_kept():
    """A later process loads what this one compiled."""
    assert doubled(21) == 42
    stats = doubled.stats
    assert stats.cache_path
    assert sum(stats.cache_hits.values()) + sum(stats.cache_misses.values()) == 1


def _tripled(number: int) -> int:
    return 3 * number


def test_kernels_are_compiled_anew_after_any_kernel_has_changed(monkeypatch):
    """Numba looks at a kernel's own file; a kernel that it calls may be in another one, and may have changed."""

    def misses() -> int:
        kernel = compiling.made(_tripled, {"cache": True})
        assert kernel(14) == 42
        return sum(kernel.stats.cache_misses.values())

    misses()
    assert misses() == 0
    monkeypatch.setattr(kernel_cache, "_sources", lambda: b"another version")
    assert misses() == 1


def test_an_interrupt_while_a_kernel_compiles_leaves_numba_whole():
    """Numba's registries broke for the whole process when an exception hit them; the waiting caller is hit instead."""
    found, caller, compilers = {}, threading.get_ident(), []
    exec("def predecessor(number):\n    return number - 1\n", found)
    kernel = compiled(found["predecessor"])

    def interrupt() -> None:
        compilers.append(threading.get_ident())
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(caller), ctypes.py_object(KeyboardInterrupt))

    def call_and_linger() -> None:
        kernel(43)
        threading.Event().wait(10)  # the exception may arrive just after the compilation

    with counted(interrupt), pytest.raises(KeyboardInterrupt):
        call_and_linger()
    assert compilers
    assert caller not in compilers
    assert kernel(43) == 42


def test_a_kernel_that_cannot_be_compiled_says_why_to_its_caller():
    """What fails in the thread that compiles is raised where the kernel was called."""
    found = {}
    exec("def broken(number):\n    return number.no_such_thing\n", found)
    with pytest.raises(numba.core.errors.TypingError, match="no_such_thing"):
        compiled(found["broken"])(1)
