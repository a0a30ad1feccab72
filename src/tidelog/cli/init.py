"""`tidelog init [FOLDER]`: a pipeline to begin with.

What      : writes a commented pipeline file, its rules, facts and a few updates; together they run as they are.
Idea      : an example that works is the best documentation; each line of it can be changed and tried at once.
Invariant : nothing that exists is overwritten, and nothing is written if anything exists.
Never     : no network, and nothing outside the folder.
"""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from tidelog.cli import Subparsers
from tidelog.errors import UsageError

EXAMPLE = (
    "pipeline.toml",
    "rules.dl",
    "facts/road.csv",
    "facts/closed.jsonl",
    "updates/001.jsonl",
    "updates/002.jsonl",
)
"""The files of the example, as they lie in the package and in the new folder."""


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("init", help="write a commented pipeline that runs as it is")
    parser.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="(default: here)")


def run(args: argparse.Namespace) -> int:
    """Write the example."""
    folder = Path(args.folder)
    there = [name for name in EXAMPLE if (folder / name).exists()]
    if there:
        raise UsageError.of("E806", f"{folder / there[0]} exists already", remedy="choose another folder")
    try:
        for name in EXAMPLE:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text((files(__package__) / "example" / name).read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError.of("E806", f"{folder} cannot be written: {reason}", remedy="check the path") from error
    print(f"wrote {len(EXAMPLE)} files; next:\n  tidelog run {folder / 'pipeline.toml'} --once")
    return 0
