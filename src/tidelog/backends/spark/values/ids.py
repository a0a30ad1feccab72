"""Constants as longs, without a dictionary pass.

What      : the id of a constant: small integers and bools stand for themselves, everything else is a hash of its typed
            text; the same ids from Python values, NumPy arrays and Spark columns.
Idea      : an id depends on the constant alone, so tasks compute ids without asking anybody, and a task that runs again
            computes the same ones. Texts of hashed constants are kept beside (constants.py), which finds collisions.
Invariant : the two lowest bits are a tag: 0 integers of 62 bits, 1 strings and RDF terms, 2 floats and larger
            integers, 3 bools. So `1`, `1.0`, `True` and `"1"` have four ids.
Never     : no facts, no session.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own manual uses

from tidelog.language.rdf_terms import RdfTerm, term_of
from tidelog.language.terms import Value

Ids = npt.NDArray[np.int64]

INTEGER, STRING, OTHER, BOOL = 0, 1, 2, 3
TAG = 3
_DIGITS = 15
"""Hexadecimal digits of the hash that are used: sixty bits."""
_LEAST, _GREATEST = -(2**61), 2**61 - 1


def typed_text(value: Value) -> str:
    """The text that a hashed constant is known by; floats by their bits, because their decimals have many spellings."""
    match value:
        case str():
            return f"s{value}"
        case RdfTerm():
            return f"t{value.text}"
        case float():
            return f"f{struct.unpack('>Q', struct.pack('>d', value))[0]:016x}"
        case _:
            return f"i{value}"


def from_text(text: str) -> Value:
    """The constant of a typed text."""
    match text[0]:
        case "s":
            return text[1:]
        case "t":
            return term_of(text[1:])
        case "f":
            return float(struct.unpack(">d", bytes.fromhex(text[1:]))[0])
        case _:
            return int(text[1:])


def of_value(value: Value) -> int:
    """The id of a constant."""
    if isinstance(value, bool):
        return int(value) << 2 | BOOL
    if isinstance(value, int) and _LEAST <= value <= _GREATEST:
        return value << 2 | INTEGER
    return of_text(typed_text(value))


def of_text(text: str) -> int:
    """The id of a hashed constant, given its typed text."""
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return int(digest[:_DIGITS], 16) << 2 | (STRING if text[0] in "st" else OTHER)


def of_string_column(column: Column) -> Column:
    """The ids of a column of strings."""
    return _hashed(F.concat(F.lit("s"), column), STRING)


def of_term_column(column: Column) -> Column:
    """The ids of a column of texts of RDF terms."""
    return _hashed(F.concat(F.lit("t"), column), STRING)


def of_integer_column(column: Column) -> Column:
    """The ids of a column of integers."""
    whole = column.cast("long")
    small = whole.between(F.lit(_LEAST), F.lit(_GREATEST))
    return F.when(small, F.shiftleft(whole, 2)).otherwise(_hashed(F.concat(F.lit("i"), whole.cast("string")), OTHER))


def of_bool_column(column: Column) -> Column:
    """The ids of a column of bools."""
    return F.when(column, F.lit(1 << 2 | BOOL)).otherwise(F.lit(BOOL)).cast("long")


def of_text_column(column: Column) -> Column:
    """The ids of a column of typed texts that are no strings."""
    return _hashed(column, OTHER)


def of_typed_column(column: Column) -> Column:
    """The ids of a column of typed texts."""
    letter, rest = F.substring(column, 1, 1), F.substring(column, 2, 2**31 - 1)
    return (
        F.when(letter.isin("s", "t"), _hashed(column, STRING))
        .when(letter == "i", of_integer_column(rest.try_cast("long")))
        .when(letter == "b", of_bool_column(rest == "true"))
        .otherwise(_hashed(column, OTHER))
    )


def _hashed(text: Column, tag: int) -> Column:
    number = F.conv(F.substring(F.md5(text), 1, _DIGITS), 16, 10).cast("long")
    return F.shiftleft(number, 2).bitwiseOR(F.lit(tag))
