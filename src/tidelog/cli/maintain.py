"""`tidelog maintain PROGRAM --facts DIR --updates FILE`: keep a materialisation true, update by update.

What      : materialises, then applies the updates of a JSON-lines file and prints one line for each: number, strategy,
            facts inserted and deleted, milliseconds.
Idea      : update 0 is the initial materialisation. The engine sees one update ahead, as in a stream.
Invariant : one line per update on stdout, in order, as soon as it is done; with `--json` each line is an object.
Never     : nothing is written to files.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from tidelog.cli import Subparsers
from tidelog.cli.options import add_engine_options

if TYPE_CHECKING:
    from tidelog.changes.change import Change

HEADING = f"{'update':>6}  {'strategy':<20} {'inserted':>10} {'deleted':>10} {'ms':>10}"


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("maintain", help="apply a file of updates and print every change")
    add_engine_options(parser)
    parser.add_argument("--updates", metavar="FILE", required=True, help="JSON lines, one update each")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    parser.add_argument("--verify", action="store_true", help="compare with recomputation after every update")


def run(args: argparse.Namespace) -> int:
    """Materialise, then follow the updates."""
    from tidelog.cli import graphs

    if graphs.wants_graph(args):
        return graphs.maintain(args)
    from tidelog.changes.update import read_updates
    from tidelog.cli.engines import load
    from tidelog.observe.progress import progress_for

    loaded = load(args, progress_for())
    engine, first = loaded.engine, loaded.change
    if not args.json:
        print(HEADING)
    print(line(0, first, args.json), flush=True)
    for number, change in enumerate(engine.follow(read_updates(args.updates)), start=1):
        if args.verify:
            engine.verify()
        print(line(number, change, args.json), flush=True)
    return 0


def line(number: int, change: Change, as_json: bool) -> str:
    """What is printed about one update."""
    stats = change.stats
    strategies = list(stats.strategies_used)
    milliseconds = 1000 * stats.seconds
    if not as_json:
        counts = f"{change.inserted.total:>10,} {change.deleted.total:>10,} {milliseconds:>10.2f}"
        return f"{number:>6}  {'+'.join(strategies):<20} {counts}"
    return json.dumps(
        {
            "update": number,
            "strategy": strategies,
            "inserted": {relation: len(table) for relation, table in change.inserted.items()},
            "deleted": {relation: len(table) for relation, table in change.deleted.items()},
            "milliseconds": round(milliseconds, 3),
            "derivations": stats.total_derivations,
            "rounds": stats.rounds,
        }
    )
