"""Knowledge graphs that outlive their process.

What      : `save` makes a graph durable in the state of its engine; `open_graph` is the graph that was saved.
Idea      : triples, derived ones included, and rules are the engine's, and so is their durability. What a graph knows
            beyond them (its reasoning, the user's own rules, the labels of blank nodes) is a small note beside the
            state, under the number of the engine's version.
Invariant : the note of a version is there before the version is, and older notes go after it: whatever is killed in
            between, the version that opens has its note. Nothing is reasoned anew when a graph opens.
Never     : the mirror for SPARQL is not kept; it is made when it is first asked.

Code: E613 the state of an engine that was no graph.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tidelog.engine import Engine
from tidelog.errors import StateError
from tidelog.language.parser import parse
from tidelog.language.printer import print_program
from tidelog.rdf.axioms import KINDS, PREDICATES, Ontology, compiled
from tidelog.rdf.blank_node_labels import Labels
from tidelog.rdf.layouts import Layout, triples_of
from tidelog.rdf.reasoner import Reasoner
from tidelog.state.address import directory_of

if TYPE_CHECKING:
    from tidelog.rdf.graph import Graph

_NOTES = "_graph"
"""Readers of Delta tables pass over names that begin so."""


def save(
    graph: Graph,
    target: str | PathLike[str],
    *,
    batch: int | range | None = None,
    source: str = "updates",
) -> None:
    """Make the present version durable, in a directory or an open log: wholly or not at all."""
    notes = _notes(target)
    notes.mkdir(parents=True, exist_ok=True)
    note, aside = notes / f"{graph.engine.version}.json", notes / f"{uuid4().hex}.new"
    aside.write_text(json.dumps(_told(graph)), encoding="utf-8")
    aside.replace(note)
    graph.engine.save(target, batch=batch, source=source)
    for old in notes.iterdir():
        if old != note:
            old.unlink(missing_ok=True)


def is_graph(directory: str | PathLike[str]) -> bool:
    """Whether a state is that of a graph; a graph is never at an address."""
    found = directory_of(directory)
    return isinstance(found, Path) and (found / _NOTES).is_dir()


def _notes(state: str | PathLike[str]) -> Path:
    """The folder of notes in a state; a note is no part of a commit, so another writer has to be kept out by a lock."""
    directory = directory_of(state)
    if not isinstance(directory, Path):
        sentence = f"a knowledge graph cannot be kept at {directory}"
        remedy = "give a directory, which may be mounted; plain engines take addresses"
        raise StateError.of("E616", sentence, remedy=remedy)
    return directory / _NOTES


def open_graph(
    cls: type[Graph],
    directory: str | PathLike[str],
    **engine_options: Any,  # noqa: ANN401
) -> Graph:
    """The graph that was saved; `engine_options` are those of `Engine.open`."""
    engine = Engine.open(directory, **engine_options)
    note = _notes(directory) / f"{engine.version}.json"
    if not note.exists():
        raise StateError.of(
            "E613", f"the state in {directory} is that of an engine, not of a graph", remedy="open it with Engine.open"
        )
    told = json.loads(note.read_text(encoding="utf-8"))
    graph = cls(
        reasoning=told["reasoning"],
        options=told["options"],
        layout=told["asked layout"],
        named_graphs=told["named graphs"],
        **{name: value for name, value in engine_options.items() if name != "version" and value is not None},
    )
    graph.engine.close()
    graph.engine, graph.layout, graph.version = engine, Layout(told["layout"]), told["version"]
    graph.user_rules = parse(told["rules"])
    graph.labels = Labels(told["given"], told["labels"])
    if graph.layout is Layout.RULES and graph.reasoning != "none":
        names = [name for name in graph.relations if name in KINDS or name in PREDICATES]
        axioms = [triple for name in names for triple in triples_of(name, engine.explicit(name))]
        ontology, mentioned = Ontology().changed(axioms, ()), told["mentioned"]
        rules = compiled(ontology, graph.reasoning, mentioned)
        graph._reasoner = Reasoner(graph.reasoning, ontology, mentioned, rules)
    return graph


def _told(graph: Graph) -> dict[str, Any]:
    return {
        "reasoning": graph.reasoning,
        "options": sorted(graph._options),
        "asked layout": graph._asked_layout,
        "named graphs": graph._named_graphs,
        "layout": graph.layout.value,
        "version": graph.version,
        "rules": print_program(graph.user_rules),
        "mentioned": dict(graph._reasoner.mentioned),
        "given": graph.labels.given,
        "labels": sorted(graph.labels.single),
    }
