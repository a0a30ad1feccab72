"""Bad programs, each with the message that a user sees beside it.

A case is `tests/programs/bad/NAME.dl` and `NAME.expected`; the ones whose text is wrong (E1xx) are tested here. The
messages are part of the interface: read a new one aloud before it becomes an expectation.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.errors import ProgramError
from tidelog.language import parse

CASES = sorted((Path(__file__).parents[1] / "programs" / "bad").glob("syntax-*.dl"))


def test_there_are_cases():
    assert len(CASES) >= 10


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_message_is_the_expected_one(path):
    with pytest.raises(ProgramError) as caught:
        parse(path.read_text(encoding="utf-8"), path.name)
    assert f"{caught.value}\n" == path.with_suffix(".expected").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_problem_has_a_code_a_place_and_a_remedy(path):
    with pytest.raises(ProgramError) as caught:
        parse(path.read_text(encoding="utf-8"), path.name)
    for problem in caught.value.problems:
        assert problem.code.startswith("E1")
        assert problem.place is not None
        assert problem.place.text is not None
        assert problem.remedy
