"""What a job keeps: an engine, or a graph under the names that an engine has.

What      : `Kept` is the type of both; `begin` and `reopen` make the one that a pipeline asks for.
Idea      : with a kind of reasoning the sources are one graph, whose axioms are rules (rdf/graph_engine.py). Everything
            behind this room (updates, sinks, status) speaks of relations, of which `triple` is one.
Invariant : what needs pyoxigraph is imported only by pipelines that reason.
Never     : no fact is read here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tidelog.engine import Engine
from tidelog.language.terms import Program

if TYPE_CHECKING:
    from tidelog.rdf.graph_engine import GraphEngine

Kept: TypeAlias = "Engine | GraphEngine"


def begin(program: Program, reasoning: str, **options: Any) -> Kept:  # noqa: ANN401 - options of an engine
    """An engine with the program's rules and facts, or a graph with them that reasons."""
    if reasoning == "none":
        return Engine(program, **options)
    from tidelog.rdf.graph import Graph
    from tidelog.rdf.graph_engine import GraphEngine

    return GraphEngine(Graph(reasoning=reasoning, rules=program, **options))


def reopen(state: Path, reasoning: str, **options: Any) -> Kept:  # noqa: ANN401
    """The engine or graph that a state holds."""
    if reasoning == "none":
        return Engine.open(state, **options)
    from tidelog.rdf.graph_engine import GraphEngine

    return GraphEngine.open(state, reasoning, **options)
