"""A knowledge graph that is kept true.

What      : `Graph`: triples come and go, axioms among them, and everything that follows is there.
Idea      : a graph is an engine with a layout (layouts.py). An update is split into facts and, where axioms are among
            them, rules (axioms.py); the engine applies both as one transaction.
Invariant : after every update the triples are those that reasoning anew would give, whatever the layout; an update that
            fails changes nothing.
Never     : no inference of its own.

Codes: E333 named graphs, E335 a graph on Spark that is too large to go over, E835 no such reasoning or layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from tidelog.changes.change import Change, FactTables
from tidelog.changes.shared import SharedFacts
from tidelog.engine import Engine
from tidelog.errors import TidelogError, UpdateError, UsageError
from tidelog.language.parser import parse
from tidelog.language.printer import print_rule
from tidelog.language.terms import Program
from tidelog.maintenance.preview import Preview
from tidelog.rdf.axioms import SAME
from tidelog.rdf.axioms_among import axioms_among
from tidelog.rdf.blank_node_labels import Labels
from tidelog.rdf.datatypes import literal_facts
from tidelog.rdf.far_triples import FarColumns, FarTriples, ListedTuples, Statements
from tidelog.rdf.graph_change import GraphChange, ListedChange
from tidelog.rdf.graph_update import GraphUpdate
from tidelog.rdf.layouts import (
    BeyondRulesError,
    Layout,
    fact_of,
    facts_of,
    in_layout,
    is_shown,
    is_statement,
    name_of,
    one_arity,
    triples_of,
)
from tidelog.rdf.mirror import Mirror
from tidelog.rdf.proofs import GraphProof
from tidelog.rdf.quads import FEW, GIVEN, Quads, Triple, merged, of_triples
from tidelog.rdf.read import read_quads
from tidelog.rdf.reasoner import MANY_AXIOMS, Reasoner
from tidelog.rdf.rule_table import INCONSISTENCY, REASONINGS, rule_table
from tidelog.rdf.sparql import Answer, ask
from tidelog.rdf.sparql_update import read_update
from tidelog.rdf.user_rules import (
    cannot_go_over,
    checked_user_rules,
    no_triples,
    over_triples,
    reasoning_over_triples,
    removed_over_triples,
    takes_triples,
    triples_among,
    with_rules,
)
from tidelog.rdf.write import lines, write_lines
from tidelog.turns import NotCopied

MOST_GOING_OVER = 2_000_000
"""Triples on Spark that go over to another layout at most: they pass through the driver."""

PIECE = 500_000
"""Triples that are written as text at once."""


class Graph(NotCopied):
    """Triples and what follows from them."""

    def __init__(
        self,
        *sources: object,
        reasoning: str = "none",
        rules: str | Program = "",
        options: Iterable[str] = (),
        layout: str = "auto",
        named_graphs: str = "refuse",
        **engine_options: Any,  # noqa: ANN401 - strategy, backend, spark and limits, as the engine takes them
    ) -> None:
        if reasoning not in REASONINGS:
            raise UsageError.of("E835", f"there is no reasoning {reasoning}", remedy=f"use {', '.join(REASONINGS)}")
        if layout not in ("auto", "rules", "triples"):
            raise UsageError.of("E835", f"there is no layout {layout}", remedy="use auto, rules or triples")
        self.reasoning = reasoning
        self._options = frozenset(options)
        self._asked_layout, self._named_graphs, self._engine_options = layout, named_graphs, engine_options
        self.user_rules = checked_user_rules(parse(rules) if isinstance(rules, str) else rules)
        self.version = 0
        first = Layout.RULES
        if layout == "triples" or self._options or takes_triples(self.user_rules):
            first = Layout.TRIPLES
        self.engine: Engine
        self.layout: Layout
        self.labels = Labels()
        self.mirror = Mirror(self)
        quads = merged([self._read(source) for source in sources])
        self._start(first)
        written = triples_among(self.user_rules.facts)
        if len(quads) or written:
            self._update(GraphUpdate(merged([quads, of_triples(written)]) if written else quads))
        self.labels.note(quads)

    # -- updates -----------------------------------------------------------------------------------------------------

    def apply(
        self,
        insert: object = (),
        delete: object = (),
        add_rules: str | Program | None = None,
        remove_rules: Iterable[str] = (),
    ) -> GraphChange:
        """Apply one update: triples, files or graphs to delete and insert, data and axioms alike, and rules."""
        come, gone = self._read(insert), self._read(delete, deleting=True)
        self.labels.check(gone)
        added = parse(add_rules or "") if isinstance(add_rules, str) else add_rules or Program()
        change = self.take(GraphUpdate(come, gone, added, tuple(remove_rules)))
        self.labels.note(come)
        return change

    def take(self, update: GraphUpdate) -> GraphChange:
        """Apply an update whose triples have been read; blank nodes are taken by the labels that they have in it."""
        if self.layout is Layout.RULES and takes_triples(update.added):
            self._go_over(BeyondRulesError("a rule speaks of triples as such"))
        change = self._update(update.with_written_triples())
        self.version += 1
        change.version = self.version
        self.mirror.follow(change)
        return change

    def preview(self, insert: object = (), delete: object = ()) -> Preview:
        """What an update of axioms would touch, and about at what cost, without doing it."""
        come, gone = self._read(insert), self._read(delete, deleting=True)
        if self.layout is Layout.TRIPLES:
            return self.engine.preview()
        found = self.facts_of(come), self.facts_of(gone)
        added, removed = self._reasoner_after(GraphUpdate(come, gone), *found).rules_since(self._reasoner)
        return self.engine.preview(Program(tuple(added)), removed)

    # -- reading -----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many triples there are, derived ones included; those with literals as subjects are not counted."""
        return sum(part.count(b"\n") for part in self.lines())

    def __iter__(self) -> Iterator[Triple]:
        for name in self.relations:
            yield from filter(is_shown, triples_of(name, self.engine[name]))

    def __contains__(self, triple: object) -> bool:
        if not isinstance(triple, tuple) or len(triple) != 3:
            return False
        if not is_shown(triple):
            return False
        relation, fact = fact_of(triple, self.layout)
        return relation in self.engine and fact in self.engine[relation]

    @property
    def fact_count(self) -> int:
        """How many facts hold the triples: as `len`, but at once, and with those that have literals as subjects."""
        return sum(map(self.engine.size, self.relations))

    @property
    def relations(self) -> list[str]:
        """The relations of the engine that hold triples."""
        return [name for name in self.engine.relations if is_statement(name)]

    @property
    def inconsistencies(self) -> list[tuple[Any, ...]]:
        """The inconsistencies of the graph: rule, and the two things that it is about."""
        return list(self.engine[INCONSISTENCY]) if INCONSISTENCY in self.engine else []

    def explicit(self) -> Iterator[Triple]:
        """The triples that were given."""
        for name in self.relations:
            yield from triples_of(name, self.engine.explicit(name))

    def query(self, text: str, *, parameters: Mapping[str, Any] | None = None) -> Answer:
        """Ask in SPARQL 1.1: rows with columns for SELECT, yes or no for ASK, triples for CONSTRUCT and DESCRIBE."""
        return ask(self.mirror, text, parameters)

    def update(self, text: str) -> GraphChange:
        """Apply a SPARQL 1.1 update: its WHERE parts are asked first, what they find becomes one update."""
        come, gone = read_update(self.mirror, text)
        return self.apply(insert=come, delete=gone)

    def explain(self, triple: Triple | tuple[Any, ...]) -> GraphProof:
        """Why a triple is there: a shallowest proof, with the axioms that it uses; E808 if it is not there."""
        relation, fact = fact_of(triple, self.layout)
        return GraphProof(self.engine.explain(relation, fact), self._reasoner.compiled)

    def explain_inconsistency(self, inconsistency: tuple[Any, ...]) -> GraphProof:
        """Why the graph is inconsistent: the proof of one of `inconsistencies`."""
        return GraphProof(self.engine.explain(INCONSISTENCY, inconsistency), self._reasoner.compiled)

    def write(self, path: str | Path, *, derived: bool = True) -> Path:
        """Write the triples, or only the given ones, in the format that the path's ending names."""
        tables = ((name, self.engine[name] if derived else self.engine.explicit(name)) for name in self.relations)
        return write_lines(path, (lines(name, table.to_arrow()) for name, table in tables))

    def lines(self) -> Iterator[bytes]:
        """All triples as N-Triples, relation by relation, in pieces of at most half a million."""
        for name in self.relations:
            table = self.engine[name].to_arrow()
            yield from (lines(name, table.slice(at, PIECE)) for at in range(0, table.num_rows, PIECE))

    def verify(self) -> None:
        """Check the one law of the engine below."""
        self.engine.verify()

    # -- keeping -----------------------------------------------------------------------------------------------------

    def save(self, directory: str | Path) -> None:
        """Make the present version durable in a directory: wholly or not at all; later saves write what changed."""
        from tidelog.rdf.saved import save

        save(self, directory)

    @classmethod
    def open(cls, directory: str | Path, **engine_options: Any) -> Graph:  # noqa: ANN401 - as in the constructor
        """The graph that was saved, as it was: nothing is reasoned anew."""
        from tidelog.rdf.saved import open_graph

        return open_graph(cls, directory, **engine_options)

    def close(self) -> None:
        """Give back what the graph holds, its mirror for SPARQL included; it cannot be used any more."""
        self.mirror.forget()
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- within ------------------------------------------------------------------------------------------------------

    def _read(self, source: object, *, deleting: bool = False) -> Quads:
        """The statements of a source; named graphs are refused unless their union is asked for."""
        parts = list(read_quads(source))
        if deleting and isinstance(source, str | Path):
            kept = list(read_quads(source, keep_labels=True))
            parts = kept if all(GIVEN.fullmatch(label) for part in kept for label in part.blank_nodes()) else parts
        quads = merged(parts)
        if not quads.has_graphs:
            return quads
        if self._named_graphs != "union":
            remedy = 'say named_graphs="union" to reason over the union of the graphs'
            raise UpdateError.of("E333", "the source has named graphs", remedy=remedy)
        rows = quads.rows.copy()
        rows[:, 3] = -1
        return Quads(quads.constants, rows, quads.labels)

    def _start(self, layout: Layout) -> None:
        """An engine without facts, in a layout."""
        self.layout, self._reasoner = layout, Reasoner(self.reasoning)
        program, own = self._program(layout), no_triples(self.user_rules.facts)
        self.engine = Engine(replace(program, facts=own, inputs=(), outputs=()), **self._engine_options)

    def _program(self, layout: Layout) -> Program:
        """The user's rules and those of the rule table, in a layout."""
        user, options = self.user_rules, self._options
        if layout is Layout.TRIPLES:
            return reasoning_over_triples(user, self.reasoning, options)
        table = (in_layout(rule, layout) for _, rule in rule_table(self.reasoning, options))
        return replace(user, rules=(*(rule for rule in table if rule is not None), *user.rules))

    def _update(self, update: GraphUpdate) -> GraphChange:
        """One transaction of the engine: facts, the rules of changed axioms, and rules of the user."""
        try:
            new = {**self.facts_of(update.come), **self._about_literals(update.come)}
            old = self.facts_of(update.gone)
            reasoner = self._reasoner_after(update, new, old)
        except BeyondRulesError as reason:
            self._go_over(reason)
            return self._update(update)
        rules, names = reasoner.rules_since(self._reasoner)
        extra, texts = update.added, update.removed
        if self.layout is Layout.TRIPLES:
            extra, texts = over_triples(update.added), tuple(removed_over_triples(update.removed))
        program = Program((*rules, *extra.rules), extra.facts, extra.declarations)
        own, after = self.user_rules, with_rules(self.user_rules, update.added, update.removed)
        known = set(self.explicit()) if self.layout is Layout.RULES and cannot_go_over(after) else None
        come, gone = {**update.insert, **new}, {**update.delete, **old}
        change = self.engine.apply(come, gone, program, (*names, *texts))
        before, self._reasoner, self.user_rules = self._reasoner, reasoner, after
        if self.layout is Layout.RULES and self._is_about_axioms(change, bool(rules)):
            return self._went_over(change, own, before, known)
        return GraphChange(change)

    def _went_over(self, change: Change, own: Program, reasoner: Reasoner, known: set[Triple] | None) -> GraphChange:
        """Go over after an update; the rest is what there was before it, for a graph that cannot."""
        before = (set(self) - set(_shown(change.inserted))) | set(_shown(change.deleted))
        try:
            self._go_over(BeyondRulesError("a class or property is the same as another"))
        except TidelogError:
            if known is not None:
                self._take_back(own, reasoner, known)
            raise
        after = set(self)
        return ListedChange(after - before, before - after, change)

    def _take_back(self, own: Program, reasoner: Reasoner, known: set[Triple]) -> None:
        """Give the engine the explicit triples and the rules that it had before the last update."""
        now = set(self.explicit())
        rules, names = reasoner.rules_since(self._reasoner)
        gained = tuple(rule for rule in self.user_rules.rules if rule not in own.rules)
        lost = tuple(rule for rule in own.rules if rule not in self.user_rules.rules)
        insert, delete = self.facts_of(of_triples(known - now)), self.facts_of(of_triples(now - known))
        self.engine.apply(insert, delete, Program((*rules, *lost)), (*names, *map(print_rule, gained)))
        self._reasoner, self.user_rules = reasoner, own

    def facts_of(self, quads: Quads | FarTriples) -> Statements:
        """Triples as facts of the engine, by relation."""
        if isinstance(quads, FarTriples):
            return quads.facts(self.layout)
        if len(quads) > FEW:
            return facts_of(quads, self.layout)
        found: dict[tuple[str, int], ListedTuples] = {}
        for triple in quads.triples():
            relation, fact = fact_of(triple, self.layout)
            found.setdefault((relation, len(fact)), []).append(fact)
        return {name: facts for (name, _), facts in one_arity(found).items()}

    def _about_literals(self, quads: Quads | FarTriples) -> Mapping[str, ListedTuples]:
        """What the rules of table 8 have to know about literals: those that are ill-typed, or all if they ask.

        It is true of a literal wherever it stands, so it stays when a triple with the literal goes.
        """
        if self.reasoning != "owl-rl":
            return {}
        if isinstance(quads, FarTriples):
            return quads.about_literals
        return literal_facts(quads, everything=bool(self._options & {"dt-type2", "dt-eq", "dt-diff"}))

    def _reasoner_after(self, update: GraphUpdate, come: Statements, gone: Statements) -> Reasoner:
        """The rules that are in force after an update; `come` and `gone` are its triples as facts, by relation."""
        if self.layout is Layout.TRIPLES:
            return self._reasoner
        named = {name: _arity(facts) for name, facts in come.items()}
        most = MANY_AXIOMS if self._asked_layout == "auto" else None
        axioms = ([], []) if self.reasoning == "none" else (_axioms(update.come, come), _axioms(update.gone, gone))
        return self._reasoner.after(*axioms, named, self.user_rules, most)

    def _go_over(self, reason: BeyondRulesError) -> None:
        """Go over to the layout for graphs that reason about their own vocabulary, by one update of the engine."""
        if self._asked_layout == "rules":
            sentence = f"the layout rules is not enough: {reason}"
            raise UsageError.of("E835", sentence, remedy="use layout='auto'") from reason
        if self.engine.backend == "spark" and self.fact_count > MOST_GOING_OVER:
            sentence = f"more than {MOST_GOING_OVER:,} triples cannot go over to the layout triples: {reason}"
            raise UpdateError.of("E335", sentence, remedy="begin a new graph with these axioms") from reason
        program, present = self._program(Layout.TRIPLES), self.engine.program
        insert = facts_of(of_triples(self.explicit()), Layout.TRIPLES)
        delete = {name: list(self.engine.explicit(name)) for name in self.relations}
        declared = tuple(one for one in program.declarations if one not in present.declarations)
        names = [rule.name or print_rule(rule) for rule in present.rules]
        self.engine.apply(insert, delete, Program(program.rules, (), declared), names)
        self.layout, self._reasoner = Layout.TRIPLES, Reasoner(self.reasoning)
        self.mirror.forget()

    def _is_about_axioms(self, change: Change, has_new_rules: bool) -> bool:
        """Whether a class, a property or something that an axiom names has become the same as something else."""
        if SAME not in self.engine or not len(self.engine[SAME]):
            return False
        terms = self._reasoner.ontology.terms()
        pairs: Iterable[Any] = self.engine[SAME] if has_new_rules else change.inserted[SAME]
        return any(
            x != y and (x in terms or y in terms or name_of(x) in self.engine or name_of(y) in self.engine)
            for x, y in pairs
        )


def _arity(facts: SharedFacts | FarColumns | ListedTuples) -> int:
    return len(facts[0]) if isinstance(facts, list) else facts.arity


def _axioms(quads: Quads | FarTriples, facts: Statements) -> list[Triple]:
    return quads.axioms if isinstance(quads, FarTriples) else axioms_among(quads, facts)


def _shown(tables: FactTables) -> Iterator[Triple]:
    for name, table in tables.items():
        if is_statement(name):
            yield from filter(is_shown, triples_of(name, table))
