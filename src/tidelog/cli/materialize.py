"""`tidelog materialize PROGRAM --facts DIR --out DIR`: derive everything once, from files to files.

What      : reads the facts of the program's relations, materialises, and writes the relations named by `.output`, or
            every derived relation if there is no such directive.
Invariant : a file in the output folder is whole or not there; progress goes to stderr, a summary to stdout.
Never     : no maintenance (see maintain.py).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from tidelog.cli import Subparsers
from tidelog.cli.options import add_engine_options
from tidelog.errors import UsageError
from tidelog.language.lexemes import spell_name
from tidelog.visible import visible

FORMATS = ("csv", "tsv", "parquet", "jsonl")


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("materialize", help="derive everything that follows from facts in files")
    add_engine_options(parser)
    parser.add_argument("--out", metavar="DIR", required=True, help="where the relations are written")
    parser.add_argument("--format", choices=FORMATS, default="csv", help="(default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Read, derive, write, and say how much there was of each."""
    from tidelog.changes.files import write_facts
    from tidelog.cli.engines import engine_for, facts_for, watched
    from tidelog.language.read import read_program
    from tidelog.observe.progress import progress_for

    started = time.perf_counter()
    progress = progress_for()
    program = read_program(args.program, args.dialect)
    engine = engine_for(args, program)
    facts = facts_for(args, program, progress)
    with watched(engine, progress, "materialising"):
        engine.apply(insert=facts)
    outputs = [relation for relation, _ in program.outputs] or sorted({rule.head.relation for rule in program.rules})
    written = 0
    try:
        with progress.stage("writing", sum(len(engine[relation]) for relation in outputs)) as advance:
            for relation in outputs:
                table = engine[relation].to_arrow()
                write_facts(args.out, {relation: table}, f".{args.format}", header=args.header)
                advance(len(engine[relation]))
                written += len(engine[relation])
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError.of("E806", f"{args.out} cannot be written: {reason}", remedy="check the path") from error
    read = sum(map(len, facts.values()))
    seconds = time.perf_counter() - started
    print(f"{read:,} facts read, {written:,} written to {visible(str(Path(args.out)))} in {seconds:.1f} s")
    for relation in outputs:
        print(f"  {spell_name(relation)}: {len(engine[relation]):,}")
    return 0
