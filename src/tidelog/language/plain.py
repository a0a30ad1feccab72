"""Plain statements, read without the grammar.

What      : `read_plain` reads the facts and rules that a text begins with, as long as they consist of atoms over
            variables, whole numbers and strings without escapes, `!` before an atom and a name before a rule.
Idea      : most rules look like that, and most updates bring one such rule. One regular expression tells whether a
            statement is plain; then there is nothing left to decide, and nothing that could be wrong.
Invariant : a plain statement means here, places included, what it means to the grammar (tests/language/test_plain.py
            reads everything both ways). The first statement that is not plain is left to the grammar, and so is all
            that follows it.
Never     : no problem is found here, and no statement is read in part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from tidelog.errors import Place
from tidelog.language.builder import Builder
from tidelog.language.lexemes import CONSTRAINT_WORDS, RESERVED
from tidelog.language.nodes import Name
from tidelog.language.terms import Atom, Constant, Fact, Negation, Rule, Term, Variable

_WORDS = "|".join(sorted(RESERVED | CONSTRAINT_WORDS))
_NAME = rf"(?!(?:{_WORDS}|_)\b)[^\W\d]\w*"
_TERM = rf'(?:{_NAME}|_(?!\w)|[0-9]{{1,18}}|"[^"\\\n]*")'
_ATOM = rf"{_NAME}\s*+\(\s*+(?:{_TERM}\s*+(?:,\s*+{_TERM}\s*+)*+)?\)"
_SPACE = re.compile(r"(?:\s|//[^\n]*+|/\*(?s:.*?)\*/)*+")
_STATEMENT = re.compile(
    rf"(?:({_NAME})\s*+:(?!-)\s*+)?({_ATOM})\s*+(?::-\s*+(?:!\s*+)?{_ATOM}\s*+(?:,\s*+(?:!\s*+)?{_ATOM}\s*+)*+)?\.(?!\S)"
)
_LABEL, _HEAD = 1, 2
_LITERAL = re.compile(r'(?:(!)\s*+)?([^\W\d]\w*+)\s*+\(((?:[^"()]|"[^"]*")*+)\)')
_NOT, _RELATION, _TERMS = 1, 2, 3
_ONE_TERM = re.compile(r'([^\W\d]\w*)|([0-9]+)|"([^"]*)"')
_VARIABLE, _NUMBER, _STRING = 1, 2, 3


def read_plain(text: str, builder: Builder) -> int:
    """Give the builder the plain statements that a text begins with; the answer is where the grammar has to go on."""
    glance = _Glance(text, builder)
    position = _behind_space(text, 0)
    while (statement := _STATEMENT.match(text, position)) is not None and glance.takes(statement):
        position = _behind_space(text, statement.end())
    return position


def _behind_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


class _Glance:
    """A text that is read from left to right, line by line."""

    def __init__(self, text: str, builder: Builder) -> None:
        self._text, self._builder = text, builder
        self._line, self._begin = 0, 0
        self._next = 0
        self._anonymous = count()

    def takes(self, statement: re.Match[str]) -> bool:
        """Add a statement to the program; False if the grammar has something to say about it."""
        label, builder = statement[_LABEL], self._builder
        place = None if label is None else self._place(statement.start(_LABEL))
        self._anonymous = count()
        head, *body = self._literals(statement.start(_HEAD), statement.end())
        assert isinstance(head, Atom)
        if body and (place is None or builder.is_new_name(Name(label, False, place))):
            builder.rules.append(Rule(head, tuple(body), label, place or head.place))
            return True
        values = tuple(term for term in head.terms if isinstance(term, Constant))
        if body or label is not None or len(values) < len(head.terms):
            return False
        builder.facts.append(Fact(head.relation, values, head.place))
        return True

    def _literals(self, start: int, end: int) -> Iterator[Atom | Negation]:
        """The atoms in a part of the text, with what stands before them."""
        for found in _LITERAL.finditer(self._text, start, end):
            sign = self._place(found.start(_NOT)) if found[_NOT] else None
            place = self._place(found.start(_RELATION))
            terms = tuple(map(self._term, _ONE_TERM.finditer(self._text, *found.span(_TERMS))))
            atom = Atom(found[_RELATION], terms, place)
            yield atom if sign is None else Negation(atom, sign)

    def _term(self, found: re.Match[str]) -> Term:
        text, place = found[found.lastindex or 0], self._place(found.start())
        if found.lastindex == _VARIABLE:
            return Variable(f"_:{next(self._anonymous)}" if text == "_" else text, place)
        return Constant(int(text) if found.lastindex == _NUMBER else text, place)

    def _place(self, position: int) -> Place:
        while self._next <= position:
            self._line, self._begin = self._line + 1, self._next
            self._next = self._text.find("\n", self._begin) + 1 or len(self._text) + 1
        return self._builder.place_at(self._line, position - self._begin + 1)
