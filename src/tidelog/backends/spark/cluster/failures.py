"""What Spark says when it fails, in one sentence.

What      : `failed` is our error for an exception of Spark's; `cause` is the line of its text that says most.
Idea      : Spark's texts hold stacks of Java and Python, error classes and SQL states. One line of them says what went
            wrong: the innermost cause. The rest is shown by `--verbose`. What a task of ours says is an error of ours:
            it has a code, a sentence and a remedy already.
Invariant : a sentence is one line of at most 300 characters, without a stack.
Never     : no job is started here.
"""

from __future__ import annotations

import re

from tidelog.errors import PipelineError

DAMAGED = "the last version is intact; write this file anew, or restore it, and apply the update again"
"""What to do about a file that cannot be read."""
_SHOWN = 300
_CLASS = re.compile(r"(?:an error occurred while calling \S+\s*:?\s*)?(?:[\w$]+\.)+[\w$]+:\s+", re.IGNORECASE)
_WORDED = re.compile(r"(?:^|: )\[[A-Z_]+(?:\.[A-Z_]+)*\] ")
_FILE = re.compile(r"\[FAILED_READ_FILE[\w.]*\] .* reading file (\S+?)\.?(?:\s|$)")
_OURS = re.compile(r"^tidelog\.errors\.PipelineError: (E\d+)  (\S.*)\n  (\S.*)$", re.MULTILINE)
_TRACEBACK = "Traceback (most recent call last):"
_PYTHON = re.compile(r"^[A-Za-z_][\w.]*: (?=\S+ )")
_STATE = re.compile(r"\s*SQLSTATE: \w+\s*$")


def failed(error: Exception) -> PipelineError:
    """Our error for a failed action."""
    if own := _OURS.findall(str(error)):
        code, sentence, remedy = own[-1]
        return PipelineError.of(code, sentence, remedy=remedy)
    said = cause(str(error)) or type(error).__name__
    again = "the last version is intact, so the update can be applied again; --verbose shows Spark's stack"
    is_damaged = _FILE.search(str(error)) or said.lower().startswith("checksum error")
    return PipelineError.of("E702", f"a Spark job failed: {said}", remedy=DAMAGED if is_damaged else again)


def cause(text: str) -> str:
    """The line of Spark's text that says most: what Python has said, if it was Python that failed; else one with an
    error class of Spark's, as [DATA_SOURCE_NOT_FOUND], because it is written for users; else the innermost cause; else
    the first line that is no stack.
    """
    if told := _said_by_python(text):
        return _STATE.sub("", _PYTHON.sub("", told))[:_SHOWN]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    worded = [line for line in thrown if _WORDED.search(line)]
    said = next(iter([*worded, *causes[-1:], *thrown, *lines]), "")
    named = _CLASS.match(said)
    said = _STATE.sub("", said[named.end() :] if named else said)
    file = _FILE.search(text)
    if file and file[1].rsplit("/", 1)[-1] not in said:
        said = f"{file[1]}: {said}"
    return said[:_SHOWN]


def _said_by_python(text: str) -> str | None:
    """The line behind the stack of the last traceback, if there is one: `OSError: x.csv is gone`."""
    _, found, last = text.rpartition(_TRACEBACK)
    lines = last.splitlines()[1:] if found else []
    return next((line for line in lines if line.strip() and not line[0].isspace()), None)
