"""`tidelog materialize PROGRAM --facts DIR --out DIR`: derive everything once, from files to files.

What      : reads the facts of the program's relations, materialises, and writes the relations named by `.output`, or
            every derived relation if there is no such directive. Without `--out` the facts are printed as a program
            writes them.
Invariant : a file in the output folder is whole or not there; progress goes to stderr, a summary to stdout.
Never     : no maintenance (see maintain.py).
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli import Subparsers
from tidelog.cli.options import add_engine_options
from tidelog.errors import UsageError
from tidelog.language.lexemes import spell_name
from tidelog.visible import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.language.directives import FileOptions
    from tidelog.language.terms import Program

FORMATS = ("csv", "tsv", "parquet", "jsonl", "nt", "ttl", "rdf", "jsonld")


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("materialize", help="derive everything that follows from facts in files")
    add_engine_options(parser, needs_facts=False)
    parser.add_argument("--out", metavar="DIR", default="-", help="where to write (default: -, standard output)")
    parser.add_argument("--profile", action="store_true", help="print what it cost, by rule and phase")
    parser.add_argument("--profile-svg", metavar="FILE", help="draw what it cost, as a picture")
    parser.add_argument("--format", choices=FORMATS, default="csv", help="(default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Read, derive, write, and say how much there was of each."""
    from tidelog.cli import rdf_commands

    if rdf_commands.wants_graph(args):
        return rdf_commands.materialize(args)
    from tidelog.cli.engines import load
    from tidelog.observe.progress import progress_for

    started = time.perf_counter()
    progress = progress_for()
    with _measured(args):
        loaded = load(args, progress)
    engine, program = loaded.engine, loaded.program
    outputs = _outputs(program)
    for rule, lacking in engine.without_value.items():
        print(visible(f"note: {rule}: {lacking}"), file=sys.stderr)
    written = 0
    try:
        with progress.stage("writing", sum(len(engine[relation]) for relation, _ in outputs)) as advance:
            for relation, options in outputs:
                table = engine[relation].to_arrow()
                written += _write(args, relation, options, table)
                advance(len(engine[relation]))
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError.of("E806", f"{args.out} cannot be written: {reason}", remedy="check the path") from error
    seconds = time.perf_counter() - started
    if args.profile:
        from tidelog.changes.profile import profile_table

        print(profile_table(loaded.change.stats, program.rules), file=sys.stderr)
    if args.profile_svg:
        from tidelog.cli.drawing.flame import flame

        _write_text(args.profile_svg, flame(loaded.change.stats))
    if args.out == "-":
        return 0
    print(f"{loaded.read:,} facts read, {written:,} written to {visible(str(Path(args.out)))} in {seconds:.1f} s")
    for relation, _ in outputs:
        print(f"  {spell_name(relation)}: {len(engine[relation]):,}")
    return 0


def _measured(args: argparse.Namespace) -> AbstractContextManager[None]:
    """What each rule costs is measured if somebody asks; rules then run one at a time, which takes longer."""
    if not args.profile and not args.profile_svg:
        return nullcontext()
    from tidelog.maintenance.profiled_store import profiling

    return profiling()


def _write_text(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError.of("E806", f"{path} cannot be written: {reason}", remedy="check the path") from error


def _outputs(program: Program) -> list[tuple[str, FileOptions]]:
    """What to write: what `.output` names, else every derived relation."""
    from tidelog.analysis.inlining import evaluated_rules
    from tidelog.language.directives import FileOptions, file_options

    if program.outputs:
        return [(relation, file_options("output", relation, options)) for relation, options in program.outputs]
    return [(relation, FileOptions()) for relation in sorted({rule.head.relation for rule in evaluated_rules(program)})]


def _write(args: argparse.Namespace, relation: str, options: FileOptions, table: pa.Table) -> int:
    """Write a relation to its file, or print it; the number of facts written."""
    from tidelog.changes.files import write_facts, write_file
    from tidelog.language.printer import print_fact

    header = args.header or options.header
    if options.medium == "stdoutprintsize":
        return 0
    if args.out == "-":
        for row in zip(*(column.to_pylist() for column in table.columns)):
            print(f"{print_fact(relation, row)}.")
    elif options.medium == "stdout":
        for row in zip(*(column.to_pylist() for column in table.columns)):
            print((options.delimiter or "\t").join(map(str, row)))
    elif ":" in relation and options.filename is None:
        from tidelog.cli.rdf_commands import write_relation

        write_relation(args.out, relation, table)
    elif options.filename is None and options.delimiter is None and options.quoted is None:
        write_facts(args.out, {relation: table}, f".{args.format}", header=header)
    else:
        path = Path(args.out) / (options.filename or f"{relation}.{args.format}")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, table, header=header, delimiter=options.delimiter, quoted=options.quoted)
    return len(table)
