"""How constants and names are spelled.

What      : strings, numbers and names to text and back; the reserved words.
Idea      : spelling and reading stand side by side, so that each is visibly the other's inverse.
Invariant : `read_string(spell_string(s)) == s` for every string, control characters and lone surrogates included;
            spelled text holds no line break.
Never     : no grammar and no rules.
"""

from __future__ import annotations

import re

from tidelog.language.rdf_terms import RdfTerm, is_iri
from tidelog.language.terms import Value
from tidelog.language.values import INT_MAX, INT_MIN

AGGREGATE_WORDS = frozenset({"count", "sum", "min", "max", "mean", "median"})
CONSTRAINT_WORDS = frozenset({"match", "contains"})
RESERVED = AGGREGATE_WORDS | {"not", "true", "false"}

_NAME = re.compile(r"[^\W\d]\w*")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}


def is_name(text: str) -> bool:
    """Whether the text may stand as a name without quotes (reserved words may not)."""
    return _NAME.fullmatch(text) is not None and text not in RESERVED and text != "_"


def spell_string(text: str, quote: str = '"') -> str:
    """The text between quotes, on one line."""
    if text.isprintable() and "\\" not in text and quote not in text:
        return f"{quote}{text}{quote}"
    return quote + "".join(_spell_character(character, quote) for character in text) + quote


def _spell_character(character: str, quote: str) -> str:
    if character == quote:
        return "\\" + quote
    if character in _SHORT:
        return _SHORT[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def read_string(spelled: str) -> str:
    """The text that a quoted spelling means; raises ValueError at an escape that means nothing."""
    inner = spelled[1:-1]
    return _ESCAPE.sub(_read_escape, inner) if "\\" in inner else inner


def _read_escape(match: re.Match[str]) -> str:
    body = match[1]
    if len(body) > 1:
        return chr(int(body[1:], 16))
    if body in _PLAIN:
        return _PLAIN[body]
    if body in "\\\"'`":
        return body
    raise ValueError(match[0])


def spell_name(name: str) -> str:
    """A relation, column or rule name: bare if it may, an IRI in angle brackets, else in back-quotes."""
    if ":" in name and is_iri(name):
        return f"<{name}>"
    return name if is_name(name) else spell_string(name, "`")


def spell_label(name: str) -> str:
    """The name of a rule: bare if it may, else in back-quotes, an IRI too."""
    return name if is_name(name) else spell_string(name, "`")


def spell_variable(name: str) -> str:
    """A variable: bare if it may, else behind a question mark."""
    if is_name(name):
        return name
    return "?" + (name if _NAME.fullmatch(name) and name != "_" else spell_string(name, "`"))


def spell_value(value: Value) -> str:
    """A constant as it is written in a program (a float that is not finite has no spelling and shows as Python's)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return spell_string(value)
    if isinstance(value, RdfTerm):
        return value.text
    return repr(value + 0.0) if isinstance(value, float) else str(value)


def read_number(spelled: str, *, negative: bool = False) -> int | float:
    """The number that a spelling means; raises OverflowError outside 64 bits or the finite floats."""
    if spelled[:2] in ("0x", "0b"):
        number: int | float = _read_integer(spelled[2:], 16 if spelled[1] == "x" else 2)
    elif "." in spelled or "e" in spelled or "E" in spelled:
        number = float(spelled)
    else:
        number = _read_integer(spelled, 10)
    number = -number if negative else number
    if isinstance(number, float):
        if number in (float("inf"), float("-inf")):
            raise OverflowError(spelled)
        return number + 0.0
    if not INT_MIN <= number <= INT_MAX:
        raise OverflowError(spelled)
    return number


def _read_integer(digits: str, base: int) -> int:
    """An integer, without ever converting more digits than 64 bits can have."""
    digits = digits.lstrip("0") or "0"
    return int(digits, base) if len(digits) <= 64 else INT_MAX + 2
