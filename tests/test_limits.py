"""Budgets end a run with the error of the budget that is used up, exactly when it is exceeded and not before."""

import pytest

from tidelog.errors import BudgetError, UsageError
from tidelog.limits import Budget, Limits


class Clock:
    """A clock that the test moves."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_a_budget_allows_its_limit_and_refuses_one_more():
    """Limits are inclusive: a program that needs exactly what was allowed must run."""
    budget = Budget(Limits(facts=10, rounds=2, bytes=1000))
    budget.ask_facts(10)
    budget.ask_bytes(1000)
    budget.ask_round()
    budget.ask_round()
    for code, spend in [
        ("E401", lambda: budget.ask_facts(11)),
        ("E402", budget.ask_round),
        ("E404", lambda: budget.ask_bytes(1001)),
    ]:
        with pytest.raises(BudgetError) as caught:
            spend()
        assert caught.value.code == code
        assert caught.value.problems[0].remedy


def test_time_runs_from_the_budget_not_from_the_limits():
    """One Limits object serves many runs; each run has its own clock."""
    clock, limits = Clock(), Limits(seconds=5)
    first = Budget(limits, clock)
    clock.now += 5.5
    second = Budget(limits, clock)
    with pytest.raises(BudgetError) as caught:
        first.ask_time()
    assert caught.value.code == "E403"
    second.ask_time()
    assert second.seconds == 0


def test_a_round_also_looks_at_the_clock():
    """A fixpoint that only asks for rounds must still end when its time is over."""
    clock = Clock()
    budget = Budget(Limits(seconds=1), clock)
    budget.ask_round()
    clock.now += 2
    with pytest.raises(BudgetError) as caught:
        budget.ask_round()
    assert caught.value.code == "E403"


def test_no_limit_means_no_limit():
    """The default budget refuses nothing, whatever is asked, and still keeps count."""
    budget = Budget()
    budget.ask_facts(10**18)
    budget.ask_bytes(10**18)
    budget.ask_round(10**9)
    assert budget.rounds == 10**9


@pytest.mark.parametrize("wrong", [{"facts": 0}, {"rounds": -1}, {"seconds": float("nan")}, {"bytes": -5}])
def test_a_limit_that_allows_nothing_is_refused(wrong):
    """Zero, negative and not-a-number limits are typing errors; silently accepting NaN would disable the limit."""
    with pytest.raises(UsageError) as caught:
        Limits(**wrong)
    assert next(iter(wrong)) in str(caught.value)


def test_the_machine_bounds_memory_only():
    """The ready-made limits protect the machine and restrict nothing else."""
    limits = Limits.of_this_machine()
    assert limits.bytes is not None
    assert limits.bytes > 0
    assert (limits.facts, limits.rounds, limits.seconds) == (None, None, None)
