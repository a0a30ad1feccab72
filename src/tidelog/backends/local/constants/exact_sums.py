"""Exact sums of constants, which can be taken back.

What      : a `Total` is all that `count`, `sum` and `mean` need to know about the members of a group; totals are added
            and subtracted, so that a member that comes and goes leaves the total that was there before.
Idea      : whole numbers are added in two halves (64 bits each), floats as whole numbers of units of 2^-1074 in 66
            limbs of 32 bits; both become Python integers, which have no bound. Beside a float every number is one:
            language/values.py rounds each integer before it adds, so the error of that is summed up as well.
Source    : Kulisch's long accumulator, with carries left to the end.
Invariant : `result` is what language/values.py gives for the members, to the last bit.
Never     : RDF terms are counted but not added: who meets one reads the members.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_FLOAT, KIND_INT, KIND_STRING
from tidelog.backends.local.kernels.compiled import Array, Int, compiled, read_only
from tidelog.language.terms import Value
from tidelog.language.values import INT_MAX, INT_MIN

UNITS = 1 << 1074
"""How many of the smallest steps between floats make 1."""
_FLOATS, _STRANGERS, _TERMS, _HIGH, _LOW, _ROUNDING, _NUMBERS = 0, 1, 2, 3, 4, 5, 6
_LIMBS = 66
_PART = 1 << 26
"""How many members are added before carries are made, so that no limb overflows: each adds less than 2^33 to one."""
_LOW_BITS = np.int64(2**32 - 1)
_FRACTION = np.int64(2**52 - 1)
_IMPLIED = np.int64(2**52)
_EXACT = np.int64(2**53)
_GREATEST = np.int64(2**63 - 1)
_EXPONENT = np.int64(0x7FF)


@compiled
def rounding(whole: Int) -> Int:
    """By how much an integer grows when it becomes a float."""
    rounded = np.float64(whole)
    if rounded >= 9223372036854775808.0:
        return _GREATEST - whole + 1
    return np.int64(rounded) - whole


@compiled
def add_float(limbs: Array, payload: Int, sign: Int) -> None:
    """Add a float, given by its bits, or take it away."""
    exponent, fraction = (payload >> 52) & _EXPONENT, payload & _FRACTION
    if exponent:
        fraction |= _IMPLIED
        exponent -= 1
    if payload < 0:
        sign = -sign
    limb, shift = exponent >> 5, exponent & 31
    low, high = (fraction & _LOW_BITS) << shift, (fraction >> 32) << shift
    limbs[limb] += sign * (low & _LOW_BITS)
    limbs[limb + 1] += sign * ((low >> 32) + (high & _LOW_BITS))
    limbs[limb + 2] += sign * (high >> 32)


@compiled
def add_up(ids: Array, signs: Array, kinds: Array, payloads: Array, sums: Array, limbs: Array) -> None:
    """Add constants to a total, or take away those whose sign is -1."""
    for position in range(ids.shape[0]):
        constant, sign = np.int64(ids[position]), np.int64(signs[position])
        kind, payload = kinds[constant], payloads[constant]
        if kind == KIND_INT:
            sums[_HIGH] += sign * (payload >> 32)
            sums[_LOW] += sign * (payload & _LOW_BITS)
            if payload > _EXACT or payload < -_EXACT:
                sums[_ROUNDING] += sign * rounding(payload)
        elif kind == KIND_FLOAT:
            sums[_FLOATS] += sign
            add_float(limbs, payload, sign)
        elif kind <= KIND_STRING:
            sums[_STRANGERS] += sign
        else:
            sums[_TERMS] += sign


class Total(NamedTuple):
    """The members of a group, added up."""

    members: int = 0
    floats: int = 0
    strangers: int = 0
    """Members that are no numbers: with one of them a sum has no value."""
    terms: int = 0
    whole: int = 0
    rounding: int = 0
    """What the integers would gain as floats."""
    units: int = 0
    """The sum of the floats."""

    def plus(self, other: Total) -> Total:
        """The members of both."""
        return Total(*map(int.__add__, self, other))

    def minus(self, other: Total) -> Total:
        """The members without those of the other."""
        return Total(*map(int.__sub__, self, other))

    def with_one(self, dictionary: Dictionary, constant: int, sign: int) -> Total:
        """The members with one more, or one less."""
        if dictionary.kinds[constant] != KIND_INT:
            return self.plus(_one(dictionary, constant, sign))
        members, floats, strangers, terms, whole, rounding, units = self
        value = int(dictionary.payloads[constant])
        gained = int(float(value)) - value
        return Total(members + sign, floats, strangers, terms, whole + sign * value, rounding + sign * gained, units)

    def result(self, function: str) -> Value | None:
        """The count, sum or mean of some members; None if it has no value."""
        if function == "count":
            return self.members
        if self.strangers:
            return None
        if self.floats:
            try:
                total: int | float = ((self.whole + self.rounding) * UNITS + self.units) / UNITS
            except OverflowError:
                return None
        else:
            total = self.whole
        if function == "mean":
            return float(total) / self.members + 0.0
        return total if self.floats or INT_MIN <= total <= INT_MAX else None


def total_of(dictionary: Dictionary, ids: Array, signs: Array, *, is_count: bool) -> Total:
    """The members that come less those that go; for a count no value is looked at."""
    if is_count:
        return Total(int(signs.sum(dtype=np.int64)))
    if len(ids) == 1:
        return _one(dictionary, int(ids[0]), int(signs[0]))
    found = Total()
    for start in range(0, len(ids), _PART):
        found = found.plus(_part(dictionary, ids[start : start + _PART], signs[start : start + _PART]))
    return found


def _one(dictionary: Dictionary, constant: int, sign: int) -> Total:
    """A single member, for which no array is needed."""
    kind = int(dictionary.kinds[constant])
    if kind == KIND_INT:
        whole = int(dictionary.payloads[constant])
        return Total(sign, whole=sign * whole, rounding=sign * (int(float(whole)) - whole))
    if kind == KIND_FLOAT:
        number = float(dictionary.payloads[constant : constant + 1].view(np.float64)[0])
        return Total(sign, floats=sign, units=sign * units(number))
    return Total(sign, strangers=sign) if kind <= KIND_STRING else Total(sign, terms=sign)


def _part(dictionary: Dictionary, ids: Array, signs: Array) -> Total:
    sums, limbs = np.zeros(_NUMBERS, np.int64), np.zeros(_LIMBS, np.int64)
    add_up(read_only(ids), read_only(signs), dictionary.kinds, dictionary.payloads, sums, limbs)
    floats, strangers, terms, high, low, gained = sums.tolist()
    units = sum(int(limbs[at]) << (32 * at) for at in np.flatnonzero(limbs).tolist()) if floats or limbs.any() else 0
    members = int(signs.sum(dtype=np.int64))
    return Total(members, floats, strangers, terms, (high << 32) + low, gained, units)


def units(value: Any) -> int:  # noqa: ANN401 - an int or a float
    """A number in units."""
    numerator, denominator = value.as_integer_ratio()
    return int(numerator) * (UNITS // int(denominator))
