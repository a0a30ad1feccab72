"""The main job: facts in, materialisation, updates, versions out.

What      : `run_pipeline` does what a pipeline file says, from the first source to the last sink.
Idea      : load once, then follow. A version goes through four steps, each of which can be the last one before a
            crash: apply (in memory), outbox (the change is written down), save (the version is stored with its batch
            and with what the rule files said), publish. On restart the state says which parts of which micro-batches
            are in, and the outbox which versions the sinks may lack.
Invariant : a batch changes the state once; every stored version reaches every sink; a failed batch changes nothing.
Never     : no join, no cleaning, no encoding here: each has a room of its own.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from tidelog.analysis.arities import arities
from tidelog.backends.choice import fitting_backend
from tidelog.changes.change import Change, WithoutValue
from tidelog.changes.update import Update
from tidelog.engine import Engine
from tidelog.errors import TidelogError
from tidelog.language.parser import parse
from tidelog.language.printer import print_program
from tidelog.language.terms import Program
from tidelog.maintenance.choose import Auto
from tidelog.observe.logs import log
from tidelog.pipeline.endpoint import serve
from tidelog.pipeline.engine_or_graph import Kept, begin, reopen
from tidelog.pipeline.follow.arrival import stream_of
from tidelog.pipeline.follow.settling import Settled, merged, rule_names, settle, settle_together
from tidelog.pipeline.follow.streaming import check_checkpoint, follow, stopping
from tidelog.pipeline.follow.updates import Part, Waiting, announced, parts_of
from tidelog.pipeline.out.feed import feed_of
from tidelog.pipeline.out.outbox import Outbox
from tidelog.pipeline.out.shelf import local_folder
from tidelog.pipeline.out.sinks import change_sinks, relation_sinks
from tidelog.pipeline.out.whole_feed import whole_feed
from tidelog.pipeline.sessions import session_for, titled
from tidelog.pipeline.settings.config import Pipeline
from tidelog.pipeline.settings.rule_files import read_programs, strangers
from tidelog.pipeline.sources.extraction import extract, load
from tidelog.pipeline.sources.rejects import Reject, RejectsTable
from tidelog.pipeline.status import Status
from tidelog.state.failpoints import reach
from tidelog.state.log import StateLog
from tidelog.state.programs import program_change
from tidelog.state.versions import PARTS, STREAM

FAILPOINTS = ("batch-applied", "outbox-written", "version-saved", "version-published")
"""The places between two durable effects of the job, in order; those inside a save are state/failpoints.py's."""

RULES_APPLIED = "rules-applied"
"""The place after an edited rule file is applied; what follows are the places of every version."""

OWN = "_pipeline"
"""The folder inside the state for what belongs to the pipeline: checkpoint, outbox, rejects."""

Watch = Callable[[Any, Change], None]
Feed = tuple[int, pa.Table | None]
"""A version and the rows of its change; None stands for all of its facts."""

_LOG = log(__name__)


def run_pipeline(
    pipeline: Pipeline,
    status: Status,
    *,
    once: bool = False,
    verify: bool = False,
    spark: SparkSession | None = None,
    watch: Watch | None = None,
) -> Kept:
    """Run a pipeline until its source is empty (`once`) or a signal stops it; gives the engine at its last version.

    With `verify` the last version is compared with recomputation. `watch` is shown every change once it is published.
    """
    program = read_programs(pipeline.programs, pipeline.reasoning)
    status.tell("starting", file=str(pipeline.file), state=str(pipeline.state))
    with StateLog(pipeline.state) as state, session_for(pipeline, spark) as running, stopping() as stop:
        job = Job(pipeline, program, state, running, status, watch)
        with serve(status.registry, pipeline.port, pipeline.address):
            job.begin()
            job.follow(once, stop)
            job.end(verify)
        return job.engine


class Job:
    """One run of a pipeline."""

    def __init__(
        self,
        pipeline: Pipeline,
        program: Program,
        state: StateLog,
        spark: SparkSession,
        status: Status,
        watch: Watch | None = None,
    ) -> None:
        own = pipeline.state / OWN
        self._pipeline, self._program, self._state, self._spark, self._status = pipeline, program, state, spark, status
        self._outbox = Outbox(own / "outbox")
        chosen = pipeline.updates and pipeline.updates.checkpoint
        self._checkpoint = chosen or str(own / "checkpoint")
        self._rejects = RejectsTable(spark, pipeline.rejects, pipeline.on_bad)
        out = sys.stderr if status.takes_stdout else sys.stdout
        self._changes = change_sinks(spark, pipeline.sinks, out)
        self._relations = relation_sinks(spark, pipeline.sinks, out)
        self._engine: Kept | None = None
        self._watch = watch

    @property
    def engine(self) -> Kept:
        """The engine, once it is loaded or reopened."""
        if self._engine is None:
            raise RuntimeError("begin() comes first")
        return self._engine

    def begin(self) -> None:
        """Load the sources, or continue where the state is."""
        if self._pipeline.updates is not None:  # without them nobody reads a checkpoint, wherever it would be
            last, is_new = self._state.last_batch(STREAM), self._state.is_empty
            check_checkpoint(self._spark, self._checkpoint, last, is_new=is_new)
        if self._state.is_empty:
            self._load()
        else:
            self._continue()
        for note in strangers(self._pipeline, arities(self.engine.program)):
            self._status.tell("note", text=note)

    def follow(self, once: bool, stop: threading.Event) -> None:
        """Apply what the update source brings."""
        source = self._pipeline.updates
        if source is None:
            return
        folder = local_folder(source.path) if source.path else None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        stream = stream_of(self._spark, source)

        def process(batch: DataFrame, number: int) -> None:
            self._process(batch, number, stop)

        follow(stream, process, self._checkpoint, once=once, every=source.every, stop=stop)

    def end(self, verify: bool = False) -> None:
        """Publish the relations a last time, check them if asked to, and say good-bye."""
        for sink in self._relations:
            sink.publish(self.engine, time.monotonic(), final=True)
        if verify:
            self.engine.verify()
            self._status.tell("verified", version=self.engine.version, result="equal to recomputation")
        self._status.tell("stopped", version=self.engine.version, facts=_size(self.engine), rejects=self._rejects.count)

    # -- the beginning ---------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """The first version: everything that the sources and the program say."""
        started = time.perf_counter()
        is_graph = self._pipeline.reasoning != "none"
        with extract(self._spark, self._pipeline.sources, self._program, self._rejects, packs=is_graph) as sources:
            for name, one in sources.items():
                self._status.tell("source", relation=name, count=one.count, types=", ".join(one.types))
            if self._rejects.count:
                self._status.tell("rejects", count=self._rejects.count, part="the sources")
            engine = self._engine_for(sum(one.cells for one in sources.values()))
            with titled(self._spark, "hand the facts to the engine"):
                load(engine, sources)
        self._engine = engine
        self._state.give(print_program(self._program))
        self._store([(engine.version, None)], None)
        told = {"version": engine.version, "facts": _size(engine), "seconds": time.perf_counter() - started}
        self._status.tell("loaded", **told, without_value=_lacking(engine.without_value))

    @property
    def _options(self) -> dict[str, Any]:
        asked = self._pipeline
        return {"strategy": asked.strategy, "limits": asked.limits, "arithmetic": asked.arithmetic}

    def _engine_for(self, values: int) -> Kept:
        """An engine with the program's rules and facts, on the backend that suits the number of values."""
        backend, reason = fitting_backend(self._pipeline.backend, values)
        self._status.tell("backend", backend=backend, reason=reason)
        program = self._program
        engine = begin(program, self._pipeline.reasoning, backend=backend, spark=self._spark, **self._options)
        _LOG.info("backend %s: %s; %d facts in the program", backend, reason, len(program.facts))
        return engine

    def _continue(self) -> None:
        """The stored version, what its sinks may lack, and what the rule files ask for since."""
        info = self._state.info
        values = sum(arity * count for arity, count in info.relations.values()) if info else 0
        backend, reason = fitting_backend(self._pipeline.backend, values)
        self._status.tell("backend", backend=backend, reason=reason)
        state = self._pipeline.state
        options = {"backend": backend, "spark": self._spark, **self._options}
        self._engine = engine = reopen(state, self._pipeline.reasoning, **options)
        last = self._state.last_batch(STREAM)
        batch = None if last is None else last // PARTS
        told = {"version": engine.version, "facts": _size(engine), "batch": batch}
        self._status.tell("continued", **told, without_value=_lacking(engine.without_value))
        for version, rows in self._outbox.waiting(engine.version, self._state.saves):
            self._publish(version, rows)
        self._follow_files()

    def _follow_files(self) -> None:
        """Apply what has changed in the rule files since the state was made or last opened, as one version."""
        text, said = print_program(self._program), self._state.given
        if text == said:
            return
        difference = program_change(parse(said or ""), self._program, self.engine.program)
        self._state.give(text)
        if not difference:
            self.engine.save(self._state)
            return
        change = self.engine.apply(None, difference.delete, difference.add_rules, difference.remove_rules)
        reach(RULES_APPLIED)
        self._store([(self.engine.version, feed_of(change, self.engine.version, None))], None)
        told = {"added": len(difference.add.rules), "removed": len(difference.remove_rules)}
        counts = {"inserted": change.inserted.total, "deleted": change.deleted.total, "facts": _size(self.engine)}
        lacking = _lacking(change.stats.without_value)
        self._status.tell("rules", version=self.engine.version, **told, **counts, without_value=lacking)

    # -- one micro-batch -------------------------------------------------------------------------------------------

    def _process(self, batch: DataFrame, number: int, stop: threading.Event) -> None:
        """Apply the parts of a micro-batch, each of them once."""
        source = self._pipeline.updates
        if source is None:
            return
        title = f"read micro-batch {number} of the updates"
        with titled(self._spark, title), closing(parts_of(batch, source)) as parts:
            waiting, at, most = Waiting(parts), 0, PARTS
            while waiting.first():
                if stop.is_set():
                    raise InterruptedError("a stop was asked for; the rest of the micro-batch comes again")
                done, most = self._process_first(waiting, number, at, most if source.latest else 1)
                at += done

    def _process_first(self, waiting: Waiting, number: int, at: int, most: int) -> tuple[int, int]:
        """Apply the first parts that wait; says how many that were, and how many may be tried together next time."""
        if self._state.has_batch(number * PARTS + at, STREAM):
            self._status.tell("known", batch=number, part=at)
            waiting.settled(1)
            return 1, most
        asked = waiting.first(most)
        done, is_refused = self._apply_together(asked, number, at)
        most = max(1, len(asked) // 2) if is_refused else 2 * most  # fewer have to be done again next time
        waiting.settled(done)
        if done == 1 and self.engine.looks_ahead:
            for part in waiting.first():
                self._look_ahead(part)
        return done, most

    def _look_ahead(self, part: Part) -> None:
        following = announced(part, rule_names(self.engine.program))
        if following is not None:
            with suppress(TidelogError):  # what is wrong with it is said when its turn comes
                self.engine.look_ahead(following)

    def _apply_together(self, parts: Sequence[Part], number: int, at: int) -> tuple[int, bool]:
        """The first parts: versions that they share, in one commit that records their range.

        Says how many parts that were, and whether one after them was refused by the engine.

        A graph splits triples before they are facts. It takes the lines of all parts as if they were one.
        """
        started = time.perf_counter()
        if not isinstance(self.engine, Engine):
            self._apply(parts, number, at)
            return len(parts), False
        found, is_refused = list[Settled](), False
        if len(parts) > 1 and self._state.last_batch(_lines_in(number, at)) is None:
            found, is_refused = settle_together(self.engine, parts, stops=self._pipeline.on_bad == "fail")
        if not found:
            self._apply(parts[:1], number, at)
            return 1, is_refused
        for place, one in enumerate(found, at):
            self._reject(f"batch-{number}-{place}", one.rejects)
        first = number * PARTS + at
        self._keep(merged(found), number, range(first, first + len(found)), STREAM, started)
        return len(found), is_refused

    def _apply(self, parts: Sequence[Part], number: int, at: int) -> None:
        """Parts as one: one version, or several if its lines do not go together; all of them in one commit.

        Where a bad line stops the run, the lines before it are stored, with how many they are: these are left out when
        the part comes again. Where these may be others then, nothing of the part is stored.
        """
        started, stops, lines_in = time.perf_counter(), self._pipeline.on_bad == "fail", _lines_in(number, at)
        known = self._state.last_batch(lines_in) or 0
        lines = [line for part in parts for line in part.lines]
        settled = settle(self.engine, lines[known:], stops=stops)
        if settled.rejects and stops and all(part.is_ordered for part in parts):
            self._keep(settled, number, known + settled.done, lines_in, started)
        elif not settled.changes:
            settled.changes.append((self.engine.version + 1, self.engine.apply_update(Update()), 0))
        self._reject(f"batch-{number}-{at}", settled.rejects)
        first = number * PARTS + at
        self._keep(settled, number, range(first, first + len(parts)), STREAM, started)

    def _keep(self, settled: Settled, number: int, batch: int | range, source: str, started: float) -> None:
        """Store, publish and show what was applied."""
        if not settled.changes:
            return
        reach("batch-applied")
        feeds = [(version, feed_of(change, version, number)) for version, change, _ in settled.changes]
        self._store(feeds, batch, source)
        for version, change, lines in settled.changes:
            passed = time.perf_counter() - started if version == self.engine.version else change.stats.seconds
            self._tell(number, version, change, lines, passed)
            if self._watch is not None:
                self._watch(self.engine, change)
        for sink in self._relations:
            sink.publish(self.engine, time.monotonic())

    def _reject(self, part: str, rejects: list[Reject]) -> None:
        if rejects:
            self._rejects.take(part, rejects)
            self._status.tell("rejects", count=len(rejects), part=part)

    def _store(self, feeds: Sequence[Feed], batch: int | range | None, source: str = STREAM) -> None:
        """Make the present version durable, then public, with those that led to it since the last save."""
        for version, rows in feeds:
            if rows is None:
                self._outbox.put_whole(version, self._state.next_save)
            else:
                self._outbox.put(version, rows, self._state.next_save)
        reach("outbox-written")
        self.engine.save(self._state, batch=batch, source=source)
        reach("version-saved")
        for version, rows in feeds:
            self._publish(version, rows)
        self._forget()

    def _forget(self) -> None:
        """Let go of old versions now and then, so that a save does not take longer with every one that is kept."""
        kept = self._pipeline.keep_versions
        if kept is not None and self.engine.version % max(kept // 2, 1) == 0:
            self._state.forget_all_but(kept)

    def _publish(self, version: int, rows: pa.Table | None) -> None:
        with titled(self._spark, f"publish version {version}"):
            feed = whole_feed(self.engine, self._spark) if rows is None and self._changes else rows
            for sink in self._changes:
                sink.publish(version, feed)
        reach("version-published")
        self._outbox.done(version)

    def _tell(self, batch: int, version: int, change: Change, updates: int, seconds: float) -> None:
        self._status.tell(
            "batch",
            batch=batch,
            version=version,
            updates=updates,
            inserted=change.inserted.total,
            deleted=change.deleted.total,
            facts=_size(self.engine),
            seconds=seconds,
            maintenance=change.stats.seconds,
            strategy=strategies(change),
            without_value=_lacking(change.stats.without_value),
        )


def _lines_in(number: int, at: int) -> str:
    """The source under which the lines of a part are counted that stand before a bad one."""
    return f"{STREAM} {number}.{at} line"


def strategies(change: Change) -> str:
    """The strategies that found a change, in words; a change of explicit facts alone needs no strategy."""
    chosen = change.stats.strategies_used
    return "none needed" if chosen == (Auto.name,) else ", ".join(chosen)


def _lacking(found: Mapping[str, WithoutValue]) -> dict[str, dict[str, Any]]:
    """Instances without a value, as events tell them."""
    return {rule: asdict(lacking) for rule, lacking in found.items()}


def _size(engine: Kept) -> int:
    return sum(map(engine.size, engine.relations))
