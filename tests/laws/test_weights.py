"""Weights and counts: overflow raises, never wraps; no weight is negative at a component's border. Figure 8.

Taught by sister systems: multiplicities overflowed and the result became empty; an unseen deletion left weight -1 and
the fact appeared. numpy and Arrow wrap silently at 2^63, so that nobody notices unless somebody looks.
"""

from __future__ import annotations

from operator import add, mul, sub
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog as tl
from tests.differential.case import key
from tests.differential.engines import STRATEGIES
from tests.differential.harness import keys
from tests.differential.updates import draw_case
from tidelog.backends.local.relations.derivation_counts import Counts
from tidelog.backends.local.store import LocalStore

RULES = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z). both(x) :- path(x, _), node(x). node(1)."
GREATEST = 2**63 - 1


def counts_of(engine: tl.Engine) -> dict[str, Counts]:
    """The counts that the counting strategy keeps, by relation."""
    store = engine._backend.store
    assert isinstance(store, LocalStore)
    return dict(store.counted)


def all_counts(counts: Counts) -> list[int]:
    """Every count that is not zero: those beside facts, then those in cells."""
    return [int(count) for part in (counts._near[1::2], counts._counts) for count in part[part != 0]]


def facts(engine: tl.Engine) -> set[Any]:
    """Everything that holds."""
    return keys({name: list(engine[name]) for name in engine.relations})


def planted(number: int) -> tl.Engine:
    """An engine in which every count of derivations that is not 0 has been overwritten by `number`."""
    engine = tl.Engine(RULES + "edge(1, 2). edge(2, 3). edge(3, 4).", strategy="counting")
    for counts in counts_of(engine).values():
        near = counts._near[1::2]
        near[near > 0] = number
        counts._counts[counts._counts > 0] = number
    return engine


@pytest.mark.parametrize(
    ("number", "update", "code"),
    [
        (2**62, {"insert": {"edge": [(1, 9)]}}, "E903"),
        (0, {"delete": {"edge": [(1, 2)]}}, "E902"),
    ],
)
def test_counts_out_of_range_are_faults_and_not_results(number: int, update: dict[str, Any], code: str) -> None:
    """One derivation more than can be counted, or less than none, ends the update; nothing has changed."""
    engine = planted(number)
    before, kept = facts(engine), {name: all_counts(counts) for name, counts in counts_of(engine).items()}
    for _ in range(2):
        with pytest.raises(tl.LawError) as raised:
            engine.apply(**update)
        assert raised.value.code == code
        assert facts(engine) == before
        for name, counts in counts_of(engine).items():
            assert all_counts(counts) == kept[name]
    engine.strategy = "bf"
    engine.apply(**update)
    engine.verify()


@pytest.mark.parametrize("seed", range(3_000_000, 3_000_040))
def test_no_weight_is_negative_at_a_border(seed: int) -> None:
    """Between updates every count is positive or none; a change names a fact once, and on one side only."""
    case = draw_case(seed)
    engine = tl.Engine(case.program, strategy="counting")
    for update in case.updates:
        if update.refused:
            continue
        before = facts(engine)
        change = engine.apply(**update.arguments)  # type: ignore[arg-type]
        inserted, deleted = (
            [key(name, fact) for name, table in tables.items() for fact in table]
            for tables in (change.inserted, change.deleted)
        )
        assert len(set(inserted)) == len(inserted)
        assert len(set(deleted)) == len(deleted)
        assert set(inserted).isdisjoint(before)
        assert set(deleted) <= before
        assert all(min(all_counts(counts), default=0) >= 0 for counts in counts_of(engine).values())


numbers = st.one_of(
    st.integers(-(2**63), GREATEST),
    st.integers(-3, 3),
    st.integers(GREATEST - 3, GREATEST),
    st.integers(-(2**63), 3 - 2**63),
)
OPERATIONS = {"+": add, "-": sub, "*": mul}


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=5), st.sampled_from(sorted(OPERATIONS)))
def test_arithmetic_is_exact_or_there_is_no_instance(pairs: list[tuple[int, int]], operation: str) -> None:
    """Sums, differences and products are those of arithmetic; what leaves 64 bits is counted, or refused."""
    rules = f"r(x, y, z) :- p(x, y), z = x {operation} y."
    engine, strict = tl.Engine(rules), tl.Engine(rules, arithmetic="refuse")
    results = {(x, y, OPERATIONS[operation](x, y)) for x, y in pairs}
    right = {(x, y, z) for x, y, z in results if -(2**63) <= z <= GREATEST}
    change = engine.apply(insert={"p": pairs})
    assert set(engine["r"]) == right
    assert sum(one.count for one in change.stats.without_value.values()) == len(results) - len(right)
    if right == results:
        strict.apply(insert={"p": pairs})
    else:
        with pytest.raises(tl.EvaluationError, match="E502"):
            strict.apply(insert={"p": pairs})
        assert len(strict["p"]) == 0


@given(st.sets(numbers, min_size=1, max_size=6))
def test_aggregates_are_exact_or_there_is_none(values: set[int]) -> None:
    """A sum that leaves 64 bits on the way but not in the end is no overflow; the order of the facts is no matter."""
    engine = tl.Engine("s(n) :- n = sum x : { p(x) }. c(n) :- n = count : { p(_) }. m(n) :- n = max x : { p(x) }.")
    has_sum = -(2**63) <= sum(values) <= GREATEST
    change = engine.apply(insert={"p": [(value,) for value in values]})
    assert list(engine["s"]) == ([(sum(values),)] if has_sum else [])
    assert list(engine["m"]) == [(max(values),)]
    assert list(engine["c"]) == [(len(values),)]
    assert len(change.stats.without_value) == (0 if has_sum else 1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_exponentially_many_derivations_are_no_overflow(strategy: str) -> None:
    """A ladder of 200 steps has 2^200 ways up; counts are of last steps, so none is large, and every fact is found."""
    rungs = 200
    edges = [(step, side, step + 1, other) for step in range(rungs) for side in (0, 1) for other in (0, 1)]
    engine = tl.Engine("up(s, x) :- start(s, x). up(t, y) :- up(s, x), rung(s, x, t, y).", strategy=strategy)
    engine.apply(insert={"start": [(0, 0)], "rung": edges})
    assert len(engine["up"]) == 2 * rungs + 1
    assert len(engine.apply(delete={"rung": [(100, 0, 101, 0)]}).deleted["up"]) == 0
    assert (
        len(engine.apply(delete={"rung": [(100, 1, 101, 0), (100, 1, 101, 1), (100, 0, 101, 1)]}).deleted["up"]) == 200
    )
    engine.verify()


def test_counts_survive_an_update_that_fails_after_rows_were_stored() -> None:
    """The rows of a failed update are given back, more of them than the counts have seen; the counts move along."""
    rules = "a(y) :- r(x), y = 10 / x. p(x) :- a(x). p(x) :- q(x). p(x) :- q2(x)."
    engine = tl.Engine(rules, strategy="counting", arithmetic="refuse")
    engine.apply(insert={"q": [(number,) for number in range(6)], "q2": [(5,)]})
    engine.apply(delete={"q": [(0,), (1,)]})
    with pytest.raises(tl.EvaluationError):
        engine.apply(insert={"p": [(100 + number,) for number in range(3000)], "r": [(0,)]})
    for update in ({"delete": {"q": [(5,)]}}, {"delete": {"q": [(2,)]}}, {"insert": {"q": [(7,)]}}):
        engine.apply(**update)
        engine.verify()
    assert set(engine["p"]) == {(3,), (4,), (5,), (7,)}
