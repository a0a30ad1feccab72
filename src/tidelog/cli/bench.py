"""`tidelog bench`: measure this installation beside other engines.

What      : runs the benchmarks of the repository; they are no part of the installed package.
Never     : nothing is measured here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tidelog.cli import Subparsers
from tidelog.errors import UsageError

RUNNERS = {"local": "benchmarks.run", "spark": "benchmarks.spark"}


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("bench", help="measure this machine, beside other engines where they are installed")
    parser.add_argument("--backend", choices=RUNNERS, default="local", help="(default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a few small workloads only")


def run(args: argparse.Namespace) -> int:
    """Run the benchmarks in a process of their own."""
    module = RUNNERS[args.backend]
    root = next(
        (folder for folder in _folders() if (folder / Path(*module.split("."))).with_suffix(".py").is_file()), None
    )
    if root is None:
        remedy = "run it inside a clone of the repository"
        raise UsageError.of("E812", f"the benchmarks of the {args.backend} backend are not here", remedy=remedy)
    command = [sys.executable, "-m", module, *(["--quick"] if args.quick else [])]
    return subprocess.run(command, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=False).returncode  # noqa: S603


def _folders() -> tuple[Path, ...]:
    """Where the repository may be: the working folder and those above, then above this file."""
    here = Path.cwd()
    return (here, *here.parents, *Path(__file__).resolve().parents)
