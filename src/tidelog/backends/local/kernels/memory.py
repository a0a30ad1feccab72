"""Reading and writing arrays by address inside kernels.

What      : loads and stores of fixed-width integers at `address + index * width`, and a hint to fetch a place soon.
Idea      : a join touches any number of arrays of any relations; handing their addresses to one kernel as plain
            numbers keeps that kernel a single compiled function for every rule, instead of one per combination.
            Interpreted kernels use the functions below, compiled ones their namesakes in intrinsics.py.
Invariant : an address is taken immediately before a kernel runs and no array is reallocated while it runs.
Never     : called from anything but a kernel.
"""

from __future__ import annotations

from ctypes import c_int8, c_int32, c_int64, c_uint16

import numpy as np

from tidelog.backends.local.kernels.compiled import Int


def load8(address: Int, index: Int) -> Int:
    """The signed 8-bit number at a place."""
    return np.int64(c_int8.from_address(int(address) + int(index)).value)


def load16(address: Int, index: Int) -> Int:
    """The unsigned 16-bit number at a place."""
    return np.int64(c_uint16.from_address(int(address) + 2 * int(index)).value)


def load32(address: Int, index: Int) -> Int:
    """The signed 32-bit number at a place."""
    return np.int64(c_int32.from_address(int(address) + 4 * int(index)).value)


def load64(address: Int, index: Int) -> Int:
    """The signed 64-bit number at a place."""
    return np.int64(c_int64.from_address(int(address) + 8 * int(index)).value)


def store8(address: Int, index: Int, value: Int) -> None:
    """Write an 8-bit number."""
    c_int8.from_address(int(address) + int(index)).value = int(value)


def store32(address: Int, index: Int, value: Int) -> None:
    """Write a 32-bit number."""
    c_int32.from_address(int(address) + 4 * int(index)).value = int(value)


def store64(address: Int, index: Int, value: Int) -> None:
    """Write a 64-bit number."""
    c_int64.from_address(int(address) + 8 * int(index)).value = int(value)


def fetch16(address: Int, index: Int) -> None:
    """A 16-bit place will be read soon."""


def fetch32(address: Int, index: Int) -> None:
    """A 32-bit place will be read soon."""


def fetch64(address: Int, index: Int) -> None:
    """A 64-bit place will be read soon."""
