"""Reading and writing arrays by address, as compiled code does it.

What      : the functions of memory.py as single instructions of the processor.
Idea      : Numba is told which instruction a call stands for, so that a load costs what it costs in C.
Invariant : each name means what it means in memory.py. A 64-bit place may be a pair of 32-bit ones, so it is aligned to
            four bytes only.
Never     : called from interpreted code; imported before kernels are compiled (interpreting.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

Part: TypeAlias = Any
"""A piece of the compiler: a type, a value, a builder. Neither Numba nor llvmlite has types for them."""


def _place(builder: Part, element: Part, address: Part, index: Part) -> Part:
    pointer = builder.inttoptr(address, element.as_pointer())
    return builder.gep(pointer, [index], source_etype=element)


def _loader(number_type: Part, width: int) -> Callable[..., Any]:
    """An intrinsic that loads one integer of the given width and returns it as int64."""
    element: Part = ir.IntType(width)  # type: ignore[no-untyped-call]

    @intrinsic
    def load(typing: Part, address: Part, index: Part) -> Part:
        del typing, address, index

        def generate(context: Part, builder: Part, signature: Part, arguments: Part) -> Part:
            value = builder.load(_place(builder, element, *arguments), align=min(width // 8, 4), typ=element)
            return context.cast(builder, value, number_type, signature.return_type)

        return types.int64(types.int64, types.int64), generate

    return load


def _storer(number_type: Part, width: int) -> Callable[..., Any]:
    """An intrinsic that stores one integer of the given width."""
    element: Part = ir.IntType(width)  # type: ignore[no-untyped-call]

    @intrinsic
    def store(typing: Part, address: Part, index: Part, value: Part) -> Part:
        del typing, address, index, value

        def generate(context: Part, builder: Part, signature: Part, arguments: Part) -> Part:
            narrow = context.cast(builder, arguments[2], signature.args[2], number_type)
            builder.store(narrow, _place(builder, element, arguments[0], arguments[1]), align=min(width // 8, 4))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return store


load8 = _loader(types.int8, 8)
load16 = _loader(types.uint16, 16)
load32 = _loader(types.int32, 32)
load64 = _loader(types.int64, 64)
store8 = _storer(types.int8, 8)
store32 = _storer(types.int32, 32)
store64 = _storer(types.int64, 64)


def _fetcher(width: int) -> Callable[..., Any]:
    """An intrinsic that asks the processor to bring a place into its cache; it never waits and never fails."""
    element: Part = ir.IntType(width)  # type: ignore[no-untyped-call]

    @intrinsic
    def fetch(typing: Part, address: Part, index: Part) -> Part:
        del typing, address, index

        def generate(context: Part, builder: Part, signature: Part, arguments: Part) -> Part:
            del signature
            number: Part = ir.IntType(32)  # type: ignore[no-untyped-call]
            pointer = ir.IntType(8).as_pointer()  # type: ignore[no-untyped-call]
            hint = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])  # type: ignore[no-untyped-call]
            function: Part = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module, hint, "llvm.prefetch.p0"
            )
            place = builder.bitcast(_place(builder, element, *arguments), pointer)
            is_write, locality, is_data = (ir.Constant(number, value) for value in (0, 3, 1))  # type: ignore[no-untyped-call]
            builder.call(function, [place, is_write, locality, is_data])
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return fetch


fetch16 = _fetcher(16)
fetch32 = _fetcher(32)
fetch64 = _fetcher(64)
