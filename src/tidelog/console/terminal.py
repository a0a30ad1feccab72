"""Where lines come from: a terminal with history and completion, a plain terminal, or a script.

What      : `Reader` objects give one piece of input after another; `reader_for` chooses the one that fits.
Idea      : in a real terminal prompt_toolkit edits lines, completes names and remembers what was typed. With TERM=dumb,
            or where prompt_toolkit is not installed, lines are read plainly. A script on standard input is read without
            prompts, so that its output holds answers only.
Invariant : the history file belongs to its owner alone (mode 0600) and is not written if it is switched off.
Never     : nothing is carried out here (session.py).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TextIO

from tidelog.console.statements import is_complete

_PROMPT, _MORE = "tidelog> ", "     ... "


class Reader(Protocol):
    """Where input comes from."""

    is_script: bool

    def read(self) -> str | None:
        """The next piece of input; None at the end. KeyboardInterrupt abandons what was begun."""

    @property
    def place(self) -> str:
        """Where the last piece began, for messages; empty in a terminal."""


class Lines:
    """Plain lines, with prompts for a person or without for a script."""

    def __init__(self, stream: TextIO, *, is_script: bool) -> None:
        self.is_script = is_script
        self._stream, self._number, self._began = stream, 0, 0

    @property
    def place(self) -> str:
        """The number of the line on which the last piece of a script began."""
        return f"line {self._began}: " if self.is_script else ""

    def read(self) -> str | None:
        """Lines up to the end of a statement."""
        text = self._line(_PROMPT)
        self._began = self._number
        while text is not None and not is_complete(text):
            more = self._line(_MORE)
            if more is None:
                break
            text = f"{text}\n{more}"
        return text

    def _line(self, prompt: str) -> str | None:
        if not self.is_script:
            print(prompt, end="", flush=True)
        line = self._stream.readline()
        self._number += 1
        return line.rstrip("\n") if line else None


class Terminal:
    """A terminal with line editing, completion and history."""

    is_script = False
    place = ""

    def __init__(self, words: Callable[[], list[str]], history: Path | None) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import FuzzyCompleter, WordCompleter
        from prompt_toolkit.history import FileHistory, InMemoryHistory

        kept = InMemoryHistory() if history is None else FileHistory(str(history))
        completer = FuzzyCompleter(WordCompleter(words, sentence=False, WORD=True), WORD=False)
        self._session: Any = PromptSession(history=kept, completer=completer, complete_while_typing=False)

    def read(self) -> str | None:
        """Lines up to the end of a statement, each edited by itself."""
        try:
            text = str(self._session.prompt(_PROMPT))
            while not is_complete(text):
                text = f"{text}\n{self._session.prompt(_MORE)}"
        except EOFError:
            return None
        return text


def reader_for(words: Callable[[], list[str]], *, history: bool) -> Reader:
    """The reader that fits standard input and the terminal."""
    if not sys.stdin.isatty():
        return Lines(sys.stdin, is_script=True)
    if os.environ.get("TERM", "dumb") in ("dumb", "") or not sys.stdout.isatty():
        return Lines(sys.stdin, is_script=False)
    try:
        return Terminal(words, history_file() if history else None)
    except ImportError:
        return Lines(sys.stdin, is_script=False)


def history_file() -> Path | None:
    """The file of the history, readable by its owner only; None if it cannot be made."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    file = Path(base) / "tidelog" / "history"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
        file.chmod(0o600)
    except OSError:
        return None
    return file
