"""The program files of a pipeline.

What      : `read_programs` reads several files as one checked program; `strangers` says which relations of a pipeline
            no program knows.
Idea      : what the files said last is part of the stored state (state/programs.py); so a change of the files and the
            version that follows from it are committed together.
Invariant : a relation that no program knows gets a note, not an error: rules about it may come through the stream.
Never     : nothing is compared with the state or applied here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from tidelog.analysis.program_check import check
from tidelog.language.read import read_program
from tidelog.language.terms import Program
from tidelog.pipeline.settings.config import Pipeline


def read_programs(files: Sequence[Path], reasoning: str = "none") -> Program:
    """Several files as one checked program; one that speaks of triples has to make sense over them."""
    parts = [read_program(file) for file in files]
    program = Program(
        *(
            tuple(one for part in parts for one in getattr(part, name))
            for name in ("rules", "facts", "declarations", "inputs", "outputs")
        )
    )
    check(program)
    if reasoning != "none":
        from tidelog.rdf.user_rules import reasoning_over_triples, takes_triples

        if takes_triples(program):
            check(reasoning_over_triples(program, reasoning))
    return program


def strangers(pipeline: Pipeline, known: Collection[str]) -> Iterator[str]:
    """Notes about the sources and sinks whose relations are not among the known ones: mostly they are misspelled."""
    uses = [(pipeline.relation_of(source), "a source brings") for source in pipeline.sources]
    uses += [(name, f"sink {sink.number} wants") for sink in pipeline.sinks for name in sink.relations or ()]
    for relation, verb in uses:
        if relation not in known:
            near = get_close_matches(relation, known, 1)
            yield f"{verb} {relation}, which no rule knows" + (f"; did you mean {near[0]}?" if near else "")
