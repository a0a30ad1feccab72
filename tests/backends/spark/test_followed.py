"""Facts that come or go, many but few beside what their relation has, are followed and no stage is derived anew.

The returned change is compared with that of the local backend, fact by fact, and so are all facts and which of them are
explicit. `verify` compares the same and takes fifty jobs here: once in a test, or on the local backend, is enough. A
test of the facts alone would pass if the stages were derived anew, so the strategies that ran are asked, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.backends.spark.engines import PAGED, driver
from tidelog import Engine, Limits
from tidelog.backends.backend import Given
from tidelog.backends.spark.driver.capacity import Capacity
from tidelog.backends.spark.large import held_facts
from tidelog.changes.strategy_choice import Reason
from tidelog.errors import BudgetError
from tidelog.language.rdf_terms import IRI
from tidelog.state.log import StateLog
from tidelog.state.reading import read_versions

RULES = """
    has(x, y) :- part(x, y).
    has(x, z) :- part(x, y), has(y, z).
    top(x) :- part(x, _), !inner(x).
    inner(y) :- part(_, y).
"""
PARTS = [(f"p{10 * tree + at}", f"p{10 * tree + at + 1}") for tree in range(20) for at in range(8)]
COME = [(f"p{10 * tree}", f"p{10 * tree + 9}") for tree in range(18)]
GONE = [PARTS[8 * tree + 3] for tree in range(18)]


def _frame(spark: SparkSession, facts: list[tuple[str, str]]) -> DataFrame:
    return spark.createDataFrame(facts, "x string, y string")


@pytest.mark.parametrize(("size", "most"), [(0, 10), (39, 10), (60, 15), (160, 40), (1000, 40)])
def test_how_many_facts_are_followed(size: int, most: int) -> None:
    """A quarter of the relation, between one and four times `change`."""
    assert Capacity(change=10).followed(size) == most


@pytest.mark.parametrize(
    ("change", "is_followed"),
    [pytest.param(5, True, marks=pytest.mark.long, id="followed"), pytest.param(4, False, id="too many")],
)
def test_a_large_change_is_exact_whichever_way_it_goes(spark: SparkSession, change: int, is_followed: bool) -> None:
    """18 facts come to 160: they are followed up to four times `change`. As many that go are followed in portions, and
    those that come with them on top, unless there are too many of these.
    """
    with driver(spark, {**PAGED, "change": change}):
        engine, expected = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
        engine.apply(insert={"part": _frame(spark, PARTS)})
        expected.apply(insert={"part": PARTS})
        for update in ({"insert": COME}, {"delete": GONE}, {"insert": GONE, "delete": COME}):
            in_bulk = _agree(spark, engine, expected, update)
            assert in_bulk is not (is_followed or "insert" not in update)
        engine.verify()


@pytest.mark.parametrize(
    "source", ["frame", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("list", "once"))]
)
def test_a_large_deletion_is_followed_whatever_else_the_update_does(
    spark: SparkSession, tmp_path: Path, source: str
) -> None:
    """Facts and rules that come with it, what goes and comes again, a watcher that reads, updates that were submitted.

    One insertion beside 300,000 deletions once had all stages derived anew, as did a watcher, and `submit`.
    """
    again, fresh = [*GONE[:4], ("p0", "p9"), PARTS[0]], ("p7", "p200")
    with driver(spark, {**PAGED, "change": 8}):
        engines = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
        for engine in engines:
            engine.apply(insert={"part": PARTS, "inner": [("p5",), ("p199",)]})
        engine, expected = engines
        engine.save(tmp_path / "state")
        seen, before, told = [], set(engine["has"]), count()
        engine.watcher = lambda _: seen.append(set(engine["has"])) if next(told) % 7 == 0 else None
        portions = _portions(engine)
        sources: dict[str, Callable[[list[tuple[str, str]]], object]] = {
            "frame": lambda facts: _frame(spark, facts),
            "list": list,
            "once": iter,
        }
        given = sources[source]
        rules = 'far(x) :- has(x, "p200"). part("p8", "p200").'
        asked = (
            lambda gone, come: {"delete": {"part": gone, "inner": [("p5",)]}, "insert": {"part": come}},
            lambda gone, come: {
                "delete": {"part": gone},
                "insert": {"part": come, "inner": [("p5",)]},
                "add_rules": rules,
            },
            lambda gone, come: {
                "delete": {"part": gone},
                "insert": {"part": come},
                "remove_rules": ["top(x) :- part(x, _), !inner(x)."],
            },
        )
        for at, (gone, come) in enumerate([(GONE, [*again, fresh]), (COME[1:] + again, GONE), (GONE, COME)]):
            found = engine.apply(**asked[at](given(gone), given(come)))  # type: ignore[arg-type]
            wanted = expected.apply(**asked[at](gone, come))  # type: ignore[arg-type]
            assert portions
            portions.clear()
            assert not any(choice.reason is Reason.BULK for choice in found.stats.choices)
            for name in {*wanted.inserted, *wanted.deleted, *found.inserted, *found.deleted}:
                assert set(found.inserted[name]) == set(wanted.inserted[name])
                assert set(found.deleted[name]) == set(wanted.deleted[name])
            assert found.stats.no_ops == wanted.stats.no_ops
            assert seen
            assert all(one == before for one in seen), "a watcher saw what is no version"
            seen.clear()
            before = set(engine["has"])
            engine.save(tmp_path / "state")
            _same(engine, expected)
        engine.verify()
        assert [one.kind for one in read_versions(tmp_path / "state")] == ["base", "changes", "changes", "changes"]
        for kind in ("spark", "local"):
            with Engine.open(tmp_path / "state", backend=kind, spark=spark if kind == "spark" else None) as opened:
                _same(opened, expected)
                if kind == "local":
                    opened.verify()


def test_a_large_deletion_that_is_submitted_is_followed(spark: SparkSession) -> None:
    """With others that share its version, and one behind it that may not wait."""
    with driver(spark, {**PAGED, "change": 8}):
        engines = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
        for engine in engines:
            engine.apply(insert={"part": PARTS})
        portions = _portions(engines[0])
        for engine in engines:
            first = engine.submit(delete={"part": GONE}, insert={"part": [("p7", "p200")]})
            later = engine.submit(delete={"part": [("p7", "p200"), PARTS[1]]}, insert={"part": [GONE[0], ("q", "p0")]})
            urgent = engine.submit(insert={"part": [("r", "p0")]}, urgent=True)
            for one in (first, later, urgent):
                one.result()
        assert portions
        _same(*engines)


def _same(engine: Engine, expected: Engine) -> None:
    """All facts, and which of them are explicit: what `verify` recomputes from, at the price of reading."""
    for name in expected.relations:
        assert set(engine[name]) == set(expected[name])
        assert set(engine.explicit(name)) == set(expected.explicit(name))


def _portions(engine: Engine) -> list[int]:
    """Grows with each portion that an engine goes on from."""
    portions = list[int]()
    go_on = engine._backend.go_on  # type: ignore[attr-defined]
    engine._backend.go_on = lambda budget: (portions.append(1), go_on(budget))  # type: ignore[attr-defined]
    return portions


def _agree(
    spark: SparkSession,
    engine: Engine,
    expected: Engine,
    update: Mapping[str, list[tuple[str, str]]],
    source: str = "frame",
) -> bool:
    """Both change by the same; whether the one on Spark has derived a stage in bulk."""
    sources: dict[str, Callable[[list[tuple[str, str]]], object]] = {
        "frame": lambda facts: _frame(spark, facts),
        "list": list,
        "table": lambda facts: pa.table({"x": [x for x, _ in facts], "y": [y for _, y in facts]}),
    }
    found = engine.apply(**{how: {"part": sources[source](facts)} for how, facts in update.items()})
    wanted = expected.apply(**{how: {"part": facts} for how, facts in update.items()})
    for name in ("part", "has", "top", "inner"):
        assert set(found.inserted[name]) == set(wanted.inserted[name])
        assert set(found.deleted[name]) == set(wanted.deleted[name])
    _same(engine, expected)
    assert found.stats.no_ops == wanted.stats.no_ops
    return any(choice.reason is Reason.BULK for choice in found.stats.choices)


@pytest.mark.parametrize("source", ["frame", "list", "table"])
def test_what_comes_in_one_portion_and_goes_in_another_did_neither(spark: SparkSession, source: str) -> None:
    """Whole trees go, a fact at a time: a part is a top between the portion that takes its upper neighbour and the one
    that takes its lower. Facts that were never there are counted, once each, as ever.

    A list of 200,000 facts once filled the driver among 64 million, and all stages were derived anew: at half the cost
    of the load, where portions take a tenth.
    """
    gone = [*PARTS[:24], ("p1", "p5"), ("nobody", "p3"), *PARTS[:3]]
    with driver(spark, {**PAGED, "change": 8}):
        engine, expected = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
        engine.apply(insert={"part": _frame(spark, PARTS)})
        expected.apply(insert={"part": PARTS})
        portions = _portions(engine)
        assert not _agree(spark, engine, expected, {"delete": gone}, source)
        assert len(portions) == 4  # of 1, 4, 11 and 10 facts: they grow while there is room


@pytest.mark.parametrize(("each", "facts"), [(3, 5_000_000), (6, 5_000_000), (3, 10)], ids=["followed", "most", "full"])
def test_what_can_be_read_once_is_read_once(spark: SparkSession, each: int, facts: int) -> None:
    """An iterator beside many facts, and one of many facts that says how many: whether the deletion is followed in
    portions, is not, or is given up.

    Such facts were once read to find out how many go, and nothing was left of them for the deletion itself.
    """
    gone = [part for at, part in enumerate(PARTS) if at % 8 < each]
    with driver(spark, {**PAGED, "change": 8, "facts": facts}):
        for source in (list, _Once):
            engines = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
            for engine in engines:
                engine.apply(insert={"part": PARTS, "kept": [(1,), (2,), (3,)]})
            found, expected = (
                engine.apply(delete={"part": source(gone), "kept": iter([(1,), (2,), (9,)])}) for engine in engines
            )
            for name in ("part", "has", "top", "kept"):
                assert set(engines[0][name]) == set(engines[1][name])
                assert set(found.deleted[name]) == set(expected.deleted[name])
            assert found.stats.no_ops == expected.stats.no_ops


class _Once:
    """Facts that are there once, and how many: what a bar of progress around a generator is."""

    def __init__(self, facts: list[tuple[str, str]]) -> None:
        self._count, self._facts = len(facts), iter(facts)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return self._facts


@pytest.mark.parametrize(
    ("each", "facts"),
    [pytest.param(6, 5_000_000, id="most of it"), pytest.param(3, 10, marks=pytest.mark.long, id="no room")],
)
def test_a_deletion_is_derived_anew_where_that_is_better(
    spark: SparkSession, tmp_path: Path, each: int, facts: int
) -> None:
    """At once where more than half of a relation goes; else when a portion does not find room on the driver.

    What changed is saved as such all the same, until there are too many such facts to be brought for it.
    """
    with driver(spark, {**PAGED, "change": 8, "facts": facts}):
        engine, expected = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
        engine.apply(insert={"part": _frame(spark, PARTS)})
        expected.apply(insert={"part": PARTS})
        engine.save(tmp_path / "state")
        gone = [part for at, part in enumerate(PARTS) if at % 8 < each]
        assert _agree(spark, engine, expected, {"delete": gone})
        engine.save(tmp_path / "state")
        few = gone[::6]
        for most, come in ((held_facts.MOST, few), (2, [part for part in gone if part not in few])):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(held_facts, "MOST", most)
                assert _agree(spark, engine, expected, {"insert": come})
            engine.save(tmp_path / "state")
        assert [one.kind for one in read_versions(tmp_path / "state")] == ["base", "changes", "changes", "base"]
        for kind in ("spark", "local"):
            session = spark if kind == "spark" else None
            with Engine.open(tmp_path / "state", version=3, backend=kind, spark=session) as opened:
                assert set(opened.explicit("part")) == set(PARTS) - set(gone) | set(few)
                opened.verify()


def test_portions_leave_the_last_version_until_all_are_done(spark: SparkSession, tmp_path: Path) -> None:
    """A failure behind some portions: readers never saw them, and afterwards all is as it was. Then it is saved."""
    with driver(spark, {**PAGED, "change": 8}):
        engine, expected = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
        engine.apply(insert={"part": _frame(spark, PARTS)})
        expected.apply(insert={"part": PARTS})
        engine.save(tmp_path / "state")
        backend = engine._backend
        write, seen = backend._write, []  # type: ignore[attr-defined]

        def failing(after: dict[str, object]) -> None:
            seen.append(set(backend.onlooker.ask(lambda aside: set(aside.table("has")))))  # type: ignore[union-attr]
            if len(seen) == 4:
                raise MemoryError
            write(after)

        backend._write = failing  # type: ignore[attr-defined, method-assign]
        before = set(engine["has"])
        with pytest.raises(MemoryError):
            engine.apply(delete={"part": _frame(spark, GONE)})
        assert len(seen) >= 4
        assert all(one == before for one in seen)
        assert set(engine["has"]) == before == set(expected["has"])
        backend._write = write  # type: ignore[attr-defined, method-assign]
        _same(engine, expected)
        assert not _agree(spark, engine, expected, {"delete": GONE})
        engine.save(tmp_path / "state")
        for kind in ("spark", "local"):
            with Engine.open(tmp_path / "state", backend=kind, spark=spark if kind == "spark" else None) as opened:
                _same(opened, expected)
                if kind == "local":
                    opened.verify()


def test_a_deletion_does_not_fail_for_the_rounds_of_its_portions(spark: SparkSession) -> None:
    """All portions together take more rounds than are allowed, the deletion at once does not."""
    with driver(spark, {**PAGED, "change": 8}):
        engine, expected = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
        engine.apply(insert={"part": _frame(spark, PARTS)})
        engine.limits = Limits(rounds=expected.apply(insert={"part": PARTS}).stats.rounds)
        _agree(spark, engine, expected, {"delete": GONE})


VALUES = [("p1", 1), ("p1", 1.0), ("p2", True), ("p2", "1"), ("p3", 2**62), ("p3", IRI("http://x"))]


@pytest.mark.parametrize("at_once", [3, pytest.param(1 << 19, marks=pytest.mark.long)])
def test_a_deletion_in_portions_is_saved_as_what_changed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """The next version has signed rows, opens on both backends, and older ones open, until they are forgotten.

    Such a save once wrote everything anew, because what portions had changed was thought to be on Spark: 91 processor
    seconds at 21 million explicit facts, after a deletion of 16.
    """
    monkeypatch.setattr(held_facts, "_AT_ONCE", at_once)
    rules, state = RULES + "worth(x, v) :- has(_, x), value(x, v). old(x) :- part(x, _).", tmp_path / "state"
    with driver(spark, {**PAGED, "change": 8}):
        engines = Engine(rules, backend="spark", spark=spark), Engine(rules)
        for engine in engines:
            engine.apply(insert={"part": PARTS, "value": VALUES, "old": [("p3",), ("new",)]})
        engine, expected = engines
        engine.save(state)
        before, had = _facts(engine), set(engine["has"])
        found = engine.apply(delete={"part": GONE, "value": VALUES[:5:2], "old": [("p3",)]})
        expected.apply(delete={"part": GONE, "value": VALUES[:5:2], "old": [("p3",)]})
        assert set(found.deleted["has"]) == had - set(engine["has"])
        assert all(fact in found.deleted["part"] for fact in GONE)
        assert PARTS[0] not in found.deleted["part"]
        assert (1, 2, 3) not in found.deleted["part"]
        engine.save(state)
        assert [one.kind for one in read_versions(state)] == ["base", "changes"]
        engine.apply(insert={"part": [("p0", "p5")]})
        expected.apply(insert={"part": [("p0", "p5")]})
        engine.save(state)
        for kind in ("spark", "local"):
            session = spark if kind == "spark" else None
            with Engine.open(state, backend=kind, spark=session) as opened:
                assert _facts(opened) == _facts(expected)
                _same(opened, expected)
                if kind == "local":
                    opened.verify()
            with Engine.open(state, version=1, backend=kind, spark=session) as opened:
                assert _facts(opened) == before
        with StateLog(state) as log:
            log.forget(2)
        with Engine.open(state, version=2, backend="spark", spark=spark) as opened:
            assert set(opened["has"]) == had - set(found.deleted["has"])


def _facts(engine: Engine) -> dict[str, set[tuple[object, ...]]]:
    """All facts, with the types of their values."""
    return {name: {tuple((type(value), value) for value in fact) for fact in engine[name]} for name in engine.relations}


def test_the_jobs_of_portions_that_are_given_up_count(spark: SparkSession) -> None:
    """A portion finds no room, and all is derived anew: the job that has read the DataFrame is one of the update's."""
    with driver(spark, {**PAGED, "change": 8, "facts": 10}):
        engine = Engine(RULES, backend="spark", spark=spark)
        engine.apply(insert={"part": PARTS})
        scheduler = spark.sparkContext._jsc.sc().dagScheduler()  # others forget the first of a thousand jobs
        before = scheduler.numTotalJobs()
        change = engine.apply(delete={"part": _frame(spark, GONE)})
        assert any(choice.reason is Reason.BULK for choice in change.stats.choices)
        assert change.stats.jobs == scheduler.numTotalJobs() - before


def test_a_budget_of_bytes_sees_what_portions_hold(spark: SparkSession) -> None:
    """Every portion adds the ids of what it changed, which stay until the end, while the driver's store is emptied."""
    with driver(spark, {**PAGED, "change": 8}):
        engine = Engine(RULES, backend="spark", spark=spark)
        engine.apply(insert={"part": PARTS})
        backend, seen = engine._backend, list[int]()
        go_on = backend.go_on  # type: ignore[attr-defined]
        backend.go_on = lambda budget: (seen.append(backend.store.nbytes), go_on(budget))  # type: ignore[attr-defined]
        change = engine.apply(delete={"part": GONE})
        assert seen[-1] - seen[0] > 8 * change.deleted.total
        engine.limits = Limits(bytes=seen[0])
        with pytest.raises(BudgetError, match="E404"):
            engine.apply(delete={"part": COME[:3] + PARTS[7::8]})
        engine.verify()


def test_an_interrupt_behind_all_portions_leaves_the_version_before(spark: SparkSession) -> None:
    """Nothing but the insertions is left to do, and then nothing but to write the version."""
    with driver(spark, {**PAGED, "change": 8}):
        engine, expected = Engine(RULES, backend="spark", spark=spark), Engine(RULES)
        engine.apply(insert={"part": _frame(spark, PARTS)})
        expected.apply(insert={"part": PARTS})
        backend, portions, stored = engine._backend, _portions(engine), list[int]()
        intern_all, ask = backend.intern_all, backend.ask_to_commit

        def storing(sources: Mapping[str, Given]) -> object:
            stored.append(len(portions))
            if len(stored) == 1:
                raise KeyboardInterrupt
            return intern_all(sources)

        def asking() -> None:
            if len(stored) > 1:
                raise KeyboardInterrupt
            ask()

        backend.intern_all, backend.ask_to_commit = storing, asking  # type: ignore[method-assign]
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                engine.apply(delete={"part": GONE}, insert={"part": COME})
            assert set(engine["has"]) == set(expected["has"])
        assert 0 < stored[0] < stored[1]
        backend.intern_all, backend.ask_to_commit = intern_all, ask  # type: ignore[method-assign]
        _same(engine, expected)
        assert not _agree(spark, engine, expected, {"delete": GONE, "insert": COME[:8]}, "list")
        engine.verify()
