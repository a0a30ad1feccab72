"""Directives: declarations, type aliases, inputs and outputs.

What      : collects `.decl`, `.type`, `.input`, `.output` and `.printsize` of one text and resolves type names.
Idea      : a type may be used before it is named, so names are resolved when the text ends.
Invariant : resolved declarations hold base types only; a union of types with different bases is `any`.
Never     : no check of facts or rules against declarations (that is analysis).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tidelog.errors import Place, Problem
from tidelog.language.terms import Declaration

BASE_TYPES = frozenset({"number", "unsigned", "float", "symbol", "bool", "any"})

Directive = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class Alias:
    """`.type name = members`."""

    members: tuple[str, ...]
    place: Place


@dataclass(slots=True)
class Declarations:
    """The directives read so far."""

    declared: list[Declaration] = field(default_factory=list)
    inputs: list[Directive] = field(default_factory=list)
    outputs: list[Directive] = field(default_factory=list)
    aliases: dict[str, Alias] = field(default_factory=dict)

    def resolve(self) -> list[Problem]:
        """Replace type names by base types; what cannot be resolved comes back as problems."""
        problems: list[Problem] = []
        for position, declaration in enumerate(self.declared):
            columns = []
            for column, kind in declaration.columns:
                bases = set(self._bases(kind))
                if None in bases:
                    problems.append(_unknown_type(kind, declaration.place))
                columns.append((column, str(bases.pop()) if len(bases) == 1 else "any"))
            self.declared[position] = replace(declaration, columns=tuple(columns))
        return problems

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


def _unknown_type(kind: str, place: Place | None) -> Problem:
    remedy = f"use {', '.join(sorted(BASE_TYPES))}, or name it with .type {kind} <: symbol"
    return Problem("E109", f"there is no type {kind}", place, remedy)
