"""What Spark says when it fails, in one sentence.

What      : `failed` is our error for an exception of Spark's; `cause` is the line of its text that says most.
Idea      : Spark's texts hold stacks of Java and Python, error classes and SQL states. One line of them says what went
            wrong: the innermost cause. The rest is shown by `--verbose`.
Invariant : a sentence is one line of at most 300 characters, without a stack.
Never     : no job is started here.
"""

from __future__ import annotations

import re

from tidelog.errors import PipelineError

_SHOWN = 300
_CLASS = re.compile(r"(?:an error occurred while calling \S+\s*:?\s*)?(?:[\w$]+\.)+[\w$]+:\s+", re.IGNORECASE)
_WORDED = re.compile(r"(?:^|: )\[[A-Z_]+(?:\.[A-Z_]+)*\] ")
_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")


def failed(error: Exception) -> PipelineError:
    """Our error for a failed action."""
    return PipelineError.of(
        "E702",
        f"a Spark job failed: {cause(str(error)) or type(error).__name__}",
        remedy="the last version is intact, so the update can be applied again; --verbose shows Spark's stack",
    )


def cause(text: str) -> str:
    """The line of Spark's text that says most: one with an error class of Spark's, as [DATA_SOURCE_NOT_FOUND], because
    it is written for users; else the innermost cause; else the first line that is no stack.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    worded = [line for line in thrown if _WORDED.search(line)]
    said = next(iter([*worded, *causes[-1:], *thrown, *lines]), "")
    named = _CLASS.match(said)
    return _STATE.sub("", said[named.end() :] if named else said)[:_SHOWN]
