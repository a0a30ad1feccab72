"""A graph as an engine that knows triples.

What      : `GraphEngine`: a graph under the names that an engine has, as far as a pipeline uses them.
Idea      : updates, changes and relations are about `triple`, or about classes and properties by their names, whatever
            the layout. The graph below splits them and lets axioms be rules.
Invariant : `triple` holds the triples of the graph. Relations of the user have names without a colon and are as they
            are in the engine below.
Never     : no layout is chosen here.

Code: E613 the state of a graph that reasons otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

from tidelog.changes.change import Change, FactTable, WithoutValue
from tidelog.changes.relation import Relation
from tidelog.changes.update import Facts, Update
from tidelog.errors import StateError
from tidelog.language.parser import parse
from tidelog.language.terms import Declaration, Program
from tidelog.rdf.far_triples import FarTriples
from tidelog.rdf.graph import Graph
from tidelog.rdf.graph_update import GraphUpdate
from tidelog.rdf.layouts import Layout, is_statement, triples_of
from tidelog.rdf.quads import Quads, Triple, of_triples
from tidelog.rdf.rule_table import TRIPLE
from tidelog.rdf.saved import open_graph, save
from tidelog.rdf.triple_tables import COLUMNS, TripleTable

_DECLARED = Declaration(TRIPLE, tuple((name, "any") for name in COLUMNS))


class GraphEngine:
    """A graph, kept true and seen as triples."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @classmethod
    def open(cls, directory: str | PathLike[str], reasoning: str, **options: Any) -> GraphEngine:  # noqa: ANN401
        """The graph of a stored state, which has to be one that reasons so; `options` are those of `Engine.open`."""
        graph = open_graph(Graph, directory, **options)
        if graph.reasoning != reasoning:
            sentence = f"the state in {directory} reasons by {graph.reasoning}, not by {reasoning}"
            raise StateError.of("E613", sentence, remedy="say so, or begin a new state")
        return cls(graph)

    # -- updates -------------------------------------------------------------------------------------------------------

    def load(self, triples: Quads | FarTriples | None, insert: Mapping[str, object]) -> Change:
        """The first facts: triples, and facts of the user's other relations."""
        return self._take(GraphUpdate(of_triples([]) if triples is None else triples, insert=insert))

    def apply(
        self,
        insert: Mapping[str, object] | None = None,
        delete: Mapping[str, object] | None = None,
        add_rules: str | None = None,
        remove_rules: Sequence[str] = (),
    ) -> Change:
        """Apply one update: facts of `triple`, of classes and properties, and of other relations; and rules."""
        return self.apply_update(Update.of(insert, delete, add_rules, remove_rules))

    def apply_update(self, update: Update) -> Change:
        """Apply one update as a transaction."""
        added = parse(update.add_rules)
        return self._take(
            GraphUpdate(
                of_triples(_triples(update.insert)),
                of_triples(_triples(update.delete)),
                added,
                update.remove_rules,
                _own(update.insert),
                _own(update.delete),
            )
        )

    def _take(self, update: GraphUpdate) -> Change:
        return self.graph.take(update).as_triples()

    def look_ahead(self, upcoming: Update) -> None:
        """Find what the next update will delete, if the strategy has a use for it."""
        facts = self.graph.facts_of(of_triples(_triples(upcoming.delete)))
        self.graph.engine.look_ahead(Update.of(None, {**facts, **_own(upcoming.delete)}))

    # -- reading -------------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The number of the present version."""
        return self.graph.engine.version

    @property
    def backend(self) -> str:
        """The name of the backend."""
        return self.graph.engine.backend

    @property
    def looks_ahead(self) -> bool:
        """Whether the strategy makes use of `look_ahead`."""
        return self.graph.engine.looks_ahead

    @property
    def without_value(self) -> dict[str, WithoutValue]:
        """Rule -> its matches in this version that derive nothing because a value is missing."""
        return self.graph.engine.without_value

    @property
    def program(self) -> Program:
        """The user's rules, and what `triple` is; rules that axioms mean come and go with these."""
        own = self.graph.user_rules
        known = any(one.relation == TRIPLE for one in own.declarations)
        return Program(own.rules, (), own.declarations if known else (_DECLARED, *own.declarations))

    @property
    def relations(self) -> tuple[str, ...]:
        """`triple`, and the relations that are no triples."""
        own = (name for name in self.graph.engine.relations if not is_statement(name))
        return tuple(sorted({TRIPLE, *own}))

    def size(self, relation: str) -> int:
        """How many facts a relation has."""
        return self.graph.fact_count if relation == TRIPLE else self.graph.engine.size(relation)

    @property
    def is_split(self) -> bool:
        """Whether triples are kept by class and property."""
        return self.graph.layout is Layout.RULES

    @property
    def parts(self) -> Mapping[str, Relation]:
        """The relations that hold the triples, as they are in the engine below, without those that have none."""
        engine = self.graph.engine
        return {name: engine[name] for name in self.graph.relations if engine.size(name)}

    def __contains__(self, relation: object) -> bool:
        return relation == TRIPLE or (
            isinstance(relation, str) and not is_statement(relation) and relation in self.graph.engine
        )

    def __getitem__(self, relation: str) -> Relation:
        if relation != TRIPLE or not self.is_split:
            return self.graph.engine[relation]
        return Relation(TRIPLE, lambda: COLUMNS, lambda: TripleTable(self.parts))

    def explicit(self, relation: str) -> FactTable:
        """The explicit facts of a relation."""
        engine = self.graph.engine
        if relation != TRIPLE or not self.is_split:
            return engine.explicit(relation)
        return TripleTable({name: engine.explicit(name) for name in self.graph.relations})

    def verify(self) -> None:
        """Check the one law of the engine below."""
        self.graph.verify()

    # -- keeping -------------------------------------------------------------------------------------------------------

    def save(self, target: str | PathLike[str], *, batch: int | range | None = None, source: str = "updates") -> None:
        """Make the present version durable, with the batch that led to it."""
        save(self.graph, target, batch=batch, source=source)

    def close(self) -> None:
        """Give back what the graph holds."""
        self.graph.close()


def _triples(facts: Facts) -> Iterator[Triple]:
    """The triples among facts, whether they are said of `triple` or of a class or property."""
    for name, table in facts.items():
        if is_statement(name):
            yield from triples_of(name, table)


def _own(facts: Facts) -> dict[str, object]:
    return {name: table for name, table in facts.items() if not is_statement(name)}
