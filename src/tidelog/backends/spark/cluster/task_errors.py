"""Errors of ours on their way from a task to the driver.

What      : `carried` wraps an error that a task raises, `found` reads it from the text of the failed job.
Idea      : of a failed task the driver sees nothing but the text of its traceback. One line of it is our error as JSON,
            so that every field arrives as it was: code, sentence, remedy and the key of the rule.
Invariant : `found(text of carried(error))` is the error, without places, which tasks do not know.
Never     : no Spark here.
"""

from __future__ import annotations

import json
import re

from tidelog import errors
from tidelog.errors import Problem, TidelogError

_FIELDS = ("code", "sentence", "remedy", "rule")


class CarriedError(Exception):
    """An error of ours as one line of JSON."""


_LINE = re.compile(rf"{CarriedError.__name__}: (\{{[^\n]*\}})")


def carried(error: TidelogError, rule: str | None = None) -> CarriedError:
    """The error as a task raises it; `rule` is the key of the rule that was being evaluated."""
    problem = error.problems[0]
    told = {name: getattr(problem, name) for name in _FIELDS} | ({"rule": rule} if rule is not None else {})
    return CarriedError(json.dumps({"kind": type(error).__name__, **told}))


def found(text: str) -> TidelogError | None:
    """The error of ours in the text of a failed job, if there is one."""
    line = _LINE.search(text)
    if line is None:
        return None
    told = json.loads(line[1])
    kind: type[TidelogError] = getattr(errors, told.pop("kind"))
    return kind(Problem(**told))
