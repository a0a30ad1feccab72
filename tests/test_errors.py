"""An error says the same wherever it goes: into a log, to another process, through a copy."""

import copy
import pickle

import pytest

import tidelog as tl
from tidelog.errors import Place, Problem, ProgramError, TidelogError, UsageError

TWO = ProgramError([Problem("E101", "a", Place("x.dl", 1, 2, "p("), "b"), Problem("E102", "c", rule="r")])
WAYS = [copy.copy, copy.deepcopy, *(lambda one, at=at: pickle.loads(pickle.dumps(one, at)) for at in (0, 2, 5))]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", [TWO, UsageError.of("E802", "there is no relation p"), TidelogError.of("E900", "?")])
def test_an_error_survives_pickling(error: TidelogError, way) -> None:
    """An error of another process was made anew from its text as if that were problems: one character a line."""
    error.add_note("while it rained")
    again = way(error)
    assert (type(again), again.problems, str(again), again.code) == (
        type(error),
        error.problems,
        str(error),
        error.code,
    )
    assert again.__notes__ == error.__notes__


@pytest.mark.parametrize("way", WAYS)
def test_a_warning_survives_pickling(way) -> None:
    """A warning that is made an error goes the same ways."""
    warning = tl.TidelogWarning(Problem("W201", "nothing there"))
    again = way(warning)
    assert (again.problem, str(again), again.code) == (warning.problem, str(warning), "W201")
