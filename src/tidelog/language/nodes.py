"""What a text's parts are before their surroundings decide.

What      : short-lived values between reductions of the grammar; a program holds none of them.
Idea      : `p(x)` may be an atom or a function, `3` may get a sign, an aggregate may get a result: each stays what it
            looks like until then.
Never     : no behaviour (see term_reductions.py, literal_reductions.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.errors import Place
from tidelog.language.terms import Literal, Term


@dataclass(slots=True)
class Name:
    """A name as written; in back-quotes it is never a keyword."""

    text: str
    is_quoted: bool
    place: Place


@dataclass(slots=True)
class Applied:
    """`name(terms)`: an atom or a function, as its surroundings decide."""

    name: Name
    terms: tuple[Term, ...]

    @property
    def place(self) -> Place:
        """Where the name stands."""
        return self.name.place


@dataclass(slots=True)
class Numeral:
    """A number without parentheses, which a minus before it makes negative."""

    text: str
    place: Place


@dataclass(slots=True)
class Aggregated:
    """`function value : { body }` before it is known what it equals."""

    function: str
    value: Term | None
    body: tuple[Literal, ...]
    place: Place


@dataclass(slots=True)
class Formula:
    """Alternatives, each a conjunction of literals; `is_refused` if it stands in for something already reported."""

    alternatives: tuple[tuple[Literal, ...], ...]
    place: Place | None
    is_refused: bool = False


Node = Term | Literal | Applied | Numeral | Aggregated | Formula
