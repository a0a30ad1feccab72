"""`tidelog graph FILE`: the program's hyper rules dependency graph as a picture.

What      : reads a program and writes its HRDG as SVG, DOT or Mermaid; with `--circuit` that of its rows in a circuit.
Idea      : the picture shows what analysis/hypergraph.py computes; unsafe programs can be looked at, too.
Invariant : without `--output` the picture is all that goes to stdout.
Never     : no evaluation, and no program outside Python.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tidelog.cli import Subparsers
from tidelog.cli.options import add_dialect
from tidelog.errors import UsageError
from tidelog.language.terms import Program, Rule

FORMATS = ("svg", "dot", "mermaid")
ENDINGS = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid"}

MAX_ARROWS = 20_000
"""A picture with more arrows would be megabytes of ink."""


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("graph", help="draw which rules feed which, as SVG, DOT or Mermaid")
    parser.add_argument("file", metavar="FILE", help="a program")
    parser.add_argument("--format", choices=FORMATS, help="(default: by the ending of the output, else svg)")
    parser.add_argument("-o", "--output", metavar="OUT", help="where to write (default: stdout)")
    parser.add_argument("--circuit", action="store_true", help="draw the rows of the strategy circuit, not the rules")
    parser.add_argument("--title", help="(default: the file's name)")
    add_dialect(parser)


def run(args: argparse.Namespace) -> int:
    """Write the picture."""
    from tidelog.analysis.hypergraph import hypergraph
    from tidelog.analysis.inlining import evaluated_rules
    from tidelog.cli.drawing.diagram import diagram
    from tidelog.cli.drawing.dot import dot
    from tidelog.cli.drawing.mermaid import mermaid
    from tidelog.cli.drawing.svg import svg
    from tidelog.language.read import read_program

    program = read_program(args.file, args.dialect)
    found = hypergraph(_circuit(program) if args.circuit else evaluated_rules(program))
    arrows = len(found.positive) + len(found.negative)
    if arrows > MAX_ARROWS:
        sentence = f"{args.file} has {arrows} arrows between hyper-nodes, nobody could read them"
        raise UsageError.of("E807", sentence, remedy=f"draw a part of the program, up to {MAX_ARROWS} arrows")
    picture = diagram(found, args.title or Path(args.file).name)
    name = args.format or (ENDINGS.get(Path(args.output).suffix, "svg") if args.output else "svg")
    text = {"svg": svg, "dot": dot, "mermaid": mermaid}[name](picture)
    if args.output is None:
        sys.stdout.write(text)
        return 0
    try:
        Path(args.output).write_text(text, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError.of("E806", f"{args.output} cannot be written: {reason}", remedy="check the path") from error
    return 0


def _circuit(program: Program) -> tuple[Rule, ...]:
    """The rows of a program that can be maintained; another one is refused as anywhere."""
    from tidelog.analysis.program_check import check
    from tidelog.cli.drawing.circuit import rows_of

    check(program)
    return rows_of(program)
