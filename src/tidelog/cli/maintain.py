"""`tidelog maintain PROGRAM --facts DIR --updates FILE`: keep a materialisation true, update by update.

What      : materialises, then applies updates (JSON lines) and prints every change: a line with number, strategy,
            counts and milliseconds, and under it the facts that came (+) and went (-), and rules that have instances
            without a value (?).
Idea      : update 0 is the initial materialisation, of which only the counts are shown. The engine sees one update
            ahead, as in a stream; `-` reads standard input, and a FIFO is read as it comes.
Invariant : a change is printed as soon as it is done, in order; with `--json` one line, an object with every fact.
Never     : nothing is written to files.
"""

from __future__ import annotations

import argparse
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from tidelog.cli import Subparsers, json_line
from tidelog.cli.options import add_engine_options, natural
from tidelog.errors import Place, Problem, TidelogError
from tidelog.visible import visible

if TYPE_CHECKING:
    from tidelog.changes.change import Change, FactTables
    from tidelog.changes.update import Update
    from tidelog.engine import Engine

HEADING = f"{'update':>6}  {'strategy':<20} {'inserted':>10} {'deleted':>10} {'ms':>10}"
_SHOWN = 10
T = TypeVar("T")


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("maintain", help="apply a file or a stream of updates and print every change")
    add_engine_options(parser, needs_facts=False)
    text = "JSON lines, one update each; - for standard input, or a FIFO"
    parser.add_argument("--updates", metavar="FILE", required=True, help=text)
    parser.add_argument("--json", action="store_true", help="print JSON lines, with every fact that came or went")
    text = "facts to print per relation and sign (default: %(default)s; 0: counts only)"
    parser.add_argument("--rows", type=natural, default=_SHOWN, metavar="N", help=text)
    parser.add_argument("--verify", action="store_true", help="compare with recomputation after every update")
    parser.add_argument("--profile", action="store_true", help="print what each update cost, by rule and phase")


def run(args: argparse.Namespace) -> int:
    """Materialise, then follow the updates."""
    from tidelog.cli import rdf_commands

    if rdf_commands.wants_graph(args):
        return rdf_commands.maintain(args)
    from tidelog.cli.engines import load
    from tidelog.observe.progress import progress_for

    loaded = load(args, progress_for())
    engine = loaded.engine
    if not args.json:
        print(HEADING)
    show(0, loaded.change, args, engine)
    lines, number = Lines(args.updates), 0
    changes = engine.follow(lines.updates())
    while (change := lines.applied(lambda: next(changes, None))) is not None:
        number += 1
        if args.verify:
            engine.verify()
        show(number, change, args, engine)
    return 0


class Lines:
    """The updates in a file, in a FIFO or on standard input, of each of which the line is known until it is applied."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._waiting = deque[int]()

    def updates(self) -> Iterator[Update]:
        """The updates, in order."""
        from tidelog.changes.update import numbered_updates

        for line, update in numbered_updates(sys.stdin.buffer if self._file == "-" else self._file):
            self._waiting.append(line)
            yield update

    def applied(self, work: Callable[[], T]) -> T:
        """Apply the first update that waits; an error says in which line that is."""
        try:
            done = work()
        except TidelogError as error:
            if not self._waiting:  # reading went wrong, which knows its place
                raise
            raise type(error)(map(self._placed, error.problems)) from error
        if self._waiting:
            self._waiting.popleft()
        return done

    def _placed(self, problem: Problem) -> Problem:
        place = Place("<stdin>" if self._file == "-" else self._file, self._waiting[0], 1)
        if problem.place is None:
            return replace(problem, place=place)
        return replace(problem, related=(*problem.related, (place, "in this update")))


def show(number: int, change: Change, args: argparse.Namespace, engine: Engine) -> None:
    """Print one change of the engine, as the arguments ask for it."""
    if args.json:
        print(json_line(_described(number, change)), flush=True)
    else:
        print(_line(number, change))
        for line in _facts(change, args.rows) if number else ():
            print(line)
        for rule, lacking in change.stats.without_value.items():
            print(visible(f"{'':>8}? {rule}: {lacking}"))
        sys.stdout.flush()
    if args.profile:
        from tidelog.changes.profile import profile_table

        print(profile_table(change.stats, engine.program.rules), file=sys.stderr, flush=True)


def _line(number: int, change: Change) -> str:
    counts = f"{change.inserted.total:>10,} {change.deleted.total:>10,} {1000 * change.stats.seconds:>10.2f}"
    return f"{number:>6}  {'+'.join(change.stats.strategies_used):<20} {counts}"


def _facts(change: Change, rows: int) -> list[str]:
    """The first facts that came and went, and how many more there are."""
    from tidelog.language.printer import print_fact

    found = []
    for sign, tables in (("+", change.inserted), ("-", change.deleted)):
        for relation, table in tables.items():
            found += [f"{'':>8}{sign} {print_fact(relation, fact)}" for fact in islice(table, rows)]
            if rows and len(table) > rows:
                found.append(f"{'':>8}{sign} ... {len(table) - rows:,} more of {relation}")
    return found


def _described(number: int, change: Change) -> dict[str, Any]:
    """A change as an object: every fact of an update, of the initial materialisation the counts."""
    stats = change.stats
    found: dict[str, Any] = {"update": number, "version": change.version, "strategy": list(stats.strategies_used)}
    if number:
        found |= {"inserted": _listed(change.inserted), "deleted": _listed(change.deleted)}
    return found | {
        "counts": {"inserted": _counted(change.inserted), "deleted": _counted(change.deleted)},
        "milliseconds": round(1000 * stats.seconds, 3),
        "derivations": stats.total_derivations,
        "rounds": stats.rounds,
        "without_value": {rule: asdict(lacking) for rule, lacking in stats.without_value.items()},
    }


def _listed(tables: FactTables) -> dict[str, list[list[Any]]]:
    from tidelog.changes.json_terms import to_json

    return {relation: [[to_json(value) for value in fact] for fact in table] for relation, table in tables.items()}


def _counted(tables: FactTables) -> dict[str, int]:
    return {relation: len(table) for relation, table in tables.items()}
