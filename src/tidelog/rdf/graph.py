"""A knowledge graph that is kept true.

What      : `Graph`: triples come and go, axioms among them, and everything that follows is there.
Idea      : a graph is an engine with a layout (layouts.py). An update is split into facts and, where axioms are among
            them, rules (axioms.py); the engine applies both as one transaction.
Invariant : after every update the triples are those that reasoning anew would give, whatever the layout; an update that
            fails changes nothing.
Never     : no inference of its own.

Codes: E333 named graphs, E334 a deletion that names unknown blank nodes, E835 no such reasoning or layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from tidelog.analysis.impact import without
from tidelog.changes.change import Change, FactTables
from tidelog.changes.shared import SharedFacts
from tidelog.engine import Engine
from tidelog.errors import TidelogError, UpdateError, UsageError
from tidelog.language.parser import parse
from tidelog.language.terms import Program, Rule
from tidelog.maintenance.preview import Preview
from tidelog.rdf.axioms import SAME, BeyondRulesError, Compiled, Ontology, compiled
from tidelog.rdf.axioms_among import axioms_among
from tidelog.rdf.datatypes import literal_facts
from tidelog.rdf.graph_change import GraphChange, ListedChange
from tidelog.rdf.layouts import (
    Layout,
    fact_of,
    facts_of,
    in_layout,
    is_shown,
    is_statement,
    name_of,
    triples_of,
)
from tidelog.rdf.mirror import Mirror
from tidelog.rdf.proofs import GraphProof
from tidelog.rdf.quads import FEW, GIVEN, Quads, Triple, merged, of_triples
from tidelog.rdf.read import read_quads
from tidelog.rdf.rule_table import INCONSISTENCY, REASONINGS, rule_table
from tidelog.rdf.sparql import Answer, ask
from tidelog.rdf.sparql_update import read_update
from tidelog.rdf.user_rules import (
    cannot_go_over,
    over_triples,
    reasoning_over_triples,
    removed_over_triples,
    takes_triples,
)
from tidelog.rdf.write import lines, write_lines

MANY_AXIOMS = 3_000
"""With more axioms they are kept as facts: a rule costs a quarter of a millisecond, a fact less than a microsecond."""

PIECE = 500_000
"""Triples that are written as text at once."""


class Graph:
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
        self._user_rules = parse(rules) if isinstance(rules, str) else rules
        self.version = 0
        first = Layout.RULES
        if layout == "triples" or self._options or takes_triples(self._user_rules):
            first = Layout.TRIPLES
        self.engine: Engine
        self.layout: Layout
        self._mentioned: dict[str, int] = {}
        self._given: dict[str, int] = {}
        self._labels: set[str] = set()
        self.mirror = Mirror(self)
        quads = merged([self._read(source) for source in sources])
        self._start(first, quads)
        self._note_labels(quads)

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
        self._check_blank_nodes(gone)
        added = parse(add_rules or "") if isinstance(add_rules, str) else add_rules or Program()
        if self.layout is Layout.RULES and takes_triples(added):
            self._go_over(BeyondRulesError("a rule speaks of triples as such"))
        change = self._update(come, gone, added, tuple(remove_rules))
        self._note_labels(come)
        self.version += 1
        change.version = self.version
        self.mirror.follow(change)
        return change

    def preview(self, insert: object = (), delete: object = ()) -> Preview:
        """What an update of axioms would touch, and about at what cost, without doing it."""
        come, gone = self._read(insert), self._read(delete, deleting=True)
        if self.layout is Layout.TRIPLES:
            return self.engine.preview()
        facts, mentioned = self._facts(come), self._mentioned
        ontology = self._ontology.changed(axioms_among(come, facts), axioms_among(gone, self._facts(gone)))
        try:
            added, removed, _ = self._rule_change(ontology, {**facts, **self._about_literals(come)})
        finally:
            self._mentioned = mentioned
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
        relation, fact = fact_of(triple, self.layout)
        return relation in self.engine and is_shown(triple) and fact in self.engine[relation]

    @property
    def fact_count(self) -> int:
        """How many facts hold the triples: as `len`, but at once, and with those that have literals as subjects."""
        return sum(len(self.engine[name]) for name in self.relations)

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
        return GraphProof(self.engine.explain(relation, fact), self._compiled)

    def explain_inconsistency(self, inconsistency: tuple[Any, ...]) -> GraphProof:
        """Why the graph is inconsistent: the proof of one of `inconsistencies`."""
        return GraphProof(self.engine.explain(INCONSISTENCY, inconsistency), self._compiled)

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

    def _start(self, layout: Layout, quads: Quads) -> None:
        """Reason from nothing, in a layout; go over to the other one if this one is not enough."""
        self.layout = layout
        self._ontology, self._compiled = Ontology(), dict[str, Compiled]()
        self._mentioned = {}
        user, options = self._user_rules, self._options
        if layout is Layout.TRIPLES:
            program = reasoning_over_triples(user, self.reasoning, options)
        else:
            table = (in_layout(rule, layout) for _, rule in rule_table(self.reasoning, options))
            program = replace(user, rules=(*(rule for rule in table if rule is not None), *user.rules))
        self.engine = Engine(replace(program, inputs=(), outputs=()), **self._engine_options)
        self._update(quads, of_triples([]), Program(), ())

    def _update(self, come: Quads, gone: Quads, added: Program, removed: tuple[str, ...]) -> GraphChange:
        """One transaction of the engine: facts, the rules of changed axioms, and rules of the user."""
        insert, delete = {**self._facts(come), **self._about_literals(come)}, self._facts(gone)
        ontology, rules, names, found = self._ontology, list[Rule](), tuple[str, ...](), self._compiled
        if self.layout is Layout.RULES and self.reasoning != "none":
            old, new = axioms_among(gone, delete), axioms_among(come, insert)
            ontology = ontology.changed(new, old) if old or new else ontology
            try:
                rules, names, found = self._rule_change(ontology, insert)
            except BeyondRulesError as reason:
                self._go_over(reason)
                return self._update(come, gone, added, removed)
        extra, texts = added, removed
        if self.layout is Layout.TRIPLES:
            extra, texts = over_triples(added), tuple(removed_over_triples(removed))
        program = Program((*rules, *extra.rules), extra.facts, extra.declarations)
        own, after = self._user_rules, self._with_rules(added, removed)
        known = list(self.explicit()) if self.layout is Layout.RULES and cannot_go_over(after) else None
        change = self.engine.apply(insert, delete, program, (*names, *texts))
        self._ontology, self._compiled, self._user_rules = ontology, found, after
        if self.layout is Layout.RULES and self._is_about_axioms(change, bool(rules)):
            return self._went_over(change, own, known)
        return GraphChange(change)

    def _went_over(self, change: Change, own: Program, known: list[Triple] | None) -> GraphChange:
        """Go over after an update; `own` and `known` are rules and triples as they were, for a graph that cannot."""
        before = (set(self) - set(_shown(change.inserted))) | set(_shown(change.deleted))
        try:
            self._go_over(BeyondRulesError("a class or property is the same as another"))
        except TidelogError:
            self._user_rules = own
            if known is not None:
                self._start(Layout.RULES, of_triples(known))
            raise
        after = set(self)
        return ListedChange(after - before, before - after, change)

    def _with_rules(self, added: Program, removed: tuple[str, ...]) -> Program:
        """The user's program after rules came and went."""
        own = self._user_rules
        kept = without(own.rules, removed) if removed else own.rules
        return Program(
            (*kept, *added.rules), own.facts, (*own.declarations, *added.declarations), own.inputs, own.outputs
        )

    def _facts(self, quads: Quads) -> Mapping[str, object]:
        if len(quads) > FEW:
            return facts_of(quads, self.layout)
        found: dict[str, list[tuple[Any, ...]]] = {}
        for triple in quads.triples():
            relation, fact = fact_of(triple, self.layout)
            found.setdefault(relation, []).append(fact)
        return found

    def _about_literals(self, quads: Quads) -> Mapping[str, object]:
        """What the rules of table 8 have to know about literals: those that are ill-typed, or all if they ask.

        It is true of a literal wherever it stands, so it stays when a triple with the literal goes.
        """
        if self.reasoning != "owl-rl":
            return {}
        return literal_facts(quads, everything=bool(self._options & {"dt-type2", "dt-eq", "dt-diff"}))

    def _rule_change(
        self, ontology: Ontology, insert: Mapping[str, object]
    ) -> tuple[list[Rule], tuple[str, ...], dict[str, Compiled]]:
        """The rules to add and the names of those to remove, and all that there are then."""
        more = {name: _arity(facts) for name, facts in insert.items() if self._mentioned.get(name) is None}
        if ontology is self._ontology and not more:
            return [], (), self._compiled
        if ontology.size > MANY_AXIOMS and self._asked_layout == "auto":
            raise BeyondRulesError(f"there are more than {MANY_AXIOMS} axioms")
        known = {rule.head.relation: len(rule.head.terms) for rule in self._user_rules.rules}
        mentioned = {**known, **self._mentioned, **more}
        found = compiled(ontology, self.reasoning, mentioned)
        self._mentioned = mentioned
        before = self._compiled
        same = {name for name, one in found.items() if name in before and before[name].rule == one.rule}
        added = [one.rule for name, one in found.items() if name not in same]
        return added, tuple(name for name in before if name not in same), found

    def _go_over(self, reason: BeyondRulesError) -> None:
        """Reason anew in the layout for graphs that reason about their own vocabulary."""
        if self._asked_layout == "rules":
            sentence = f"the layout rules is not enough: {reason}"
            raise UsageError.of("E835", sentence, remedy="use layout='auto'") from reason
        before = self.layout, self.engine, self._ontology, self._compiled, self._mentioned
        try:
            self._start(Layout.TRIPLES, of_triples(self.explicit()))
        except TidelogError:
            self.layout, self.engine, self._ontology, self._compiled, self._mentioned = before
            raise
        self.mirror.forget()

    def _is_about_axioms(self, change: Change, has_new_rules: bool) -> bool:
        """Whether a class, a property or something that an axiom names has become the same as something else."""
        if SAME not in self.engine or not len(self.engine[SAME]):
            return False
        terms = self._ontology.terms()
        pairs: Iterable[Any] = self.engine[SAME] if has_new_rules else change.inserted[SAME]
        return any(
            x != y and (x in terms or y in terms or name_of(x) in self.engine or name_of(y) in self.engine)
            for x, y in pairs
        )

    def _check_blank_nodes(self, gone: Quads) -> None:
        """A deletion means blank nodes by the labels that they have here."""
        for label in gone.blank_nodes():
            begin, _, number = label[3:].partition("x")
            if label not in self._labels and int(number or 0) >= self._given.get(begin, 0):
                remedy = "use the labels that the graph shows, or delete with the file that was inserted"
                raise UpdateError.of("E334", f"there is no blank node {label}", remedy=remedy)

    def _note_labels(self, come: Quads) -> None:
        """Remember the labels of blank nodes: those that a file got by their beginning, others one by one."""
        self._given |= dict(come.labels)
        if not come.labels:
            self._labels |= set(come.blank_nodes())


def _arity(facts: object) -> int:
    return facts.rows.shape[1] if isinstance(facts, SharedFacts) else len(facts[0])  # type: ignore[index]


def _shown(tables: FactTables) -> Iterator[Triple]:
    for name, table in tables.items():
        if is_statement(name):
            yield from filter(is_shown, triples_of(name, table))
