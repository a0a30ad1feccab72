"""`tidelog explain PROGRAM --facts DIR 'path("a", "c")'`: why a fact is there.

What      : materialises and prints a shallowest proof of each given fact, or of each fact that matches a pattern;
            of a fact that is not there, what it would need.
Invariant : proofs go to stdout; a fact that is not there is an error with code 1.
Never     : nothing is written to files.
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice

from tidelog.cli import WRONG_INPUT, Subparsers
from tidelog.cli.options import add_engine_options, natural
from tidelog.visible import visible


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("explain", help="print a proof of a fact")
    add_engine_options(parser)
    parser.add_argument("fact", metavar="FACT", help='such as path("a", "c"); with variables: the facts that match')
    parser.add_argument(
        "--most", type=natural, default=3, metavar="N", help="proofs per pattern (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """Materialise, then print proofs."""
    from tidelog.cli import rdf_commands

    if rdf_commands.wants_graph(args):
        return rdf_commands.explain(args)
    from tidelog.cli.engines import load
    from tidelog.errors import UsageError
    from tidelog.language.parser import parse_atom
    from tidelog.language.terms import Constant
    from tidelog.observe.progress import progress_for

    pattern = parse_atom(args.fact)
    engine = load(args, progress_for()).engine
    found = engine.query(args.fact)
    if not len(found):
        sentence = f"{args.fact} is not in the materialisation"
        values = [term.value for term in pattern.terms if isinstance(term, Constant)]
        if len(values) < len(pattern.terms):
            raise UsageError.of("E808", sentence, remedy="only facts that are there have a proof")
        print(UsageError.of("E808", sentence), file=sys.stderr)
        for line in str(engine.explain_absence(pattern.relation, values)).splitlines():
            print(visible(f"  {line}"), file=sys.stderr)
        return WRONG_INPUT
    for number, fact in enumerate(islice(found, args.most)):
        print(("\n" if number else "") + str(engine.explain(pattern.relation, fact)))
    if len(found) > args.most:
        print(f"\nnot shown: {len(found) - args.most:,} (--most shows more)")
    return 0
