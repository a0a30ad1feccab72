"""How kernels are compiled.

What      : one decorator, `compiled`, that turns a typed Python function into a Numba kernel cached on disk.
Idea      : kernels compile when they are first called and are loaded from the cache by every later process, so that
            importing this package stays cheap; they release the interpreter lock, because they touch arrays only.
Invariant : division follows IEEE in kernels (no Python exceptions inside); callers check before they divide.
Never     : no kernel lives here. Numba does not see changes of a kernel that another module's kernel calls: after
            editing an inner kernel, remove the `__pycache__/*.nb*` files of its callers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

Int: TypeAlias = Any
"""An integer inside a kernel; its width is for Numba to infer."""

Float: TypeAlias = Any
"""A float inside a kernel."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Compile a function with Numba at its first call; the result is kept on disk for later processes.

    It is kept beside the source, or in the user's cache folder, or where NUMBA_CACHE_DIR says. Where nothing can be
    written, every process compiles for itself.
    """
    try:
        return cast(Kernel, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # Numba finds no folder that it can write to
        return cast(Kernel, numba.njit(nogil=True, error_model="numpy")(function))


def woven(function: Kernel) -> Kernel:
    """A part of kernels that is copied into each of them: where a call per row would cost more than the work."""
    return cast(Kernel, numba.njit(inline="always", nogil=True, error_model="numpy")(function))


def read_only(array: Array) -> Array:
    """A contiguous view that Numba types as read-only: Arrow buffers and our own arrays then share one compilation."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
