"""What the commands do with RDF.

What      : facts from the RDF files of a folder, for programs that speak of classes and properties; and `materialize`,
            `maintain` and `explain` for graphs, where the program is an ontology or `--reasoning` is given.
Idea      : a graph is asked for by what is there: a PROGRAM that is an RDF file, or a kind of reasoning.
Invariant : the same words go to stdout as without RDF.
Never     : no reasoning here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.errors import UsageError
from tidelog.language.terms import Program, atoms

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.changes.update import Update
    from tidelog.rdf.graph import Graph

ENDINGS = (".nt", ".nq", ".ttl", ".turtle", ".trig", ".n3", ".rdf", ".owl", ".xml", ".jsonld")
PACKED = (".gz", ".bz2", ".xz")


def is_rdf(path: str | Path) -> bool:
    """Whether a file's name says that it holds RDF; asked without importing what reads it."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    return bool(endings) and endings[-1] in ENDINGS


def wants_graph(args: argparse.Namespace) -> bool:
    """Whether a command is about a graph."""
    return getattr(args, "reasoning", "none") != "none" or is_rdf(args.program)


def folder_facts(folder: str | Path, program: Program) -> dict[str, Any]:
    """The facts in the RDF files of a folder: `s p o` is p(s, o), `s a C` is C(s); all are `triple` if that is read."""
    if not any(file.is_file() and is_rdf(file) for file in Path(folder).iterdir()):
        return {}
    from tidelog.rdf.layouts import Layout, facts_of
    from tidelog.rdf.quads import merged
    from tidelog.rdf.read import read_quads

    quads = merged(list(read_quads(folder)))
    if quads.has_graphs:
        return {"quad": quads.facts()}
    read = {atom.relation for rule in program.rules for literal in rule.body for atom, _ in atoms(literal)}
    found: dict[str, Any] = dict(facts_of(quads, Layout.RULES))
    return found | facts_of(quads, Layout.TRIPLES) if "triple" in read else found


def graph_for(args: argparse.Namespace) -> Graph:
    """The graph that the options ask for: an ontology or rules, and the RDF files of the folder."""
    from tidelog import rdf
    from tidelog.language.read import read_program
    from tidelog.limits import Limits

    limits = Limits(args.limit_facts, args.limit_rounds, args.limit_seconds, args.limit_bytes)
    has_ontology = args.program is not None and is_rdf(args.program)
    has_rules = args.program is not None and not has_ontology
    rules = read_program(args.program, args.dialect) if has_rules else Program()
    sources = [source for source in (args.program if has_ontology else None, args.facts) if source is not None]
    options = {"strategy": args.strategy, "backend": args.backend, "limits": limits}
    return rdf.Graph(*sources, reasoning=args.reasoning, rules=rules, **options)


def materialize(args: argparse.Namespace) -> int:
    """Reason once and write the graph."""
    started = time.perf_counter()
    kg = graph_for(args)
    form = args.format if is_rdf(f"x.{args.format}") else "nt"
    try:
        Path(args.out).mkdir(parents=True, exist_ok=True)
        path = kg.write(Path(args.out) / f"graph.{form}")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError.of("E806", f"{args.out} cannot be written: {reason}", remedy="check the path") from error
    given, total = sum(1 for _ in kg.explicit()), len(kg)
    print(f"{given:,} triples read, {total:,} written to {path} in {time.perf_counter() - started:.1f} s")
    for rule, x, y in kg.inconsistencies[:10]:
        print(f"  inconsistent: {rule} {x} {y}")
    return 0


def write_relation(folder: str | Path, relation: str, facts: pa.Table) -> None:
    """Write the facts of a class or property as N-Triples, in a file that is named by the end of its IRI."""
    from urllib.parse import quote

    from tidelog.rdf.write import lines, write_lines

    Path(folder).mkdir(parents=True, exist_ok=True)
    write_lines(Path(folder) / f"{quote(relation, safe='')[-150:]}.nt", [lines(relation, facts)])


def maintain(args: argparse.Namespace) -> int:
    """Reason, then apply a file of updates and print every change."""
    from tidelog.cli.maintain import HEADING, Lines, show

    kg = graph_for(args)
    if not args.json:
        print(HEADING)
    lines = Lines(args.updates)
    for number, update in enumerate(lines.updates(), start=1):
        change = lines.applied(lambda update=update: apply(kg, update))  # type: ignore[misc]
        if args.verify:
            kg.verify()
        show(number, change.facts, args, kg.engine)
    return 0


def explain(args: argparse.Namespace) -> int:
    """Print the proof of a triple, given as N-Triples or Turtle."""
    import pyoxigraph as ox

    from tidelog.rdf.read import read_text

    text = args.fact if args.fact.rstrip().endswith(".") else f"{args.fact} ."
    prefixes = "".join(f"@prefix {name}: <{begin}> .\n" for name, begin in _prefixes().items())
    quads = read_text((prefixes + text).encode(), ox.RdfFormat.TURTLE, "<fact>", keep_labels=True)
    kg = graph_for(args)
    for number, triple in enumerate(quads.triples()):
        print(("\n" if number else "") + str(kg.explain(triple)))
    return 0


def stored_graph(args: argparse.Namespace) -> Graph | None:
    """The graph that a state holds; None if it holds a plain engine."""
    from tidelog.rdf.saved import is_graph

    if args.state is None or not is_graph(args.state):
        return None
    from tidelog import rdf
    from tidelog.limits import Limits

    limits = Limits(args.limit_facts, args.limit_rounds, args.limit_seconds, args.limit_bytes)
    options = {"version": args.at, "backend": args.backend, "limits": limits, "threads": args.threads}
    return rdf.Graph.open(args.state, **options)


def query(args: argparse.Namespace, question: str, parameters: Mapping[str, Any]) -> int:
    """Ask RDF files, or a stored graph, in SPARQL, and print the answer."""
    import sys

    from tidelog.rdf.sparql import written

    stored = stored_graph(args)
    if stored is None and args.program is None and args.facts is None:
        remedy = "give --facts DIR, an RDF file, or the state of a graph"
        raise UsageError.of("E801", "nothing is named that could be asked in SPARQL", remedy=remedy)
    text = Path(question).read_text(encoding="utf-8") if question.endswith(".rq") else question
    kg = stored or graph_for(args)
    if args.format != "table":
        sys.stdout.write(written(kg.mirror, text, args.format, parameters).decode())
        return 0
    from tidelog.changes.tables import text_table

    answer = kg.query(text, parameters=parameters)
    if answer.truth is not None:
        print("yes" if answer.truth else "no")
    else:
        print(text_table(answer.columns, ([_shown(value) for value in row] for row in answer), len(answer), args.rows))
    return 0


def _shown(value: Any) -> str:  # noqa: ANN401 - a constant, or None where a variable is not bound
    from tidelog.language.rdf_terms import IRI
    from tidelog.rdf.vocabulary import shortened

    if value is None:
        return ""
    return shortened(value.value) if isinstance(value, IRI) else str(value)


def apply(kg: Graph, update: Update) -> Any:  # noqa: ANN401 - a GraphChange
    """Apply an update whose relations are classes and properties."""
    come, gone = (list(_triples(facts)) for facts in (update.insert, update.delete))
    return kg.apply(insert=come, delete=gone, add_rules=update.add_rules, remove_rules=update.remove_rules)


def _triples(facts: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an iterator of triples
    from tidelog.rdf.layouts import triples_of

    for relation, table in facts.items():
        yield from triples_of(relation, table)


def _prefixes() -> dict[str, str]:
    from tidelog.rdf.vocabulary import PREFIXES

    return PREFIXES
