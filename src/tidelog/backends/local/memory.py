"""Reading and writing arrays by address inside compiled code.

What      : loads and stores of fixed-width integers at `address + index * width`.
Idea      : a join touches any number of arrays of any relations; handing their addresses to one kernel as plain
            numbers keeps that kernel a single compiled function for every rule, instead of one per combination.
Invariant : an address is taken immediately before a kernel runs and no array is reallocated while it runs.
Never     : called from interpreted code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _loader(number_type: Any, width: int) -> Callable[..., Any]:
    """An intrinsic that loads one integer of the given width and returns it as int64."""

    @intrinsic
    def load(typing: Any, address: Any, index: Any) -> Any:
        del typing, address, index

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            element = ir.IntType(width)
            pointer = builder.inttoptr(arguments[0], element.as_pointer())
            place = builder.gep(pointer, [arguments[1]], source_etype=element)
            value = builder.load(place, typ=element)
            return context.cast(builder, value, number_type, signature.return_type)

        return types.int64(types.int64, types.int64), generate

    return load


def _storer(number_type: Any, width: int) -> Callable[..., Any]:
    """An intrinsic that stores one integer of the given width."""

    @intrinsic
    def store(typing: Any, address: Any, index: Any, value: Any) -> Any:
        del typing, address, index, value

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            element = ir.IntType(width)
            pointer = builder.inttoptr(arguments[0], element.as_pointer())
            place = builder.gep(pointer, [arguments[1]], source_etype=element)
            narrow = context.cast(builder, arguments[2], signature.args[2], number_type)
            builder.store(narrow, place)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.int64), generate

    return store


load16 = _loader(types.uint16, 16)
load32 = _loader(types.int32, 32)
load64 = _loader(types.int64, 64)
store16 = _storer(types.uint16, 16)
store32 = _storer(types.int32, 32)
store64 = _storer(types.int64, 64)
