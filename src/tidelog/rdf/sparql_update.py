"""Updates in SPARQL 1.1.

What      : `read_update` turns INSERT DATA, DELETE DATA and DELETE/INSERT WHERE into triples to insert and delete.
Idea      : the templates are asked as CONSTRUCT queries of the mirror, so WHERE sees derived triples too. What all
            operations give, the last one that names a triple deciding, becomes one update of the engine. Only the
            first operation may have a WHERE: a later one would have to see what is not done yet.
Invariant : nothing is changed here; blank nodes in INSERT DATA get fresh labels. LOAD, and graphs other than the
            default one, are refused.
Never     : no engine.

Codes: E833 an update that is not ground data or DELETE/INSERT WHERE, or a WHERE that comes too late.
"""

from __future__ import annotations

import re

import pyoxigraph as ox

from tidelog.errors import UsageError
from tidelog.rdf.mirror import Mirror
from tidelog.rdf.quads import Triple
from tidelog.rdf.sparql import ask, refuse_fetching
from tidelog.rdf.vocabulary import PREFIXES

_TOKENS = re.compile(
    r"""\#[^\n]*|"{3}.*?(?<!\\)"{3}|'{3}.*?(?<!\\)'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>"{}|^`\\\s]*>|[{};]|"""
    r"""[?$]\w+|[\w.-]*:[\w.%:-]*|\w+|\S""",
    re.DOTALL,
)


Word = tuple[str, int, int]
"""A word of an update, in capitals, and where it begins and ends."""


def read_update(mirror: Mirror, text: str) -> tuple[list[Triple], list[Triple]]:
    """The triples that an update inserts and deletes, all of its operations together."""
    refuse_fetching(text)
    _check(text)
    found = ((match[0].upper(), match.start(), match.end()) for match in _TOKENS.finditer(text))
    rest = [word for word in found if not word[0].startswith("#")]
    prologue, number = "", 0
    come: dict[Triple, None] = {}
    gone: dict[Triple, None] = {}
    while True:
        said, rest = _prologue(text, rest)
        prologue += said
        if not rest and number:
            return list(come), list(gone)
        operation = _Operation(mirror, text, prologue)
        inserted, deleted, rest = operation.read(rest)
        if operation.has_pattern and number:
            raise UsageError.of(
                "E833",
                f"operation {number + 1} asks about what operations before it change",
                remedy="send it as an update of its own, or put it first",
            )
        for triple in deleted:
            come.pop(triple, None)
            gone[triple] = None
        for triple in inserted:
            gone.pop(triple, None)
            come[triple] = None
        number += 1


def _prologue(text: str, words: list[Word]) -> tuple[str, list[Word]]:
    """The prefixes and bases before an operation, and the words behind them."""
    at = 0
    while words[at : at + 1] and words[at][0] in ("PREFIX", "BASE"):
        at += 3 if words[at][0] == "PREFIX" else 2
    return (text[words[0][1] : words[at - 1][2]] + "\n" if at else ""), words[at:]


class _Operation:
    """One operation of an update."""

    def __init__(self, mirror: Mirror, text: str, prologue: str) -> None:
        self._mirror, self._text, self._prologue = mirror, text, prologue
        self.has_pattern = False
        """Whether it has a pattern, which has to be matched in the graph."""

    def read(self, words: list[Word]) -> tuple[list[Triple], list[Triple], list[Word]]:
        """The triples that it inserts and deletes, and the words behind it."""
        if any(word in ("GRAPH", "WITH", "USING") for word, _, _ in words):
            raise UsageError.of("E833", "the update names a graph", remedy="leave GRAPH, WITH and USING out")
        templates: dict[str, str] = {}
        kind, rest = [word for word, _, _ in words[:2]], words
        if kind in (["INSERT", "DATA"], ["DELETE", "DATA"], ["DELETE", "WHERE"]):
            block, rest = self._block(words[2:])
            self.has_pattern = kind[1] == "WHERE"
            where = block if self.has_pattern else "{}"
            templates[kind[0]] = block
        else:
            while rest and rest[0][0] in ("DELETE", "INSERT"):
                word = rest[0][0]
                templates[word], rest = self._block(rest[1:])
            if not templates or not rest or rest[0][0] != "WHERE":
                raise UsageError.of(
                    "E833",
                    f"{' '.join(kind)} is not supported",
                    remedy="use INSERT DATA, DELETE DATA, or DELETE { } INSERT { } WHERE { }",
                )
            self.has_pattern = True
            where, rest = self._block(rest[1:])
        come, gone = (self._triples(templates.get(word), where) for word in ("INSERT", "DELETE"))
        return come, gone, rest[1:] if rest and rest[0][0] == ";" else rest

    def _block(self, words: list[Word]) -> tuple[str, list[Word]]:
        """The text between two braces, these included, and the words behind."""
        depth = 0
        for at, (word, _, end) in enumerate(words):
            depth += (word == "{") - (word == "}")
            if depth == 0:
                return self._text[words[0][1] : end], words[at + 1 :]
        return "{}", []

    def _triples(self, template: str | None, where: str) -> list[Triple]:
        """What a template gives for every solution of a pattern."""
        if template is None:
            return []
        answer = ask(self._mirror, f"{self._prologue} CONSTRUCT {template} WHERE {where}")
        return [(row[0], row[1], row[2]) for row in answer]  # type: ignore[misc]


def _check(text: str) -> None:
    """Let the whole update be parsed, on a store of its own, so that mistakes are told by the parser."""
    try:
        ox.Store().update(text, prefixes=PREFIXES)
    except SyntaxError as error:
        raise UsageError.of("E831", f"this is no SPARQL update: {error}", remedy="see the SPARQL grammar") from error
    except (ValueError, OSError) as error:
        raise UsageError.of("E833", f"the update is not supported: {error}", remedy="use INSERT DATA") from error
