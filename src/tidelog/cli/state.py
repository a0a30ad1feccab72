"""`tidelog state DIR`: which versions are stored, and what an old one held.

What      : lists the versions of a state with their batches, sizes and programs; `--at N` reads one version: the sizes
            of its relations, the facts of one of them (`--relation`), or everything into files (`--out`).
Idea      : reading needs no engine: a stored version holds its derived facts.
Invariant : nothing in the state changes, and no lock is taken, so a running pipeline is not disturbed; except by
            `--forget-before`, which takes files away and is refused while another process writes.
Never     : no evaluation.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidelog.cli import Subparsers
from tidelog.errors import UsageError
from tidelog.visible import visible

if TYPE_CHECKING:
    from tidelog.state.snapshot import StoredState
    from tidelog.state.stored_facts import StoredFacts
    from tidelog.state.versions import VersionInfo

FORMATS = ("jsonl", "csv", "tsv", "parquet")
HEADINGS = ("version", "saved (UTC)", "batch", "facts", "wrote", "rows", "bytes", "program", "strategy")
SHOWN = 40
_NUMERIC = frozenset("0123456789,")


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("state", help="list the versions of a stored state, or read one")
    parser.add_argument("directory", metavar="DIR", help="a state directory")
    parser.add_argument("--last", type=int, metavar="N", default=SHOWN, help="list the last N (default: %(default)s)")
    parser.add_argument("--at", type=int, metavar="N", help="read this version (default: the last one)")
    parser.add_argument("--relation", metavar="NAME", help="print the facts of a relation")
    parser.add_argument("--rules", action="store_true", help="print the rules")
    parser.add_argument("--out", metavar="DIR", help="write the facts and rules of the version into files")
    parser.add_argument("--forget-before", type=int, metavar="N", help="remove what only older versions need")
    parser.add_argument("--format", choices=FORMATS, default="jsonl", help="of these files (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """List, or read one version."""
    from tidelog.state.reading import read_state, read_versions

    if args.forget_before is not None:
        _forget(args.directory, args.forget_before)
        return 0
    if args.at is None and args.relation is None and args.out is None and not args.rules:
        _print_table(HEADINGS, list(_listed(read_versions(args.directory), args.last)))
        return 0
    stored = read_state(args.directory, args.at)
    if args.out is not None:
        _export(stored, args.out, args.format)
    elif args.relation is not None:
        _print_facts(_relation(stored, args.relation))
    elif args.rules:
        _print_rules(stored)
    else:
        _print_version(stored)
    return 0


def _listed(versions: Sequence[VersionInfo], last: int) -> Iterator[tuple[str, ...]]:
    left_out = len(versions) - max(last, 1)
    if left_out > 0:
        print(f"{left_out:,} older versions are not shown (--last {len(versions)} shows all)")
    for info in versions[max(left_out, 0) :]:
        time = "" if info.time is None else f"{info.time:%Y-%m-%d %H:%M:%S}"
        sizes = (f"{info.facts:,}", info.kind, f"{info.rows:,}", f"{info.size:,}")
        yield str(info.version), time, visible(info.origin), *sizes, info.fingerprint, info.strategy


def _print_version(stored: StoredState) -> None:
    from tidelog.language.lexemes import spell_name

    info = stored.info
    batch = f", batch {visible(info.origin)}" if info.origin else ""
    print(
        f"version {info.version}{batch}: {info.facts:,} facts, {len(stored.program.rules)} rules ({info.fingerprint})"
    )
    rows = []
    for facts in _users(stored):
        explicit = int(facts.explicit.sum())
        sizes = (f"{len(facts):,}", f"{explicit:,}", f"{len(facts) - explicit:,}")
        rows.append((spell_name(facts.relation), str(facts.arity), *sizes))
    _print_table(("relation", "columns", "facts", "explicit", "derived only"), rows)


def _print_facts(facts: StoredFacts) -> None:
    from tidelog.changes.columns import Columns
    from tidelog.language.printer import print_fact

    for values in Columns(tuple(facts.facts.columns), len(facts)):
        print(f"{print_fact(facts.relation, values)}.")


def _print_rules(stored: StoredState) -> None:
    from tidelog.state.versions import program_text

    print(program_text(stored.program), end="")


def _export(stored: StoredState, directory: str, ending: str) -> None:
    from pathlib import Path

    from tidelog.changes.columns import Columns
    from tidelog.changes.files import file_names, write_facts
    from tidelog.language.lexemes import spell_name
    from tidelog.state.versions import program_text

    kept = {facts.relation: Columns(tuple(facts.facts.columns), len(facts)) for facts in _users(stored)}
    names = file_names(kept)
    tables = {names[relation]: columns for relation, columns in kept.items()}
    try:
        write_facts(directory, tables, f".{ending}")
        Path(directory, "program.dl").write_text(program_text(stored.program), encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError.of("E806", f"{directory} cannot be written: {reason}", remedy="check the path") from error
    written = sum(map(len, tables.values()))
    print(f"{written:,} facts of version {stored.info.version} written to {visible(directory)}, rules to program.dl")
    for relation, name in names.items():
        if name != relation:
            print(f"  {spell_name(relation)}: {name}.{ending}, because no file can have its name")


def _forget(directory: str, version: int) -> None:
    from tidelog.state.log import StateLog
    from tidelog.state.reading import read_versions

    read_versions(directory)  # a wrong directory is refused before a lock is made in it
    with StateLog(directory) as log:
        count, size = log.forget(version)
    print(f"{count:,} files with {size:,} bytes removed; versions from {version} on can be read")


def _relation(stored: StoredState, name: str) -> StoredFacts:
    from tidelog.language.lexemes import spell_name

    for facts in _users(stored):
        if facts.relation == name:
            return facts
    known = ", ".join(spell_name(facts.relation) for facts in _users(stored)[:8]) or "none"
    raise UsageError.of("E802", f"there is no relation {name!r} in this version", remedy=f"known relations: {known}")


def _users(stored: StoredState) -> list[StoredFacts]:
    """The user's relations, by name."""
    from tidelog.planning.lowered import is_hidden

    return sorted((facts for facts in stored.relations if not is_hidden(facts.relation)), key=lambda one: one.relation)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(headings, *rows)]
    right = [bool(rows) and all(set(row[at]) <= _NUMERIC for row in rows) for at in range(len(headings))]
    for row in (headings, *rows):
        cells = (
            cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(row, widths, right)
        )
        print("  ".join(cells).rstrip())
