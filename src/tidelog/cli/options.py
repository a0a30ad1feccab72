"""The arguments that commands with an engine share.

What      : describes PROGRAM, `--facts`, `--strategy`, `--backend` and `--limit-*`.
Idea      : options are the words of the API; the engine itself refuses names it does not know, with the ones it does.
Never     : nothing heavy is imported, so that `tidelog --help` stays quick.
"""

from __future__ import annotations

import argparse

from tidelog.language.read import DIALECTS


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments that say what to run, over which facts, how and within which limits."""
    parser.add_argument("program", metavar="PROGRAM", help="a file with rules")
    parser.add_argument("--facts", metavar="DIR", required=True, help="a folder with one file of facts per relation")
    parser.add_argument("--header", action="store_true", help="the first line of text files names the columns")
    parser.add_argument("--dialect", choices=DIALECTS, help="(default: by the program's ending)")
    parser.add_argument("--strategy", metavar="NAME", default="auto", help="how to maintain (default: %(default)s)")
    parser.add_argument(
        "--backend", metavar="NAME", default="local", help="local, spark or auto (default: %(default)s)"
    )
    parser.add_argument("--limit-facts", type=int, metavar="N", help="stop when there are more facts")
    parser.add_argument("--limit-rounds", type=int, metavar="N", help="stop when an update needs more rounds")
    parser.add_argument("--limit-seconds", type=float, metavar="S", help="stop when an update takes longer")
    parser.add_argument("--limit-bytes", type=int, metavar="N", help="stop when the facts take more memory")
