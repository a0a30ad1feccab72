"""Directives: declarations, type aliases, inputs and outputs.

What      : collects `.decl`, `.type`, `.input`, `.output` and `.printsize` of one text and resolves type names.
Idea      : a type may be used before it is named, so names are resolved when the text ends.
Invariant : resolved declarations hold base types only; a union of types with different bases is `any`.
Never     : no check of facts or rules against declarations (that is analysis).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidelog.errors import Place, Problem
from tidelog.language.terms import Declaration

BASE_TYPES = frozenset({"number", "unsigned", "float", "symbol", "bool", "any"})

_LIKELY = {
    "string": "symbol",
    "str": "symbol",
    "text": "symbol",
    "int": "number",
    "integer": "number",
    "double": "float",
    "real": "float",
    "boolean": "bool",
}

Directive = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Alias:
    """`.type name = members`."""

    members: tuple[str, ...]
    place: Place


@dataclass(slots=True)
class Column:
    """`name: kind` as written; the place is the kind's."""

    name: str
    kind: str
    place: Place


@dataclass(slots=True)
class Declarations:
    """The directives read so far."""

    inputs: list[Directive] = field(default_factory=list)
    outputs: list[Directive] = field(default_factory=list)
    aliases: dict[str, Alias] = field(default_factory=dict)
    _declared: list[tuple[str, list[Column], Place, bool]] = field(default_factory=list)

    def declare(self, relation: str, columns: list[Column], place: Place, *, inline: bool = False) -> None:
        """Note a `.decl`; its types may be named later."""
        self._declared.append((relation, columns, place, inline))

    def resolved(self) -> tuple[tuple[Declaration, ...], list[Problem]]:
        """The declarations with base types for type names, and a problem for each name that is no type."""
        problems: list[Problem] = []
        declarations = tuple(
            Declaration(
                relation, tuple((column.name, self._base(column, problems)) for column in columns), place, inline
            )
            for relation, columns, place, inline in self._declared
        )
        return declarations, problems

    def _base(self, column: Column, problems: list[Problem]) -> str:
        bases = set(self._bases(column.kind))
        if None in bases:
            problems.append(_unknown_type(column))
        return str(bases.pop()) if len(bases) == 1 else "any"

    def _bases(self, kind: str) -> Iterator[str | None]:
        """The base types behind a name; None for each name that nobody defined or that is defined by itself only."""
        seen: set[str] = set()
        waiting = [kind]
        found = False
        while waiting:
            name = waiting.pop()
            if name in BASE_TYPES:
                found = True
                yield name
            elif name in self.aliases:
                if name not in seen:
                    seen.add(name)
                    waiting.extend(self.aliases[name].members)
            else:
                found = True
                yield None
        if not found:
            yield None


def _unknown_type(column: Column) -> Problem:
    meant = _LIKELY.get(column.kind.lower())
    remedy = f"use {meant}" if meant else f"use {', '.join(sorted(BASE_TYPES))}, or name it with .type"
    return Problem("E109", f"there is no type {column.kind}", column.place, remedy)
