"""The engine on Spark as users meet it: facts from and to DataFrames, large changes, queries, budgets, errors."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import BULK, PAGED, blocks_of, driver, jobs_of, kept_by, plan_size
from tidelog import Engine, Limits
from tidelog.backends import choice
from tidelog.changes.strategy_choice import Reason
from tidelog.errors import BudgetError, EvaluationError, TidelogError, UpdateError

CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
EDGES = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]


def _rows(frame: object) -> set[tuple[object, ...]]:
    return {tuple(row) for row in frame.collect()}  # type: ignore[attr-defined]


def test_facts_come_from_dataframes_and_go_to_dataframes(spark: SparkSession) -> None:
    """Columns count by position, so names of users are free; declared names come back."""
    engine = Engine(f".decl path(from: symbol, to: symbol)\n{CLOSURE}", backend="spark", spark=spark)
    change = engine.apply(insert={"edge": spark.createDataFrame(EDGES, "`select` string, `drop table` string")})
    assert len(change.inserted["path"]) == 12
    assert _rows(change.inserted["path"].to_spark()) == set(engine["path"])  # type: ignore[attr-defined]
    frame = engine["path"].to_spark()
    assert frame.columns == ["from", "to"]
    assert _rows(frame) == set(engine["path"])
    change = engine.apply(delete={"edge": spark.createDataFrame([("c", "a"), ("no", "no")], "x string, y string")})
    assert set(change.deleted["edge"]) == {("c", "a")}
    engine.verify()


def test_values_keep_their_types_through_spark(spark: SparkSession) -> None:
    """`1`, `1.0`, `True` and `"1"` are four constants on Spark too, and a large integer is no float."""
    values = [1, 1.0, True, "1", 2**62, -(2**63), 0.1, -2.5, "é"]
    with driver(spark, PAGED):
        engine = Engine("twin(x, x) :- value(x).", backend="spark", spark=spark)
        engine.apply(insert={"value": [(value,) for value in values]})
        assert {(type(x), x) for x, _ in engine["twin"]} == {(type(value), value) for value in values}
        engine.apply(
            insert={"real": spark.createDataFrame([(0.5,), (-0.0,)], "v double")}, add_rules="r(x) :- real(x)."
        )
        assert _rows(engine["r"].to_spark()) == {(0.5,), (0.0,)}
        assert engine.query("twin(x, 1.0)").to_arrow().to_pydict() == {"x": [1.0], "c2": [1.0]}


def test_facts_from_a_dataframe_can_be_deleted_as_rows(spark: SparkSession) -> None:
    """The driver has never seen their constants; a deletion that only asked its dictionary would find nothing."""
    frame = spark.createDataFrame([*EDGES, ("d", "e"), ("e", "f")], "x string, y string")
    gone = [("c", "a"), ("d", "e"), ("d", "e"), ("no", "such")]
    fresh = spark.createDataFrame([("e", "f"), ("no", "other"), ("no", "other")], "x string, y string")
    with driver(spark, PAGED, partitions=1):
        engine, expected = Engine(CLOSURE, backend="spark", spark=spark), Engine(CLOSURE)
        engine.apply(insert={"edge": frame})
        expected.apply(insert={"edge": frame.toArrow()})
        for here, there in ((gone, gone), (fresh, fresh.toArrow())):
            change, wanted = engine.apply(delete={"edge": here}), expected.apply(delete={"edge": there})
            assert set(change.deleted["path"]) == set(wanted.deleted["path"])
            assert change.stats.no_ops == wanted.stats.no_ops == 1


def test_a_constant_that_spark_and_the_driver_know_repeats_no_fact(spark: SparkSession) -> None:
    """Its text was stored by executors and waited on the driver, too: a join with all texts gave facts twice."""
    with driver(spark, {"relation": 0, "overlay": 100, "change": 1}, partitions=2):
        engine = Engine("path(x, y) :- edge(x, y).", backend="spark", spark=spark)
        engine.apply(insert={"edge": spark.createDataFrame(EDGES, "x string, y string")})
        engine.apply(insert={"edge": [("a", "z")]})
        assert sorted(map(tuple, engine["edge"].to_spark().collect())) == sorted([*EDGES, ("a", "z")])


def test_what_a_large_deletion_withdrew_can_still_be_read(spark: SparkSession) -> None:
    """Most of the facts given are not there, so that the change is small in the end; its causes are asked for later."""
    absent = [(f"no{number}", "such") for number in range(30)]
    with driver(spark, {"change": 10}, partitions=2):
        engine = Engine("path(x, y) :- edge(x, y).", backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        kept = kept_by(spark)
        for gone in EDGES[:2]:
            change = engine.apply(delete={"edge": spark.createDataFrame([gone, *absent], "x string, y string")})
            assert set(change.deleted["path"]) == {gone}
            assert "edge" in str(engine.explain_change(change, "path", gone))
            engine.verify()
        del change
        engine.apply(insert={"edge": EDGES[:1]})
        assert kept_by(spark) <= kept + 1


def _same_in_bulk(spark: SparkSession, program: str, facts: dict[str, list[tuple[object, ...]]]) -> Engine:
    """Apply two updates in bulk on Spark and on the local backend, and compare changes and facts."""
    expected = Engine(program, backend="local")
    engine = Engine(program, backend="spark", spark=spark)
    edges = spark.createDataFrame(facts["edge"], "x string, y string")
    later = {"delete": {"edge": [("c", "a")]}, "insert": {"node": [("e",)]}}
    for here, there in (({"insert": {**facts, "edge": edges}}, {"insert": facts}), (later, later)):
        change, wanted = engine.apply(**here), expected.apply(**there)  # type: ignore[arg-type]
        for tables, others in ((change.inserted, wanted.inserted), (change.deleted, wanted.deleted)):
            assert {name: set(table) for name, table in tables.items()} == {
                name: set(table) for name, table in others.items()
            }
        assert "in bulk" in change.stats.strategies["path"][1]
    for name in expected.relations:
        assert set(engine[name]) == set(expected[name])
    return engine


def test_a_load_stays_in_files_and_what_follows_is_followed(spark: SparkSession) -> None:
    """A DataFrame with more facts than there were is no small change, however few they are; a later one is.

    Taught by a load of a million facts: 250,000 of one relation passed through the driver, which learnt their texts.
    """
    shape, joined = "x string, y string", "far(x, z) :- edge(x, y), edge(y, z). loop(x) :- far(x, x)."
    with driver(spark, {"relation": 3, "change": 100}, partitions=2):
        engine = Engine(joined, backend="spark", spark=spark)
        loaded = engine.apply(insert={"edge": spark.createDataFrame(EDGES, shape)})
        assert Reason.BULK in {choice.reason for choice in loaded.stats.choices}
        change = engine.apply(insert={"edge": spark.createDataFrame([("d", "a"), ("d", "d"), ("e", "d")], shape)})
        assert Reason.BULK not in {choice.reason for choice in change.stats.choices}
        assert set(engine["loop"]) == {("d",)}
        engine.verify()


def test_a_large_change_is_derived_where_the_facts_are(spark: SparkSession) -> None:
    """Recursion and negation in bulk: the change is exact."""
    program = f"{CLOSURE} lone(x) :- node(x), !path(x, _)."
    with driver(spark, BULK, partitions=2):
        _same_in_bulk(spark, program, {"edge": EDGES, "node": [(x,) for x in "abcd"]})


@pytest.mark.long
def test_all_of_the_language_works_in_bulk(spark: SparkSession) -> None:
    """Order, arithmetic, text functions and aggregates in bulk too; and the law is checked there."""
    program = f"""{CLOSURE}
        reach(x, n) :- node(x), n = count : {{ path(x, _) }}.
        heavy(x, w + 1) :- weight(x, w), w > 1.0.
        total(s) :- s = sum w : {{ weight(_, w) }}.
        name(cat(x, "!")) :- node(x)."""
    weights = [("a", 1.5), ("b", 0.25), ("c", 2)]
    with driver(spark, BULK, partitions=2):
        facts = {"edge": EDGES, "node": [(x,) for x in "abcd"], "weight": weights}
        _same_in_bulk(spark, program, facts).verify()  # type: ignore[arg-type]


def test_what_has_no_value_in_a_task_is_counted_or_refused(spark: SparkSession) -> None:
    """A division by zero in an Arrow task fails no job: it makes no instance, and may refuse the update."""
    with driver(spark, BULK, partitions=1):
        engine = Engine("half(x / y) :- pair(x, y).", backend="spark", spark=spark)
        change = engine.apply(insert={"pair": [(4, 2), (4, 0), ("a", 1)]})
        assert set(engine["half"]) == {(2,)}
        assert [(one.count, one.first) for one in change.stats.without_value.values()] == [
            (2, "division by zero: 4 / 0, for x = 4, y = 0")
        ]
        engine.verify()
        engine = Engine("half(x / y) :- pair(x, y).", backend="spark", spark=spark, arithmetic="refuse")
        engine.apply(insert={"pair": [(4, 2)]})
        with pytest.raises(EvaluationError) as caught:
            engine.apply(insert={"pair": [(4, 0)]})
        assert caught.value.code == "E501"
        place = caught.value.problems[0].place
        assert place is not None
        assert (place.line, place.column) == (1, 1)
        assert "in rule half(" in str(caught.value)
        assert set(engine["half"]) == {(2,)}


def test_stats_count_the_jobs_that_spark_counts(spark: SparkSession) -> None:
    """`change.stats` has the number of Spark's user interface, for every kind of update and way of working."""
    frame = spark.createDataFrame([("d", "e")], "x string, y string")
    updates: list[dict[str, Any]] = [
        {"insert": {"edge": [("d", "a")]}},
        {"delete": {"edge": frame}, "insert": {"edge": [("e", "f")]}},
        {"delete": {"edge": [("c", "a")]}, "add_rules": "loop(x) :- path(x, x)."},
    ]
    for capacity, chosen in (({**PAGED, "written": 0}, updates), (BULK, updates[:1])):
        with driver(spark, capacity, partitions=1):
            engine = Engine(CLOSURE, backend="spark", spark=spark)
            engine.apply(insert={"edge": EDGES})
            for update in chosen:
                before = jobs_of(spark)
                change = engine.apply(**update)
                assert change.stats.jobs == jobs_of(spark) - before > 0
    held = Engine(CLOSURE, backend="spark", spark=spark)
    held.apply(insert={"edge": EDGES})
    assert held.apply(insert={"edge": [("d", "a")]}).stats.jobs == 0, "what is on the driver takes no job at all"


def _stream(engine: Engine, spark: SparkSession, updates: int) -> list[tuple[int, ...]]:
    """Sets of blocks, blocks, plan sizes and jobs after each update of a stream that comes and goes, from anywhere."""
    seen = []
    for number in range(updates):
        edges: object = [(f"n{number % 5}", "a")]
        if number % 10 == 9:
            edges = spark.createDataFrame([(f"n{number % 5}", "a")], "x string, y string")
        change = engine.apply(insert={"edge": edges}) if number % 2 else engine.apply(delete={"edge": edges})
        size = plan_size(engine["path"].to_spark())
        seen.append((kept_by(spark), blocks_of(spark), size, change.stats.jobs))
    return seen


def _is_flat(seen: list[tuple[int, ...]], period: int) -> bool:
    """Whether nothing in the last period is greater than in the second one; in the first the engine warms up."""
    early, late = (map(max, zip(*part)) for part in (seen[period : 2 * period], seen[-period:]))
    return all(at_last <= at_first for at_first, at_last in zip(early, late))


def test_blocks_are_released_when_they_are_replaced(spark: SparkSession) -> None:
    """Every update rewrites its relations here; what Spark keeps, plans and what an update takes stay the same."""
    with driver(spark, {"overlay": 0}):
        engine = Engine(CLOSURE, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        seen = _stream(engine, spark, 30)
    assert _is_flat(seen, 10), seen


@pytest.mark.long
@pytest.mark.parametrize("capacity", [PAGED, BULK], ids=["paged", "bulk"])
def test_nothing_grows_over_a_long_stream(spark: SparkSession, capacity: dict[str, int]) -> None:
    """As above over 200 updates with every look-up through Spark, and with every stage derived in bulk."""
    with driver(spark, capacity, partitions=2):
        engine = Engine(CLOSURE, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        seen = _stream(engine, spark, 200)
    assert _is_flat(seen, 20), seen


def _power_law(nodes: int, count: int) -> list[tuple[int, int]]:
    """Edges whose ends are chosen with weights 1/rank; node 0 touches half of them."""
    chosen = random.Random(3)
    weights = [1 / rank for rank in range(1, nodes)]
    ends = chosen.choices(range(1, nodes), weights, k=count)
    starts = chosen.choices(range(1, nodes), weights, k=count)
    hub = [(0, node) if node % 2 else (node, 0) for node in range(nodes, nodes + count // 2)]
    return hub + list({*zip(starts, ends)})[: count // 2]


def test_a_hub_does_not_serialise_the_engine(spark: SparkSession) -> None:
    """A node owns half of a power-law graph: by counts of facts derived per task, no task does most of the work.

    Without splitting one task does more than 80 % here; see test_bulk.py for the contrast.
    """
    edges = _power_law(200, 1600)
    rules = "link(x, y) :- edge(x, y). two(x, z) :- link(x, y), link(y, z)."
    expected = Engine(rules)
    expected.apply(insert={"edge": edges})
    options = {"spark.tidelog.bulk.skew_from": "100", "spark.tidelog.bulk.small": "0"}
    with driver(spark, BULK, partitions=4, options=options):
        engine = Engine(rules, backend="spark", spark=spark)
        engine.apply(insert={"edge": spark.createDataFrame(edges, "x long, y long")})
        (stats,) = (one for one in engine._backend.store.bulk.stats if one.reason.startswith("two"))
    assert len(engine["two"]) == len(expected["two"])
    assert stats.hot_keys >= 1
    assert max(stats.work) < 0.4 * sum(stats.work)
    assert max(stats.facts) < 0.4 * sum(stats.facts)


@pytest.mark.parametrize(
    ("rows", "schema", "code"),
    [
        ([("a",)], "x string", "E301"),
        ([("a", None)], "x string, y string", "E302"),
        ([("a", ["b"])], "x string, y array<string>", "E303"),
        ([("a", float("nan"))], "x string, y double", "E304"),
        ([("a", 1)], "x string, y long", "E306"),
    ],
)
def test_dataframes_that_do_not_fit_are_refused(
    spark: SparkSession, rows: list[tuple[object, ...]], schema: str, code: str
) -> None:
    """Each with its own code; the last version stays."""
    declaration = "" if code in ("E302", "E304") else ".decl edge(x: symbol, y: symbol)\n"
    engine = Engine(f"{declaration}{CLOSURE}", backend="spark", spark=spark)
    engine.apply(insert={"edge": EDGES})
    frame, kept = spark.createDataFrame(rows, schema), kept_by(spark)
    for update in ({"insert": {"edge": frame}}, {"delete": {"edge": frame}, "insert": {"edge": [("d", "a")]}}):
        if code == "E306" and "delete" in update:
            continue  # a fact of other types is not there, so deleting it changes nothing
        with pytest.raises(UpdateError) as caught:
            engine.apply(**update)  # type: ignore[arg-type]
        assert caught.value.code == code
        assert caught.value.problems[0].remedy
    assert (engine.version, set(engine["edge"]), len(engine["path"])) == (1, set(EDGES), 12)
    assert kept_by(spark) <= kept
    engine.verify()


@pytest.mark.parametrize("capacity", [{}, BULK], ids=["driver", "bulk"])
def test_declared_types_of_dataframes(spark: SparkSession, capacity: dict[str, int]) -> None:
    """A whole number is taken where a float is declared, to insert and to delete; -1 is never unsigned."""
    with driver(spark, capacity, partitions=1):
        engine = Engine(".decl p(x: float)\n.decl n(x: unsigned)\nq(x) :- p(x).", backend="spark", spark=spark)
        engine.apply(insert={"p": spark.createDataFrame([(9,), (2**53,)], "x long"), "n": [(1,)]})
        assert {(type(x), x) for (x,) in engine["q"]} == {(float, 9.0), (float, 2.0**53)}
        change = engine.apply(delete={"p": spark.createDataFrame([(9,), (2**53 + 1,)], "x long")})
        assert set(change.deleted["q"]) == {(9.0,)}
        for relation, value, code in (("p", 2**53 + 1, "E304"), ("n", -1, "E306")):
            with pytest.raises(UpdateError) as caught:
                engine.apply(insert={relation: spark.createDataFrame([(1,), (value,)], "x long")})
            assert caught.value.code == code
        engine.verify()


def test_strings_of_dataframes_are_valid_unicode(spark: SparkSession) -> None:
    """Spark casts any bytes to a string; such a string could be stored and never be read."""
    engine = Engine("q(x) :- p(x).", backend="spark", spark=spark)
    frame = spark.createDataFrame([(b"a\xff",)], "x binary").selectExpr("cast(x as string) x")
    with pytest.raises(UpdateError, match="E304"):
        engine.apply(insert={"p": frame})
    assert len(engine.apply(insert={"p": spark.createDataFrame([("é",)], "x string")}).inserted["q"]) == 1


def test_budgets_stop_bulk_work(spark: SparkSession) -> None:
    """A closure that needs more rounds than allowed ends in a named error, with the last version intact."""
    with driver(spark, BULK, partitions=1):
        engine = Engine("n(x + 1) :- n(x), x < 100.", backend="spark", spark=spark, limits=Limits(rounds=3))
        with pytest.raises(BudgetError):
            engine.apply(insert={"n": [(0,)]})
        assert len(engine["n"]) == 0


def test_counting_says_when_it_cannot(spark: SparkSession) -> None:
    """Counts live on the driver; where they would not fit the refusal names the way out."""
    with driver(spark, BULK):
        engine = Engine(CLOSURE, backend="spark", spark=spark, strategy="counting")
        with pytest.raises(TidelogError) as caught:
            engine.apply(insert={"edge": spark.createDataFrame(EDGES, "x string, y string")})
    assert caught.value.code == "E704"


def test_best_values_say_when_they_are_too_many(spark: SparkSession) -> None:
    """A recursion through `min` is followed on the driver; where that is too much, nothing has changed."""
    rules = "best(y, m) :- n(y), m = min c : { way(y, c) }. way(y, c + 1) :- best(x, c), edge(x, y). way(x, 0) :- s(x)."
    with driver(spark, BULK):
        engine = Engine(rules, backend="spark", spark=spark)
        nodes = spark.createDataFrame([(node,) for node in "abcd"], "x string")
        with pytest.raises(TidelogError) as caught:
            engine.apply(insert={"n": nodes, "s": [("a",)], "edge": spark.createDataFrame(EDGES, "x string, y string")})
        assert "best" not in engine or not len(engine["best"])
    assert caught.value.code == "E711"


def test_a_version_saved_from_spark_opens_on_either_backend(spark, tmp_path):
    """State does not depend on the backend: what Spark saved continues on Spark and in process, explicit facts too."""
    rules = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
    engine = Engine(rules, backend="spark", spark=spark)
    engine.apply(insert={"edge": [("a", "b"), ("b", "c"), ("c", "d")], "path": [("z", "z")]})
    engine.save(tmp_path / "state")
    engine.apply(delete={"edge": [("b", "c")]})
    expected = set(engine["path"])
    for options in ({"backend": "local"}, {"backend": "spark", "spark": spark}):
        opened = Engine.open(tmp_path / "state", **options)
        assert set(opened.explicit("path")) == {("z", "z")}
        opened.apply(delete={"edge": [("b", "c")]})
        assert set(opened["path"]) == expected
        opened.verify()


def test_auto_moves_to_spark_when_the_facts_outgrow_this_process(spark, monkeypatch):
    """The move is between two updates: same facts, same versions, and the next deletion is right on the other side."""
    engine = Engine(CLOSURE, backend="auto", spark=spark)
    engine.apply(insert={"edge": EDGES, "path": [("z", "z")]})
    assert engine.backend == "local"
    before = set(engine["path"])
    monkeypatch.setattr(choice, "SHARE_OF_MEMORY", 1e-12)
    change = engine.apply(insert={"edge": [("d", "e")]})
    assert (engine.backend, change.version, engine.version) == ("spark", 2, 2)
    assert before < set(engine["path"])
    assert set(engine.explicit("path")) == {("z", "z")}
    engine.apply(delete={"edge": [("c", "a")]})
    engine.verify()
    assert ("a", "a") not in engine["path"]


def test_new_relations_on_the_driver_meet_a_large_one(spark: SparkSession) -> None:
    """A load in which one relation is large and the others are small."""
    rules = "p(x) :- small(x). p(y) :- p(x), big(x, y). q(x) :- p(x), other(x). r(x, y) :- q(x), big(x, y), !gone(y)."
    facts: dict[str, list[tuple[int, ...]]] = {
        "big": [(n, n * 7 % 400) for n in range(400)],
        "small": [(1,), (2,)],
        "other": [(n,) for n in range(0, 400, 3)],
        "p": [(5,)],
        "gone": [(n,) for n in range(0, 400, 5)],
    }
    near = Engine(rules)
    near.apply(insert=facts)
    with driver(spark, {"change": 200}):
        far = Engine(rules, backend="spark", spark=spark)
        far.apply(insert={**facts, "big": spark.createDataFrame(facts["big"], "a long, b long")})
        for name in near.relations:
            assert set(far[name]) == set(near[name]), name
            assert set(far.explicit(name)) == set(near.explicit(name)), name
        for engine in (near, far):
            engine.apply(insert={"small": [(3,)]}, delete={"p": [(5,)], "gone": [(0,), (7,)]})
        for name in near.relations:
            assert set(far[name]) == set(near[name]), name
        far.verify()
        far.close()
