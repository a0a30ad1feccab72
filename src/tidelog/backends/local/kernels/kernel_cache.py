"""Where compiled kernels are kept.

What      : `keep` gives a kernel its places on disk: what this installation has compiled, for the processor that it
            runs on; then the folder `ahead` of the package, with kernels for every processor of the kind.
Idea      : Numba keeps machine code in a folder that it may write to. A wheel or an image can bring machine code along,
            if this is compiled for the plainest processor and lies in a folder that is only read. Code for this very
            processor may be faster, so it is looked for first; `tidelog warm` compiles it.
Invariant : machine code is loaded only if no kernel has changed since it was compiled. Code from `ahead` also needs the
            Numba, the Python and the system that it was compiled with; otherwise the kernel is compiled, as if nothing
            had been brought along.
Never     : the folder `ahead` is written by anything but `tidelog warm --portable`; no kernel is chosen here.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler import CompileResult

AHEAD = Path(__file__).parent / "ahead"
"""The folder of the package with kernels that were compiled ahead, if the installation has brought some along."""
_PLAIN = ("generic", "")
"""The name and the features of the plainest processor of every kind."""


class _Way:
    """What this process does with kernels that were compiled ahead."""

    folder: Path | None = AHEAD
    is_written = False


def leave_ahead_alone() -> None:
    """From now on, load no kernel that was compiled ahead: what is missing is compiled for this processor."""
    _Way.folder = None


def compile_ahead(folder: Path) -> None:
    """From now on, compile for every processor of this kind, into the folder, which is emptied of kernels before.

    To be called before this process has compiled anything.
    """
    config: Any = numba.config
    config.CPU_NAME, config.CPU_FEATURES = _PLAIN
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder):  # fails here, and not after the first compilation
        for old in (*folder.glob("*.nbi"), *folder.glob("*.nbc")):
            old.unlink()
    _Way.folder, _Way.is_written = folder, True


def keep(kernel: Any, function: Callable[..., Any]) -> Any:  # noqa: ANN401 - a dispatcher of Numba's
    """The kernel, with both places."""
    kernel._cache = _Places(kernel._cache, function)
    return kernel


class _Places:
    """The places of one kernel, with the methods that Numba calls."""

    def __init__(self, own: Any, function: Callable[..., Any]) -> None:  # noqa: ANN401 - Numba's cache
        self._own = own
        self._ahead: Any = None
        if hasattr(own, "_cache_file"):
            # Numba compares the kernel's own file and not those of the kernels that it calls: a new version of the
            # package, or an edited file, would be mixed with machine code of the old one, and give wrong facts.
            own._cache_file._source_stamp = (own._cache_file._source_stamp, _sources())
        is_ours = (function.__module__ or "").startswith("tidelog.") and "<" not in function.__qualname__
        if is_ours and _Way.folder is not None:
            name = f"{function.__module__}.{function.__qualname__}.{python_tag()}"
            self._ahead = IndexDataCacheFile(str(_Way.folder), name, _sources())  # type: ignore[no-untyped-call]

    @property
    def cache_path(self) -> object:
        """Where this installation keeps what it compiles."""
        return self._own.cache_path

    def load_overload(self, signature: Any, context: Any) -> object:  # noqa: ANN401 - Numba's interface
        """The machine code for some types of arguments, or nothing."""
        found: object = None if _Way.is_written else self._own.load_overload(signature, context)
        if found is not None or self._ahead is None:
            return found
        context.refresh()
        data = self._ahead.load(_key(signature, context.codegen()))
        return None if data is None else CompileResult._rebuild(context, *data)  # type: ignore[no-untyped-call]

    def save_overload(self, signature: Any, result: Any) -> None:  # noqa: ANN401 - Numba's interface
        """Keep machine code that was compiled just now."""
        if not _Way.is_written:
            self._own.save_overload(signature, result)
        elif self._ahead is not None:
            assert result.codegen.magic_tuple()[1:] == _PLAIN
            self._ahead.save(_key(signature, result.codegen), result._reduce())


def _key(signature: object, codegen: Any) -> tuple[object, str]:  # noqa: ANN401 - Numba's generator of code
    """The types of arguments, and the kind of processor and system."""
    return signature, codegen.magic_tuple()[0]


def python_tag() -> str:
    """Which Python machine code is for: it reads Python's objects."""
    return f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"


@cache
def _sources() -> bytes:
    """A digest of the folders that kernels are in."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()
