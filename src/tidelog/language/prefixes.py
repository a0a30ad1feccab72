"""Prefixes of a text, and what looks like a prefixed name.

What      : stands between the lexer and the parser: notes every `@prefix`, and gives `ub:p` back as the three words
            that it was before there were prefixes, unless that prefix is declared.
Idea      : `r1:p(x) :- q(x).` is a rule with a name and `ub:p(x) :- q(x).` one about a property; only the declarations
            before it tell them apart, and these are known as soon as their words have passed.
Invariant : a text without `@prefix` reads as it always did.
Never     : no grammar rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lark import Token


class Prefixes:
    """The prefixes of one text; Lark calls `process` for every stream of words."""

    always_accept = ()

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def clear(self) -> None:
        """Forget the prefixes: another text begins."""
        self.known = {}

    def expanded(self, name: str) -> str:
        """The IRI of a prefixed name whose prefix is declared."""
        prefix, _, local = name.partition(":")
        return self.known[prefix] + local

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Pass words on; prefixed names without a declared prefix are taken apart."""
        declaring: list[str] = []
        for token in stream:
            if token.type == "PREFIX":
                declaring = [""]
            elif declaring and token.type == "NAMESPACE":
                declaring.append(str(token)[:-1])
            elif len(declaring) == 2 and token.type == "IRI":
                self.known[declaring[1]] = str(token)[1:-1]
                declaring = []
            if token.type == "PREFIXED" and str(token).partition(":")[0] not in self.known:
                yield from _parts(token)
            else:
                yield token


def _parts(token: Token) -> Iterator[Token]:
    """`a:b` as a name, a colon and a name; `a:b-c` as a difference behind the colon."""
    from lark import Token

    name, _, local = str(token).partition(":")
    line, column, start = token.line or 1, token.column or 1, token.start_pos or 0
    parts = re.split("(-)", local)
    words = [("NAME", name), ("COLON", ":")]
    words += [("ADD" if part == "-" else "NUMBER" if part.isdigit() else "NAME", part) for part in parts]
    for kind, text in words:
        if text:
            end = start + len(text)
            yield Token(kind, text, start, line, column, line, column + len(text), end)
            start, column = end, column + len(text)
