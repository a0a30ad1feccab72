"""`tidelog shell [PROGRAM]`: load once, then ask, change and explain.

What      : reads pieces of input and prints what they give: questions, updates, rules, commands (`.help`).
Idea      : the session (console/session.py) knows nothing of terminals; here input, output and errors meet.
Invariant : a mistake is shown and the session goes on. A script on standard input ends with code 1 if one of its
            statements failed; its output holds answers only.
Never     : no work is lost by Ctrl-C: it abandons the line, not the session.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tidelog.cli import Subparsers
from tidelog.cli.options import add_engine_options

if TYPE_CHECKING:
    from tidelog.console.session import Session
    from tidelog.console.terminal import Reader


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("shell", help="load once, then ask, change and explain")
    add_engine_options(parser, needs_program=False, needs_facts=False, has_state=True)
    parser.add_argument("--no-history", action="store_true", help="do not remember what is typed")


def run(args: argparse.Namespace) -> int:
    """Load, then talk."""
    from tidelog.cli.engines import load
    from tidelog.console.session import Session
    from tidelog.console.terminal import reader_for
    from tidelog.observe.progress import progress_for

    loaded = load(args, progress_for(), everything=True)
    session = Session(loaded.engine)
    reader = reader_for(session.words, history=not args.no_history)
    if not reader.is_script:
        relations, rules = len(loaded.engine.relations), len(loaded.engine.rules)
        print(f"{relations} relations, {rules} rules. Ask, or type .help; Ctrl-D leaves.")
    return talk(session, reader)


def talk(session: Session, reader: Reader) -> int:
    """One piece of input after another; 1 if a statement of a script failed."""
    from tidelog.console.session import LeaveError
    from tidelog.errors import TidelogError, TidelogWarning

    failed = False
    while True:
        try:
            text = reader.read()
            if text is None:
                break
            shown = session.run(text)
            if shown:
                print(shown, flush=True)
        except LeaveError:
            break
        except KeyboardInterrupt:
            if reader.is_script:
                raise
            print("(abandoned; .quit leaves)")
        except (TidelogError, TidelogWarning) as error:
            failed = True
            print(f"{reader.place}{error}", file=sys.stderr, flush=True)
    return 1 if failed and reader.is_script else 0
