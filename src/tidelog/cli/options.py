"""The arguments that commands with an engine share.

What      : describes PROGRAM, `--facts`, `--state`, `--strategy`, `--backend`, `--arithmetic`, `--threads`, `--strict`
            and `--limit-*`.
Idea      : options are the words of the API; the engine itself refuses names it does not know, with the ones it does.
Never     : nothing heavy is imported, so that `tidelog --help` stays quick.
"""

from __future__ import annotations

import argparse


def natural(text: str) -> int:
    """An argument that counts something: 0 or more."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{number} is below 0")
    return number


def add_dialect(parser: argparse.ArgumentParser) -> None:
    """Describe `--dialect`; reading refuses an unknown name, and lists the known ones (language/read.py)."""
    parser.add_argument("--dialect", metavar="NAME", help="of the program (default: by its ending)")


def add_engine_options(
    parser: argparse.ArgumentParser,
    *,
    has_program: bool = True,
    needs_program: bool = True,
    needs_facts: bool = True,
    has_state: bool = False,
) -> None:
    """Describe the arguments that say what to run, over which facts, how and within which limits."""
    if needs_program and has_program:
        parser.add_argument("program", metavar="PROGRAM", help="a file with rules")
    elif has_program:
        parser.add_argument("program", metavar="PROGRAM", nargs="?", help="a file with rules")
    text = "a folder with one file of facts per relation"
    parser.add_argument("--facts", metavar="DIR", required=needs_facts, help=text)
    if has_state:
        parser.add_argument("--state", metavar="DIR", help="a stored state, in place of program and facts")
        parser.add_argument("--at", type=int, metavar="N", help="its version (default: the last one)")
    parser.add_argument("--header", action="store_true", help="the first line of text files names the columns")
    add_dialect(parser)
    parser.add_argument("--reasoning", metavar="NAME", default="none", help="over RDF: none, rdfs or owl-rl")
    parser.add_argument("--strategy", metavar="NAME", default="auto", help="how to maintain (default: %(default)s)")
    parser.add_argument(
        "--backend", metavar="NAME", default="local", help="local, spark or auto (default: %(default)s)"
    )
    text = "a computed value that is missing: skip its instance, or refuse the update (default: skip)"
    parser.add_argument("--arithmetic", metavar="WORD", help=text)
    parser.add_argument("--threads", type=int, metavar="N", help="for large work on this machine (default: all cores)")
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    parser.add_argument("--limit-facts", type=int, metavar="N", help="stop when there are more facts")
    parser.add_argument("--limit-rounds", type=int, metavar="N", help="stop when an update needs more rounds")
    parser.add_argument("--limit-seconds", type=float, metavar="S", help="stop when an update takes longer")
    parser.add_argument("--limit-bytes", type=int, metavar="N", help="stop when the facts take more memory")
