"""Readers beside a writer on Spark: they see the last version, wait for nobody and leave nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import TypeVar

import pytest
from pyspark.sql import SparkSession

from tests.backends.spark.engines import BULK, HELD, PAGED, driver, jobs_of
from tidelog import Engine
from tidelog.backends.spark.files.segments import Order, Segment, Segments
from tidelog.backends.spark.large.cold import ColdRelation
from tidelog.backends.spark.onlooker import Onlooker
from tidelog.state.log import StateLog

RULES = """
    path(x, y) :- edge(x, y).
    path(x, z) :- path(x, y), edge(y, z).
    reached(x, n) :- path(x, _), n = count : { path(x, _) }.
"""
EDGES = [("a", "b"), ("b", "c"), ("c", "d")]
T = TypeVar("T")


def in_another_thread(ask: Callable[[], T]) -> T:
    """The answer that another thread gets, which has to come while this one holds everybody up."""
    said: SimpleQueue[T | BaseException] = SimpleQueue()

    def work() -> None:
        try:
            said.put(ask())
        except BaseException as error:
            said.put(error)

    threading.Thread(target=work, daemon=True).start()
    answer = said.get(timeout=60)
    if isinstance(answer, BaseException):
        raise answer
    return answer


def answers(engine: Engine) -> dict[str, object]:
    """What every way of asking says."""
    held = engine["path"]
    return {
        "version": engine.version,
        "length": len(held),
        "there": ("a", "d") in held,
        "unknown": ("never", "seen") in held,
        "facts": sorted(held),
        "explicit": sorted(engine.explicit("edge")),
        "pattern": sorted(engine.query('path("a", x)')),
        "body": sorted(engine.query("path(x, y), !edge(x, y)")),
        "counted": sorted(engine["reached"]),
        "proof": str(engine.explain("path", ("a", "c"))),
        "absence": str(engine.explain_absence("path", ("c", "a"))),
    }


@pytest.mark.parametrize("capacity", [HELD, PAGED, BULK], ids=["held", "paged", "bulk"])
def test_readers_see_the_last_version_while_an_update_is_held_up(
    spark: SparkSession, capacity: Mapping[str, int]
) -> None:
    with driver(spark, capacity):
        engine = Engine(RULES, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        before, meanwhile = answers(engine), []

        def watch(_: int) -> None:
            if not meanwhile:
                meanwhile.append(in_another_thread(lambda: answers(engine)))

        engine.watcher = watch
        engine.apply(delete={"edge": [("a", "b")]}, insert={"edge": [("d", "e"), ("e", "a"), ("x", "c")]})
        engine.watcher = None
        assert meanwhile == [before]
        assert ("b", "a") in engine["path"]
        assert ("never", "seen") not in engine["path"]
        engine.verify()


def test_a_version_that_ends_while_a_reader_begins_to_look_is_not_held() -> None:
    """It was kept with its files after the commit had forgotten it, until another reader came."""
    versions: list[dict[str, ColdRelation]] = [{}, {}]
    asked = [0]

    def relations() -> dict[str, ColdRelation]:
        asked[0] += 1
        if asked[0] == 2:  # the writer commits as soon as the reader knows the version
            onlooker.forget()
        return versions[0] if asked[0] <= 2 else versions[1]

    onlooker = Onlooker[str](relations, lambda _: "a version")
    assert onlooker.ask(str.upper) == "A VERSION"
    assert onlooker._made is None


def test_readers_do_not_wait_for_a_save(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with driver(spark, PAGED):
        engine = Engine(RULES, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        before, meanwhile, save = answers(engine), [], StateLog.save

        def held_up(*arguments: object) -> object:
            meanwhile.append(in_another_thread(lambda: answers(engine)))
            return save(*arguments)

        monkeypatch.setattr(StateLog, "save", held_up)
        engine.save(tmp_path / "state")
        assert meanwhile == [before]


@pytest.mark.parametrize("capacity", [PAGED, BULK], ids=["paged", "bulk"])
def test_a_table_that_is_read_leaves_the_constants_of_the_engine_alone(
    spark: SparkSession, capacity: Mapping[str, int]
) -> None:
    """Two threads that learnt texts at once gave one number to two of them."""
    with driver(spark, capacity):
        engine = Engine(RULES, backend="spark", spark=spark)
        change = engine.apply(insert={"edge": EDGES})
        table, constants = change.inserted["path"], engine._backend.store.constants
        known = len(constants.dictionary)
        assert ("a", "new") not in table
        assert sorted(table) == sorted(engine["path"])
        assert len(constants.dictionary) == known


def test_readers_of_many_threads_see_whole_versions_of_a_stream(spark: SparkSession) -> None:
    """An edge goes and comes: whatever is asked, the paths are those with it or those without it."""
    with driver(spark, PAGED):
        engine = Engine(RULES, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        with_it = sorted(engine["path"])
        without_it = [("a", "b"), ("c", "d")]
        is_over, wrong, asked = threading.Event(), [], [0] * 3

        def read(number: int) -> None:
            try:
                while not is_over.is_set():
                    found, held = sorted(engine["path"]), ("b", f"fresh {number}") in engine["path"]
                    if found not in (with_it, without_it) or held:
                        wrong.append(found)
                    asked[number] += 1
            except BaseException as error:
                wrong.append(error)

        readers = [threading.Thread(target=read, args=(number,)) for number in range(len(asked))]
        for reader in readers:
            reader.start()
        for _ in range(12):
            engine.apply(delete={"edge": [("b", "c")]})
            engine.apply(insert={"edge": [("b", "c")]})
        is_over.set()
        for reader in readers:
            reader.join()
        assert not wrong
        assert all(asked)
        engine.verify()


@pytest.mark.parametrize("capacity", [PAGED, BULK], ids=["paged", "bulk"])
def test_whether_a_fact_is_there_is_looked_up_without_a_job(spark: SparkSession, capacity: Mapping[str, int]) -> None:
    """It took a job for a fact, and another one that counted all explicit facts: three seconds for a proof."""
    with driver(spark, capacity):
        engine = Engine(RULES, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        engine.apply(delete={"edge": [("c", "d")]}, insert={"edge": [("c", "e")], "path": [("f", "g")]})
        before = jobs_of(spark)
        held, given = engine["path"], engine.explicit("path")
        assert [fact in held for fact in [("a", "e"), ("f", "g"), ("c", "d"), ("a", "no"), ("a",), ("a", [])]] == [
            True, True, False, False, False, False,
        ]  # fmt: skip
        assert [fact in given for fact in [("a", "e"), ("f", "g")]] == [False, True]
        engine.explain("path", ("a", "e"))
        assert jobs_of(spark) == before
        assert len(given) == 1


def test_a_table_says_how_many_explicit_facts_there_are(spark: SparkSession) -> None:
    with driver(spark, PAGED):
        engine = Engine(RULES, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES, "path": [("f", "g")]})
        assert repr(engine.explicit("path")) == "<explicit ones of 7 facts on Spark>"
        assert len(engine.explicit("path")) == 1


def test_an_order_that_a_reader_adds_is_in_a_description_with_its_files_or_not_at_all() -> None:
    """A save names the files that it links; an order that came in between was named and not linked."""
    first, later = (Order(lead, 1, {0: Segment(f"folder/{lead}", 3, 90)}) for lead in (0, 1))
    segments = Segments(2, 3, {0: first}, (3, 3), (1, 1))
    read_before = segments.orders
    segments.add(later)
    assert list(read_before) == [0]
    said, files = segments.described()
    assert [file.name for file in files] == [name for order in said["orders"] for _, name, *_ in order["files"]]


def test_texts_that_were_put_wait_no_more_even_if_an_interrupt_came_right_after(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were in a file and waiting, so that a join with all texts repeated rows."""
    with driver(spark, PAGED):
        engine = Engine(RULES, backend="spark", spark=spark)
        engine.apply(insert={"edge": EDGES})
        constants = engine._backend.store.constants
        put = constants.texts.put

        def interrupted(*arguments: object) -> None:
            put(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(constants.texts, "put", interrupted)
        with pytest.raises(KeyboardInterrupt):
            constants.flush()
        ids = [row.id for row in constants.frame.collect()]
        assert len(ids) == len(set(ids)) > 0
        constants.flush()
        assert sorted(engine["path"].to_spark().collect()) == sorted(engine["path"])
