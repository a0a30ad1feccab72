"""How kernels are compiled.

What      : three decorators that turn a typed Python function into a Numba kernel. `compiled` is the usual one;
            `allocating` is for kernels that make arrays; `woven` is for small parts that are copied into other kernels.
Idea      : a kernel is interpreted until there is much to do (interpreting.py). Then it compiles when it is called, and
            later processes load it from a cache on disk. Kernels release the interpreter lock, because they touch
            arrays only. A `compiled` kernel makes no arrays: its caller holds them, scratch space included. So it
            counts no references, which would cost more than the work when an inner kernel is called once per row.
Invariant : division follows IEEE in kernels (no Python exceptions inside); callers check before they divide.
Never     : no kernel lives here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tidelog.backends.local.kernels.interpreting import kernel

Array: TypeAlias = npt.NDArray[Any]

Int: TypeAlias = Any
"""An integer inside a kernel; its width is for Numba to infer."""

Float: TypeAlias = Any
"""A float inside a kernel."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """A function that Numba compiles when there is much to do; the result is kept on disk for later processes.

    It is kept beside the source, or in the user's cache folder, or where NUMBA_CACHE_DIR says. Where nothing can be
    written, every process compiles for itself. The function makes no arrays.
    """
    return cast(Kernel, kernel(function, cache=True, _nrt=False))


def allocating(function: Kernel) -> Kernel:
    """As `compiled`, for a kernel that makes arrays of its own."""
    return cast(Kernel, kernel(function, cache=True, _nrt=True))


def woven(function: Kernel) -> Kernel:
    """A part of kernels that is copied into each of them: where a call per row would cost more than the work."""
    return cast(Kernel, kernel(function, inline="always", _nrt=False))


def read_only(array: Array) -> Array:
    """A contiguous view that Numba types as read-only: Arrow buffers and our own arrays then share one compilation."""
    flags = array.flags
    if flags.c_contiguous and not flags.writeable:
        return array
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
