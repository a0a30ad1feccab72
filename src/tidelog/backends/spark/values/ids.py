"""Constants as longs, without a dictionary pass.

What      : the id of a constant: small integers and bools stand for themselves, everything else is a hash of its typed
            text; the same ids from Python values, NumPy arrays and Spark columns.
Idea      : an id depends on the constant alone, so tasks compute ids without asking anybody, and a task that runs again
            computes the same ones. Texts of hashed constants are kept beside (constants.py), which finds two texts with
            one hash. The second of them is *moved*: it gets the hash of a longer text, and is on a list (`Naming`) that
            everybody who computes ids has. Sixty bits make that a matter of billions of constants, and the list short.
Invariant : the two lowest bits are a tag: 0 integers of 62 bits, 1 strings and RDF terms, 2 floats and larger
            integers, 3 bools. So `1`, `1.0`, `True` and `"1"` have four ids.
Never     : no facts, no session.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own manual uses

from tidelog.language.rdf_terms import RdfTerm, term_of
from tidelog.language.terms import Value

Ids = npt.NDArray[np.int64]

INTEGER, STRING, OTHER, BOOL = 0, 1, 2, 3
TAG = 3
_SIXTY_BITS = 15
DIGITS = _SIXTY_BITS
"""Hexadecimal digits of the hash that are used."""
LEAST, GREATEST = -(2**61), 2**61 - 1
"""The integers between them stand for themselves."""


@dataclass(frozen=True)
class Naming:
    """How constants get their ids: some digits of the hash, and the typed texts that have other ids than that."""

    digits: int = DIGITS
    moved: Mapping[str, int] = field(default_factory=dict)

    def with_moved(self, text: str) -> Naming:
        """The same, with another id for a text whose id another text has."""
        salt = 0
        while text in self.moved and _salted(text, salt - 1) != self.moved[text]:
            salt += 1
        return Naming(self.digits, {**self.moved, text: _salted(text, salt)})


STANDARD = Naming()


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


def of_value(value: Value, naming: Naming = STANDARD) -> int:
    """The id of a constant."""
    if isinstance(value, bool):
        return int(value) << 2 | BOOL
    if isinstance(value, int) and LEAST <= value <= GREATEST:
        return value << 2 | INTEGER
    return of_text(typed_text(value), naming)


def of_text(text: str, naming: Naming = STANDARD) -> int:
    """The id of a hashed constant, given its typed text."""
    found = naming.moved.get(text)
    return _hash(text, naming.digits) << 2 | _tag(text) if found is None else found


def _salted(text: str, salt: int) -> int:
    """The id of a text that cannot have its own; all digits count."""
    return _hash(f"{salt}\0{text}", _SIXTY_BITS) << 2 | _tag(text)


def _hash(text: str, digits: int) -> int:
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:digits], 16)


def _tag(text: str) -> int:
    return STRING if text[0] in "st" else OTHER


def of_string_column(column: Column, naming: Naming = STANDARD) -> Column:
    """The ids of a column of strings."""
    return _hashed(F.concat(F.lit("s"), column), STRING, naming)


def of_term_column(column: Column, naming: Naming = STANDARD) -> Column:
    """The ids of a column of texts of RDF terms."""
    return _hashed(F.concat(F.lit("t"), column), STRING, naming)


def of_integer_column(column: Column, naming: Naming = STANDARD) -> Column:
    """The ids of a column of integers."""
    whole = column.cast("long")
    small = whole.between(F.lit(LEAST), F.lit(GREATEST))
    large = _hashed(F.concat(F.lit("i"), whole.cast("string")), OTHER, naming)
    return F.when(small, F.shiftleft(whole, 2)).otherwise(large)


def of_bool_column(column: Column) -> Column:
    """The ids of a column of bools."""
    return F.when(column, F.lit(1 << 2 | BOOL)).otherwise(F.lit(BOOL)).cast("long")


def of_text_column(column: Column, naming: Naming = STANDARD) -> Column:
    """The ids of a column of typed texts that are no strings."""
    return _hashed(column, OTHER, naming)


def of_typed_column(column: Column, naming: Naming = STANDARD) -> Column:
    """The ids of a column of typed texts."""
    letter, rest = F.substring(column, 1, 1), F.substring(column, 2, 2**31 - 1)
    return (
        F.when(letter.isin("s", "t"), _hashed(column, STRING, naming))
        .when(letter == "i", of_integer_column(rest.try_cast("long"), naming))
        .when(letter == "b", of_bool_column(rest == "true"))
        .otherwise(_hashed(column, OTHER, naming))
    )


def _hashed(text: Column, tag: int, naming: Naming) -> Column:
    number = F.conv(F.substring(F.md5(text), 1, naming.digits), 16, 10).cast("long")
    number = F.shiftleft(number, 2).bitwiseOR(F.lit(tag))
    if not naming.moved:
        return number
    moved = F.create_map(*(F.lit(each) for pair in naming.moved.items() for each in pair))
    return F.coalesce(F.element_at(moved, text), number)
