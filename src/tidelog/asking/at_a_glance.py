"""An engine at a glance.

What      : `AtAGlance` gives an engine its `repr` and what a notebook shows: relations with their sizes, and the rules;
            and it tells which rules have instances without a value.
Idea      : the first question at an engine is what is in it, and how much.
Invariant : nothing but counts is read.
Never     : no facts are shown here; a relation shows its own.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from tidelog.errors import UsageError

if TYPE_CHECKING:
    from tidelog.changes.change import WithoutValue
    from tidelog.changes.relation import Relation
    from tidelog.language.terms import Program


class AtAGlance:
    """Shows an engine by what it can be asked: relations, rules, version."""

    def __repr__(self) -> str:
        engine: Any = self
        try:
            engine._turns.refuse_if_closed()
        except UsageError as error:
            return f"<Engine version {engine.version}: {error.problems[0].sentence}>"
        facts = sum(map(self.size, engine.relations))
        counts = f"{len(engine.rules)} rules, {len(engine.relations)} relations, {facts:,} facts"
        return f"<Engine version {engine.version}: {counts}; {engine.backend}, {engine.strategy}>"

    def size(self, relation: str) -> int:
        """How many facts a relation has, as `len(engine[relation])`; on Spark none is brought to the driver for it."""
        engine: Any = self
        found: int = engine._read(lambda backend: backend.store.size(relation))
        return found

    @property
    def without_value(self) -> dict[str, WithoutValue]:
        """Rule -> its matches in the present version that derive nothing because a value is missing."""
        engine: Any = self
        told: dict[str, WithoutValue] = engine._missing.told(engine._book.schedule)
        return told

    def _repr_html_(self) -> str:
        from tidelog.changes.html import folded, lines_html
        from tidelog.changes.tables import html_table

        engine: Any = self
        if engine._turns.is_closed:
            return f"<p><b>{escape(repr(self))}</b></p>"
        relations: list[Relation] = [engine[name] for name in engine.relations]
        rows = [(relation.name, relation.arity, self.size(relation.name)) for relation in relations]
        table = html_table(("relation", "columns", "facts"), rows, len(rows), 100)
        program: Program = engine.program
        rules = engine.rules
        listed = folded(f"{len(rules)} rules", lines_html("\n".join(rules)), is_open=len(rules) <= 10)
        picture = type(program).drawn(program)
        graph = folded("which rules feed which", picture) if picture else ""
        return f"<div><p><b>{escape(repr(self))}</b></p>{table}{listed}{graph}</div>"
