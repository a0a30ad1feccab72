"""Logs: the standard library's logging, set up once.

What      : `log(name)` is the logger of one module; `configure` sends what they say to a stream, as text or JSON lines.
Idea      : a library stays silent until its host decides; only the command line calls `configure`.
Invariant : calling `configure` again replaces our handler and never adds a second one; foreign handlers are untouched.
Never     : the root logger is not ours to touch.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Literal, TextIO

from tidelog.visible import visible, visible_json

_ROOT = "tidelog"
_OURS = "tidelog-output"

logging.getLogger(_ROOT).addHandler(logging.NullHandler())


def log(name: str) -> logging.Logger:
    """The logger of a module; call it with `__name__`."""
    return logging.getLogger(name if name == _ROOT or name.startswith(f"{_ROOT}.") else f"{_ROOT}.{name}")


class JsonLines(logging.Formatter):
    """One JSON object per record: time, level, logger, message, and the error's text if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        entry = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return visible_json(json.dumps(entry, ensure_ascii=False))


class TextLines(logging.Formatter):
    """One line of text per record; what names and values hold cannot break it."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """The record as one line."""
        record.message = visible(record.message)
        return super().formatMessage(record)


def configure(level: str = "warning", form: Literal["text", "json"] = "text", stream: TextIO | None = None) -> None:
    """Send records of `level` and above to `stream` (stderr unless told), as plain text or as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.set_name(_OURS)
    text = TextLines("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S")
    handler.setFormatter(JsonLines() if form == "json" else text)
    root = logging.getLogger(_ROOT)
    for previous in [handler for handler in root.handlers if handler.get_name() == _OURS]:
        root.removeHandler(previous)
    root.addHandler(handler)
    root.setLevel(level.upper())
