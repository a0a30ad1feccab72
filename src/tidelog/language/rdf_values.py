"""What RDF literals are worth: numbers, dates and times among the terms.

What      : `number` and `moment` of a literal, and the literal of a computed number.
Idea      : numbers that Python's int and float do not hold (decimals, `xsd:float`, INF, integers beyond 64 bits) are
            computed with exactly, as fractions, and rounded once, to the wider type of the two operands.
Source    : XPath and XQuery Functions, W3C Recommendation, sections 4 (numbers: integer < decimal < float < double)
            and 10 (times; without a time zone UTC is meant, which XPath leaves to the implementation).
Invariant : a number that is computed is the literal in Oxigraph's canonical form.
Never     : no operator and no error (see values.py).
"""

from __future__ import annotations

import datetime
import math
import re
import struct
from fractions import Fraction
from functools import lru_cache

from tidelog.language.rdf_terms import XSD, Literal

INTEGER, DECIMAL, FLOAT, DOUBLE = range(4)
_RANKS = {f"{XSD}integer": INTEGER, f"{XSD}decimal": DECIMAL, f"{XSD}float": FLOAT, f"{XSD}double": DOUBLE}
_SPECIAL = {"INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
_DIGITS = 18
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_MOMENT = re.compile(
    r"(?:(?P<year>-?[0-9]{4,})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2}))?T?"
    r"(?:(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2}(?:\.[0-9]+)?))?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?"
)
_MOMENTS = frozenset(f"{XSD}{name}" for name in ("dateTime", "date", "time"))

Number = int | Fraction | float


@lru_cache(maxsize=4096)
def number(literal: Literal) -> tuple[int, Number] | None:
    """The rank of a literal's numeric type and its value; None if it is no number or ill-typed."""
    rank = _RANKS.get(literal.datatype)
    text = literal.value
    if rank is None:
        return None
    if rank >= FLOAT and text in _SPECIAL:
        return rank, _SPECIAL[text]
    try:
        if rank >= FLOAT:
            return rank, float(text)
        if _DECIMAL.fullmatch(text) is None or (rank == INTEGER and "." in text):
            return None
        return rank, int(text) if rank == INTEGER else Fraction(text if text[-1] != "." else text[:-1])
    except (ValueError, OverflowError):
        return None


def of_number(value: Number, rank: int) -> int | float | Literal | None:
    """A computed number as a constant of the type with this rank; None if the type cannot hold it."""
    if rank == INTEGER:
        return int(value) if -(2**63) <= value < 2**63 else Literal(str(int(value)), f"{XSD}integer")
    if rank == DECIMAL:
        return _decimal(Fraction(value))
    if rank == FLOAT:
        try:
            single = struct.unpack("=f", struct.pack("=f", float(value)))[0]
        except OverflowError:
            single = math.copysign(math.inf, float(value))
        return Literal(_spelled(single), f"{XSD}float")
    double = float(value)
    if math.isfinite(double):
        return double + 0.0
    return Literal(_spelled(double), f"{XSD}double")


@lru_cache(maxsize=4096)
def moment(literal: Literal) -> tuple[str, Fraction] | None:
    """What a date or time is compared by: its data type, and seconds; None if the literal is neither."""
    found = _MOMENT.fullmatch(literal.value) if literal.datatype in _MOMENTS else None
    if found is None or not literal.value:
        return None
    seconds = Fraction(0)
    if found["hour"]:
        seconds += 3600 * int(found["hour"]) + 60 * int(found["minute"]) + Fraction(found["second"])
    if found["year"]:
        seconds += 86400 * _days(int(found["year"]), int(found["month"]), int(found["day"]))
    zone = found["zone"]
    if zone and zone != "Z":
        offset = 3600 * int(zone[1:3]) + 60 * int(zone[4:6])
        seconds += offset if zone[0] == "-" else -offset
    return literal.datatype, seconds


_INTEGERS = frozenset(
    f"{XSD}{name}"
    for name in (
        *("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger", "nonPositiveInteger"),
        *("negativeInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    )
)


def canonical(lexical: str, datatype: str) -> int | float | str | bool | Literal:
    """The constant of a literal that a program writes; dates and times are taken as they are written."""
    if datatype == f"{XSD}string":
        return lexical
    if datatype == f"{XSD}boolean" and lexical in ("true", "false", "1", "0"):
        return lexical in ("true", "1")
    kind = f"{XSD}integer" if datatype in _INTEGERS else datatype
    found = number(Literal(lexical, kind))
    if found is None or (found[0] == DOUBLE and lexical.startswith("-") and found[1] == 0):
        return Literal(lexical, kind)
    constant = of_number(found[1], found[0])
    return Literal(lexical, kind) if constant is None else constant


def _days(year: int, month: int, day: int) -> int:
    """Days since a fixed one, for years of any size: 400 years always have as many days."""
    cycles, within = divmod(year - 1, 400)
    return cycles * 146_097 + datetime.date(within + 1, month, 1).toordinal() + day - 1


def _decimal(value: Fraction) -> Literal | None:
    """A decimal, cut after as many digits as Oxigraph keeps."""
    scaled = abs(value.numerator) * 10**_DIGITS // value.denominator
    if scaled >= 2**127:
        return None
    whole, part = divmod(scaled, 10**_DIGITS)
    digits = f"{part:0{_DIGITS}d}".rstrip("0")
    sign = "-" if value < 0 and scaled else ""
    return Literal(f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}", f"{XSD}decimal")


def _spelled(value: float) -> str:
    """A float of 32 bits in the canonical spelling: no exponent, no trailing zeros."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    import numpy as np  # for this alone: what only reads rules need not load it

    return np.format_float_positional(np.float32(value), unique=True, trim="-")
