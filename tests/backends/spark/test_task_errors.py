"""What a task raises is what the driver finds in the text of the failed job, field by field."""

from __future__ import annotations

import traceback

import pytest

from tidelog.backends.spark.cluster.task_errors import carried, found
from tidelog.errors import EvaluationError


@pytest.mark.parametrize("rule", [None, "share", 'p(x) :- q(x, "a, in rule b: {}\\n"), x = "}".'])
def test_every_field_arrives(rule: str | None) -> None:
    """The rule was once glued to the sentence and cut off again; a sentence that contains the glue was cut short.

    Rule and sentence may hold anything: braces, quotes, new lines, our own words.
    """
    sentence = 'cannot divide "a\nb" by 0, in rule: {"kind": 1}'
    error = EvaluationError.of("E501", sentence, remedy="test for 0 first")
    try:
        raise carried(error, rule)
    except Exception:
        text = f"Job aborted\n{traceback.format_exc()}\n\tat org.apache.spark.Thing}}"
    arrived = found(text)
    assert isinstance(arrived, EvaluationError)
    problem = arrived.problems[0]
    assert (problem.code, problem.sentence, problem.remedy, problem.rule) == (
        "E501",
        sentence,
        "test for 0 first",
        rule,
    )


def test_other_failures_are_none_of_ours() -> None:
    """A failed job without an error of ours stays Spark's."""
    assert found("java.lang.OutOfMemoryError: {}") is None
