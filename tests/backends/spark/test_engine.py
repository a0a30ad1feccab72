"""The engine on Spark as users meet it: facts from and to DataFrames, large changes, queries, budgets, errors."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import BULK, PAGED, driver, jobs_of, kept_by
from tidelog import Engine, Limits
from tidelog.backends import choice
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
        assert engine.query("twin(x, 1.0)").to_arrow().to_pydict() == {"c0": [1.0], "c1": [1.0]}


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


def test_errors_of_rules_cross_from_tasks_to_the_user(spark: SparkSession) -> None:
    """A division by zero in an Arrow task is the user's mistake, not a failed job, and changes nothing."""
    with driver(spark, BULK, partitions=1):
        engine = Engine("half(x / y) :- pair(x, y).", backend="spark", spark=spark)
        engine.apply(insert={"pair": [(4, 2)]})
        with pytest.raises(EvaluationError) as caught:
            engine.apply(insert={"pair": [(4, 0)]})
        assert caught.value.code == "E501"
        assert set(engine["half"]) == {(2,)}


def test_stats_count_the_jobs_that_spark_counts(spark: SparkSession) -> None:
    """The number in `change.stats` is the one in Spark's user interface; what is on the driver takes no job at all."""
    with driver(spark, PAGED):
        engine = Engine(CLOSURE, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        before = jobs_of(spark)
        change = engine.apply(insert={"edge": [("d", "a")]})
        assert change.stats.jobs == jobs_of(spark) - before > 0
    held = Engine(CLOSURE, backend="spark", spark=spark)
    held.apply(insert={"edge": EDGES})
    assert held.apply(insert={"edge": [("d", "a")]}).stats.jobs == 0


def _stream(engine: Engine, spark: SparkSession, updates: int) -> list[tuple[int, int]]:
    """Sets of blocks kept and jobs taken after each update of a stream that comes and goes."""
    seen = []
    for number in range(updates):
        edge = (f"n{number % 5}", "a")
        change = engine.apply(insert={"edge": [edge]}) if number % 2 else engine.apply(delete={"edge": [edge]})
        seen.append((kept_by(spark), change.stats.jobs))
    return seen


def test_blocks_are_released_when_they_are_replaced(spark: SparkSession) -> None:
    """Every update rewrites its relations here; what Spark keeps and what an update takes stay the same."""
    with driver(spark, {"overlay": 0}):
        engine = Engine(CLOSURE, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        seen = _stream(engine, spark, 30)
    assert max(kept for kept, _ in seen[20:]) <= max(kept for kept, _ in seen[:10])
    assert max(jobs for _, jobs in seen[20:]) <= max(jobs for _, jobs in seen[:10])


@pytest.mark.long
def test_nothing_grows_over_a_long_stream(spark: SparkSession) -> None:
    """As above over 200 updates with every look-up through Spark."""
    with driver(spark, PAGED):
        engine = Engine(CLOSURE, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        seen = _stream(engine, spark, 200)
    assert max(seen[180:]) <= max(seen[:20])
    assert max(jobs for _, jobs in seen[180:]) <= max(jobs for _, jobs in seen[:20])


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
    with pytest.raises(UpdateError) as caught:
        engine.apply(insert={"edge": spark.createDataFrame(rows, schema)})
    assert caught.value.code == code
    assert len(engine["path"]) == 12
    engine.verify()


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
