"""A whole program by bulk work alone, stage by stage, and the same by naive evaluation: for tests to compare."""

from __future__ import annotations

import numpy as np

from tidelog.backends.spark.bulk.fixpoint import BulkOptions, BulkStats, fixpoint
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.values import ids
from tidelog.language.parser import parse
from tidelog.planning.lowering import lower
from tidelog.reference.facts import from_fact, to_fact
from tidelog.reference.naive import materialise

Facts = dict[str, set[tuple]]


def by_bulk(
    spark, rules: str, facts: Facts, partitions: int = 3, *, in_files: bool = False, **options
) -> tuple[Facts, list[BulkStats]]:
    """The materialisation as sets of ids, and the statistics of every stage; what is derived may go into files."""
    jobs = Jobs(spark)
    files = FileStore.of(jobs, 0) if in_files else None
    stored: dict[str, Segments] = {}
    program = lower(parse(rules).rules)
    known = {name: frame_of(spark, rows) for name, rows in facts.items() if rows}
    stats = []
    for stage in program.stages:
        below = {name: frame for name, frame in known.items() if name not in stage.relations}
        seeds = {name: known[name] for name in stage.relations if name in known}
        chosen = BulkOptions(**options)
        done = fixpoint(jobs, stage, below, seeds, partitions=partitions, options=chosen, files=files, stored=stored)
        if done is None and stage.finds_undefined:
            continue  # instances without a value are found by joins in rounds, and nothing here reads them
        assert done is not None, f"bulk work does not cover {stage.name}"
        stored |= {name: found for name, found in done.facts.items() if isinstance(found, Segments)}
        known |= done.facts | {name: files.frame(found).drop("explicit") for name, found in stored.items()}
        stats.append(done.stats)
    return {name: rows_of(frame, program.arities.get(name)) for name, frame in known.items()}, stats


def by_reference(rules: str, facts: Facts) -> Facts:
    """The materialisation by naive evaluation, as sets of ids."""
    explicit = [to_fact(name, row) for name, rows in facts.items() for row in rows]
    found: Facts = {}
    for relation, values in map(from_fact, materialise(parse(rules).rules, explicit)):
        found.setdefault(relation, set()).add(tuple(ids.of_value(value) for value in values))
    return found


def frame_of(spark, rows):
    """Facts of Python values as a DataFrame of ids."""
    arity = max(len(next(iter(rows))), 1)
    table = np.array([[ids.of_value(value) for value in row] or [0] for row in sorted(rows, key=repr)], np.int64)
    return frames.of_ids(spark, table.reshape(-1, arity))


def rows_of(frame, arity):
    """A DataFrame of ids as a set; a fact that comes twice is a mistake."""
    rows = [tuple(row) if arity != 0 else () for row in frame.collect()]
    assert len(rows) == len(set(rows)), "a fact came twice"
    return set(rows)


def non_empty(facts: Facts) -> Facts:
    """Without relations that have no facts, which one side may not know."""
    return {name: rows for name, rows in facts.items() if rows}
