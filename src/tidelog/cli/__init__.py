"""The command line: `tidelog COMMAND ...`.

What      : reads the arguments, calls one command, turns its outcome into an exit code.
Idea      : a command is a module beside this one with `register(subparsers)`, which describes its arguments, and
            `run(args) -> int`, which does the work. To add one, add its name to `COMMANDS`.
Invariant : exit code 0 means fine, 1 that the user's input is wrong (every `TidelogError` but a `LawError`), 2 that
            Tidelog failed. Results go to stdout; problems go to stderr.
Never     : no work at import time: a command imports what is heavy (engine, Spark, Numba) inside `run`.
"""

from __future__ import annotations

import argparse
import errno
import io
import json
import os
import re
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from tidelog.errors import LawError, TidelogError, TidelogWarning, UsageError
from tidelog.observe.logs import configure
from tidelog.observe.notices import shown_on
from tidelog.visible import visible

COMMANDS: tuple[str, ...] = (
    "demo", "shell", "query", "init", "run", "materialize", "maintain", "state", "explain", "serve", "check", "graph",
    "warm", "bench",
)  # fmt: skip
"""The commands in the order in which `tidelog --help` lists them; each is a module of this package."""

_STACKS = "TIDELOG_TRACEBACK"
"""The environment variable that `--verbose` sets: a failure then shows where."""

FINE, WRONG_INPUT, OUR_FAULT, INTERRUPTED = 0, 1, 2, 130

Subparsers = Any
"""What `register` is given: the result of `ArgumentParser.add_subparsers`, whose type has no public name."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the arguments are those of the process unless given."""
    _mend_streams()
    try:
        args = _arguments(argv)
        if getattr(args, "verbose", False):
            os.environ[_STACKS] = "1"
        configure(level=args.log_level, form=args.log_format)
        with shown_on(sys.stderr, strict=getattr(args, "strict", False)):
            code: int = args.run(args)
        sys.stdout.flush()
        return code
    except TidelogWarning as warning:  # only with --strict
        print(f"{warning}\n  (an error because of --strict)", file=sys.stderr)
        return WRONG_INPUT
    except TidelogError as error:
        print(error, file=sys.stderr)
        if os.environ.get(_STACKS):
            traceback.print_exception(error)
        return OUR_FAULT if isinstance(error, LawError) else WRONG_INPUT
    except SystemExit as leaving:  # argparse leaves this way after --help and --version
        return leaving.code if isinstance(leaving.code, int) else FINE
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        return _disk_is_full(error) or _we_failed(error)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        return _without_extra(error) or _spark_failed(error) or _we_failed(error)


def json_line(content: object) -> str:
    """JSON in one line, with nothing but ASCII where standard output does not take every character."""
    return json.dumps(content, ensure_ascii="utf" not in (sys.stdout.encoding or "").lower())


def _mend_streams() -> None:
    """A stream that was closed before we started leads nowhere; what stdout cannot encode is written as escapes."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; a command with `words` takes what stands behind its options, too, which argparse cannot."""
    parser = _parser()
    args, more = parser.parse_known_args(argv)
    if more and (not hasattr(args, "words") or any(word.startswith("-") for word in more)):
        parser.error(f"unrecognized arguments: {' '.join(more)}")
    if more:
        args.words += more
    return args


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are our errors, so that wrong arguments end like any other wrong input."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print before leaving with a code that means something else here."""
        from tidelog.analysis.spelling import nearest

        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        meant = nearest(wrong[1], re.findall(r"[\w-]+", wrong[2])) if wrong else None
        question = f"did you mean {meant}? " if meant else ""
        raise UsageError.of("E801", message, remedy=f"{question}see: {self.prog} --help")


class _Version(argparse.Action):
    """Says which version this is; only then it is looked up, which takes as long as a small command."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print and leave."""
        from importlib import metadata

        print(f"tidelog {metadata.version('tidelog')}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tidelog", description="Keeps Datalog materialisations true while facts and rules come and go."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="say which version this is")
    parser.add_argument("--verbose", action="store_true", help="if it fails, show where: the stacks of Python and Java")
    levels = ("debug", "info", "warning", "error")
    parser.add_argument("--log-level", choices=levels, default="warning", help="how much to log (default: %(default)s)")
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="(default: %(default)s)")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        command = import_module(f"{__name__}.{name}")
        command.register(subparsers)
        subparsers.choices[name].set_defaults(run=command.run)
        subparsers.choices[name].add_argument(
            "--verbose", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )
    return parser


def _reader_left() -> int:
    """`tidelog ... | head`: the reader has left, which is not an error; the interpreter's last flush goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FINE


def _disk_is_full(error: OSError) -> int:
    """Standard output goes to a file that cannot grow; 0 if the error is another one."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return 0
    _reader_left()
    print(f"E806  standard output cannot be written: {error.strerror}\n  look after the disk", file=sys.stderr)
    return WRONG_INPUT


def _without_extra(error: Exception) -> int:
    """A command that needs Spark where it is not installed: which extra brings it. 0 if the error is another one."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if name not in ("pyspark", "py4j", "pandas"):
        return 0
    print(f"E708  {name} is not installed\n  pip install 'tidelog[spark]'", file=sys.stderr)
    return WRONG_INPUT


def _spark_failed(error: Exception) -> int:
    """What Spark says of the user's data, settings or cluster, in one sentence. 0 if the error is another one."""
    if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
        return 0
    from tidelog.backends.spark.cluster.failures import failed

    print(failed(error), file=sys.stderr)
    if os.environ.get(_STACKS):
        traceback.print_exception(error)
    return WRONG_INPUT


def _we_failed(error: Exception) -> int:
    if os.environ.get(_STACKS):
        traceback.print_exception(error)
    said = visible(f"{type(error).__name__}: {error}")
    print(f"E900  this is a fault of Tidelog, not of your input: {said}", file=sys.stderr)
    if not os.environ.get(_STACKS):
        print("  run again with --verbose (or set TIDELOG_TRACEBACK=1) to see where", file=sys.stderr)
    return OUR_FAULT
