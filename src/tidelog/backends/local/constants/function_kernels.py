"""Arithmetic, order and aggregation on ids, compiled.

What      : kernels that compute on the payloads of constants; language/values.py is their definition.
Idea      : a kernel does what is common and cannot fail. A computation that may raise, or that needs more than 64 bits
            on the way, is *deferred*: the kernel marks it, and language/values.py computes it (or raises its error).
Invariant : what is not deferred equals what language/values.py gives (tests/backends/local/test_functions.py).
Never     : no constants are added here; results are kinds and payloads (see functions.py).
"""

from __future__ import annotations

import math

import numpy as np

from tidelog.backends.local.constants.dictionary_kernels import KIND_BOOL, KIND_FLOAT, KIND_INT, KIND_STRING
from tidelog.backends.local.kernels.compiled import Array, Float, Int, allocating, compiled

ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, POWER = 0, 1, 2, 3, 4, 5
SUM, MEAN, MEDIAN = 0, 1, 2

LESS, EQUAL, GREATER, NO_ORDER = -1, 0, 1, 2

_INT_MIN = np.int64(-(2**63))
_INT_MAX = np.int64(2**63 - 1)
_EXACT = np.int64(2**53)
_HALF = np.int64(2**31)
_LOW = np.int64(2**32 - 1)
_STEP, _SHIFT, _UPPER = np.uint64(6364136223846793005), np.uint64(1442695040888963407), np.uint64(33)
"""Knuth's generator of pseudo-random numbers (MMIX), of which the upper bits are good."""


@compiled
def as_float(payload: Int) -> Float:
    """The float whose bits a payload holds."""
    return np.int64(payload).view(np.float64)


@compiled
def as_payload(number: Float) -> Int:
    """The bits of a float, as a payload; -0.0 becomes 0.0."""
    return np.float64(number + 0.0).view(np.int64)


@compiled
def number_of(constant: Int, kinds: Array, payloads: Array) -> Float:
    """A numeric constant as a float."""
    return as_float(payloads[constant]) if kinds[constant] == KIND_FLOAT else np.float64(payloads[constant])


@compiled
def magnitude(a: Int) -> Int:
    """The absolute value, unsigned, so that the least integer has one."""
    return np.uint64(0) - np.uint64(a) if a < 0 else np.uint64(a)


@compiled
def multiplies(a: Int, b: Int) -> bool:
    """Whether a * b fits 64 bits. Signed overflow is undefined to the compiler, so it is checked before, not after."""
    if a == 0 or b == 0:
        return True
    limit = np.uint64(2**63) if (a < 0) != (b < 0) else np.uint64(2**63 - 1)
    return bool(magnitude(a) <= limit // magnitude(b))


@compiled
def adds(a: Int, b: Int) -> bool:
    """Whether a + b fits 64 bits."""
    return bool(a <= _INT_MAX - b if b >= 0 else a >= _INT_MIN - b)


@compiled
def subtracts(a: Int, b: Int) -> bool:
    """Whether a - b fits 64 bits."""
    return bool(a >= _INT_MIN + b if b >= 0 else a <= _INT_MAX + b)


@compiled
def truncated(a: Int, b: Int) -> Int:
    """Integer division towards zero."""
    quotient = a // b
    return quotient + 1 if quotient < 0 and quotient * b != a else quotient


@compiled
def whole(function: Int, a: Int, b: Int) -> tuple[bool, Int]:
    """Integer arithmetic: whether the kernel could do it, and the result."""
    if function == ADD:
        return (True, a + b) if adds(a, b) else (False, np.int64(0))
    if function == SUBTRACT:
        return (True, a - b) if subtracts(a, b) else (False, np.int64(0))
    if function == MULTIPLY:
        return (True, a * b) if multiplies(a, b) else (False, np.int64(0))
    if function == POWER:
        return raised(a, b)
    if b == 0 or (a == _INT_MIN and b == -1):
        return False, np.int64(0)
    quotient = truncated(a, b)
    return True, quotient if function == DIVIDE else a - b * quotient


@compiled
def raised(base: Int, exponent: Int) -> tuple[bool, Int]:
    """An integer power by repeated multiplication; more than 63 steps are left to language/values.py."""
    result = np.int64(1)
    if exponent < 0 or exponent > 63:
        return False, result
    for _ in range(exponent):
        if not multiplies(result, base):
            return False, result
        result *= base
    return True, result


@compiled
def floating(function: Int, a: Float, b: Float) -> Float:
    """Float arithmetic; NaN where language/values.py must decide."""
    if function == ADD:
        return a + b
    if function == SUBTRACT:
        return a - b
    if function == MULTIPLY:
        return a * b
    if function == DIVIDE and b != 0.0:
        return a / b
    return math.nan


@compiled
def arithmetic(
    function: Int,
    lefts: Array,
    rights: Array,
    kinds: Array,
    payloads: Array,
    out_kinds: Array,
    out_payloads: Array,
    deferred: Array,
) -> None:
    """`left function right` for every pair of ids; pairs left to language/values.py are marked in `deferred`."""
    for position in range(lefts.size):
        left, right = np.int64(lefts[position]), np.int64(rights[position])
        if kinds[left] == KIND_INT and kinds[right] == KIND_INT:
            sure, result = whole(function, payloads[left], payloads[right])
            out_kinds[position] = KIND_INT
            out_payloads[position] = result
        elif kinds[left] <= KIND_FLOAT and kinds[right] <= KIND_FLOAT:
            number = floating(function, number_of(left, kinds, payloads), number_of(right, kinds, payloads))
            sure = math.isfinite(number)
            out_kinds[position] = KIND_FLOAT
            out_payloads[position] = as_payload(number)
        else:
            sure = False
        deferred[position] = not sure


@compiled
def order(left: Int, right: Int, kinds: Array, payloads: Array, heap: Array, offsets: Array) -> Int:
    """LESS, EQUAL or GREATER; NO_ORDER if the two have no order, or if language/values.py must decide."""
    a, b = payloads[left], payloads[right]
    kind, other = kinds[left], kinds[right]
    if kind == other:
        if kind == KIND_STRING:
            return order_of_bytes(heap, offsets[a], offsets[a + 1], offsets[b], offsets[b + 1])
        if kind == KIND_FLOAT:
            return order_of_floats(as_float(a), as_float(b))
        if kind > KIND_STRING:
            return NO_ORDER
        return LESS if a < b else (GREATER if a > b else EQUAL)
    if kind >= KIND_BOOL or other >= KIND_BOOL:
        return NO_ORDER
    integer = a if kind == KIND_INT else b
    if integer > _EXACT or integer < -_EXACT:
        return NO_ORDER
    return order_of_floats(number_of(left, kinds, payloads), number_of(right, kinds, payloads))


@compiled
def order_of_floats(a: Float, b: Float) -> Int:
    """The order of two finite floats."""
    return LESS if a < b else (GREATER if a > b else EQUAL)


@compiled
def order_of_bytes(heap: Array, start: Int, stop: Int, other_start: Int, other_stop: Int) -> Int:
    """The order of two strings: that of their UTF-8 bytes is that of their code points."""
    shared = min(stop - start, other_stop - other_start)
    for step in range(shared):
        a, b = heap[start + step], heap[other_start + step]
        if a != b:
            return LESS if a < b else GREATER
    if stop - start == other_stop - other_start:
        return EQUAL
    return LESS if stop - start < other_stop - other_start else GREATER


@compiled
def orders(lefts: Array, rights: Array, kinds: Array, payloads: Array, heap: Array, offsets: Array, out: Array) -> None:
    """`order` for every pair of ids."""
    for position in range(lefts.size):
        left, right = np.int64(lefts[position]), np.int64(rights[position])
        out[position] = order(left, right, kinds, payloads, heap, offsets)


@compiled
def extremes(
    wanted: Int,
    values: Array,
    bounds: Array,
    kinds: Array,
    payloads: Array,
    heap: Array,
    offsets: Array,
    out: Array,
    deferred: Array,
) -> None:
    """The least (wanted LESS) or greatest id of every group; of an int and an equal float the int."""
    for group in range(bounds.size - 1):
        best = np.int64(values[bounds[group]]) if bounds[group] < bounds[group + 1] else np.int64(-1)
        for position in range(bounds[group] + 1, bounds[group + 1]):
            value = np.int64(values[position])
            found = order(value, best, kinds, payloads, heap, offsets)
            if found == NO_ORDER:
                deferred[group] = True
                break
            if found == wanted or (found == EQUAL and kinds[value] == KIND_INT):
                best = value
        out[group] = best


@compiled
def total(values: Array, start: Int, stop: Int, payloads: Array) -> tuple[bool, Int]:
    """The sum of integers in two halves that cannot overflow; whether it fits 64 bits."""
    high, low = np.int64(0), np.int64(0)
    for position in range(start, stop):
        payload = payloads[values[position]]
        high += payload >> 32
        low += payload & _LOW
    high += low >> 32
    return bool(-_HALF <= high < _HALF), (high << 32) | (low & _LOW)


@compiled
def as_ordered(payload: Int) -> Int:
    """The bits of a float as an integer, so that integers are ordered as their floats are; it is its own inverse."""
    return payload ^ (payload >> 63 & _INT_MAX)


@compiled
def select(numbers: Array, wanted: Int) -> Int:
    """The number that would stand at a place if the numbers were sorted; smaller ones are then before it.

    Hoare's selection: parts that cannot hold the place are left out, so this takes time in proportion to the length.
    Pivots are drawn by a fixed generator, so that no order in which numbers usually come is a bad one.
    """
    low, high, drawn = np.int64(0), np.int64(numbers.shape[0] - 1), np.uint64(1)
    while low < high:
        drawn = drawn * _STEP + _SHIFT
        pivot = numbers[low + np.int64((drawn >> _UPPER) % np.uint64(high - low + 1))]
        left, right = low, high
        while left <= right:
            while numbers[left] < pivot:
                left += 1
            while numbers[right] > pivot:
                right -= 1
            if left <= right:
                numbers[left], numbers[right] = numbers[right], numbers[left]
                left += 1
                right -= 1
        if wanted <= right:
            high = right
        elif wanted >= left:
            low = left
        else:
            break
    return numbers[wanted]


@allocating
def middle(values: Array, start: Int, stop: Int, payloads: Array, kind: Int) -> Float:
    """The median of numbers of one kind; NaN if the two middle numbers have no sum of their kind."""
    numbers = np.empty(stop - start, np.int64)
    for position in range(start, stop):
        payload = payloads[values[position]]
        numbers[position - start] = as_ordered(payload) if kind == KIND_FLOAT else payload
    second = select(numbers, np.int64((stop - start) // 2))
    first = second
    if (stop - start) % 2 == 0:
        first = numbers[0]
        for position in range(1, (stop - start) // 2):
            first = max(first, numbers[position])
    if kind == KIND_FLOAT:
        return (as_float(as_ordered(first)) + as_float(as_ordered(second))) / 2.0
    sure, both = whole(np.int64(ADD), first, second)
    return np.float64(both) / 2.0 if sure else math.nan


@compiled
def group_kind(values: Array, start: Int, stop: Int, kinds: Array) -> Int:
    """The kind of all values of a group, or -1 if they differ."""
    kind = kinds[values[start]]
    for position in range(start + 1, stop):
        if kinds[values[position]] != kind:
            return -1
    return kind


@compiled
def summaries(
    function: Int,
    values: Array,
    bounds: Array,
    kinds: Array,
    payloads: Array,
    out_kinds: Array,
    out_payloads: Array,
    deferred: Array,
) -> None:
    """Sum, mean or median of every group of integers; for groups of floats only what needs no exact summation."""
    for group in range(bounds.size - 1):
        start, stop = bounds[group], bounds[group + 1]
        kind = group_kind(values, start, stop, kinds) if start < stop else -1
        sure = kind == KIND_INT or (kind == KIND_FLOAT and (function == MEDIAN or stop - start <= 2))
        out_kinds[group] = KIND_FLOAT
        number, whole_sum = math.nan, np.int64(0)
        if sure and function == MEDIAN:
            number = middle(values, start, stop, payloads, kind)
        elif sure and kind == KIND_FLOAT:
            number = as_float(payloads[values[start]])
            if stop - start == 2:
                number += as_float(payloads[values[start + 1]])
        elif sure:
            sure, whole_sum = total(values, start, stop, payloads)
            number = np.float64(whole_sum)
        if sure and function == SUM and kind == KIND_INT:
            out_kinds[group] = KIND_INT
            out_payloads[group] = whole_sum
        else:
            number = number / (stop - start) if function == MEAN else number
            sure = sure and math.isfinite(number)
            out_payloads[group] = as_payload(number)
        deferred[group] = not sure
