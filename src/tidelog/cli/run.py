"""`tidelog run PIPELINE`: the main job.

What      : reads a pipeline file, runs it, and shows how it gets on.
Idea      : everything that can be said about a pipeline stands in its file; the command adds only how long to run and
            how to report.
Invariant : SIGINT and SIGTERM end a run after the batch in hand, with exit code 0; whatever was acknowledged stays.
Never     : nothing is decided here (see tidelog.pipeline).
"""

from __future__ import annotations

import argparse

from tidelog.cli import Subparsers
from tidelog.visible import visible


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("run", help="run a pipeline: load facts, follow updates, publish changes")
    parser.add_argument("pipeline", metavar="PIPELINE", help="a TOML file; `tidelog init` writes an example")
    parser.add_argument("--once", action="store_true", help="process what is there, then stop")
    parser.add_argument("--json", action="store_true", help="report events as JSON lines on stdout")
    parser.add_argument("--check", action="store_true", help="check the file and its programs, and stop")
    parser.add_argument("--strict", action="store_true", help="warnings are errors, and so are notes of --check")
    parser.add_argument("--verify", action="store_true", help="at the end, compare with recomputation")


def run(args: argparse.Namespace) -> int:
    """Run the pipeline to its end."""
    from tidelog.analysis.arities import arities
    from tidelog.pipeline.settings.config import read_pipeline
    from tidelog.pipeline.settings.rule_files import read_programs, strangers
    from tidelog.pipeline.status import Status, viewer_for

    pipeline = read_pipeline(args.pipeline)
    if args.check:
        notes = list(strangers(pipeline, arities(read_programs(pipeline.programs, pipeline.reasoning))))
        for note in notes:
            print(visible(f"{args.pipeline}: note: {note}"))
        if notes and args.strict:
            return 1
        print(visible(f"{args.pipeline}: fine"))
        return 0
    from tidelog.pipeline.job import run_pipeline

    status = Status(viewer_for(args.json), pipeline.prometheus)
    try:
        run_pipeline(pipeline, status, once=args.once, verify=args.verify)
    finally:
        status.close()
    return 0
