"""`tidelog query [PROGRAM] 'QUESTION'`: ask files, a program or a stored version, and get a table.

What      : loads facts, a program over facts, or a version of a state (`--state DIR --at N`), and prints the answer to
            a question: any rule body. `--param name=value` gives values to its parameters.
Idea      : without a program every file of the folder is a relation, so a folder of CSV files can be asked at once.
Invariant : the answer is all that goes to stdout: as a table, CSV with a header, or JSON lines.
Never     : nothing is stored.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tidelog.cli import Subparsers, json_line
from tidelog.cli.options import add_engine_options, natural
from tidelog.errors import UsageError

if TYPE_CHECKING:
    from tidelog.asking.answer import Answer
    from tidelog.language.terms import Value
    from tidelog.rdf.graph import Graph

FORMATS = ("table", "csv", "json", "tsv")


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("query", help="ask a question of files, a program or a stored state")
    text = "a file with rules, if any, and a rule body such as 'path(\"a\", x), !blocked(x)'"
    parser.add_argument("words", metavar="[PROGRAM] QUESTION", nargs="*", help=text)
    add_engine_options(parser, has_program=False, needs_facts=False, has_state=True)
    parser.add_argument("--sparql", action="store_true", help="the question, or the .rq file, is SPARQL over RDF files")
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="a value for $NAME")
    parser.add_argument("--format", choices=FORMATS, default="table", help="(default: %(default)s)")
    parser.add_argument("--rows", type=natural, metavar="N", help="print at most N (default: all)")


def run(args: argparse.Namespace) -> int:
    """Load, ask, print."""
    from tidelog.cli.engines import load
    from tidelog.observe.progress import progress_for

    parameters = dict(map(_parameter, args.param))
    args.program, question = _words(args.words)
    if args.sparql:
        from tidelog.cli.rdf_commands import query

        return query(args, question, parameters)
    if args.format == "tsv":
        raise UsageError.of("E801", "tsv is a format of SPARQL answers", remedy="use csv, or ask with --sparql")
    stored = _stored_graph(args)
    if stored is not None:
        from tidelog.rdf.questions import in_words_of

        question = in_words_of(stored.layout, question)
    engine = stored.engine if stored is not None else load(args, progress_for(), everything=True).engine
    print_answer(engine.query(question, parameters), args.format, args.rows)
    return 0


def _stored_graph(args: argparse.Namespace) -> Graph | None:
    from tidelog.cli.rdf_commands import stored_graph

    return None if args.program is not None or args.facts is not None else stored_graph(args)


def _words(words: list[str]) -> tuple[str | None, str]:
    """The program, if one is named, and the question."""
    if not 1 <= len(words) <= 2:
        raise UsageError.of("E801", "a question is missing, or there are several", remedy="see: tidelog query --help")
    return (words[0] if len(words) == 2 else None), words[-1]


def print_answer(answer: Answer, form: str, rows: int | None = None) -> None:
    """Write an answer to stdout."""
    from itertools import islice

    if form == "table":
        from tidelog.changes.tables import text_table

        print(text_table(answer.columns, answer, len(answer), rows))
    elif form == "csv":
        import csv

        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(map(_spelled, islice(answer, rows)))
    else:
        for row in islice(answer, rows):
            print(json_line(dict(zip(answer.columns, row))))


def _spelled(row: tuple[Value, ...]) -> list[Value]:
    return [str(value).lower() if isinstance(value, bool) else value for value in row]


def _parameter(text: str) -> tuple[str, Value]:
    """`name=value`: a number, true, false or a quoted text as in a program, any other text as it stands."""
    from tidelog.errors import ProgramError
    from tidelog.language.parser import parse_atom
    from tidelog.language.terms import Constant

    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise UsageError.of("E801", f"--param {text}: a parameter is NAME=VALUE", remedy="such as --param from=a")
    try:
        terms = parse_atom(f"p({value})").terms
    except ProgramError:  # what is no constant of the language is a text
        return name, value
    match terms:
        case (Constant(value=constant),):
            return name, constant
    return name, value
