"""The durable engine of a pipeline.

What      : `DurableEngine` keeps an engine and its state directory together: it opens or begins the state, applies
            each batch once, and makes the outcome durable before it answers.
Idea      : streams deliver a batch at least once. The batch is recorded in the same commit as its facts, so a batch
            that comes again is recognised and changes nothing: together that is exactly once.
Invariant : a change that was returned is durable. A batch whose save failed is neither lost nor doubled: when it comes
            again, in this process or in the next, it is saved but not applied twice. Rules that updates brought
            survive a restart; only what the user changed in the rule file since it was last handed over is applied, as
            an incremental rule change.
Never     : nothing is read from a source and nothing published here.
"""

from __future__ import annotations

from os import PathLike
from types import TracebackType
from typing import Any, Self

from tidelog.changes.change import Change
from tidelog.changes.update import Update
from tidelog.engine import Engine
from tidelog.errors import StateError
from tidelog.language.parser import parse
from tidelog.language.printer import print_program, print_rule
from tidelog.language.terms import Program
from tidelog.limits import Limits
from tidelog.state.log import SOURCE, StateLog
from tidelog.state.programs import ProgramChange, program_change

FORGET_EVERY = 200
"""After so many versions those that need not be kept are forgotten."""


class DurableEngine:
    """An engine whose every acknowledged update survives the death of the process.

    While `is_new`, nothing is stored: load the first facts with `engine.apply`, then `commit`. Otherwise the engine is
    as it was, and `rule_change` is the change that a changed rule file made, None if the file is the same.
    With `keep_versions` about so many of the last versions can be read later, else all of them.
    """

    def __init__(
        self,
        directory: str | PathLike[str],
        program: str | Program,
        *,
        strategy: str | None = None,
        backend: str = "local",
        spark: Any = None,  # noqa: ANN401 - a SparkSession, as in Engine
        limits: Limits | None = None,
        source: str = SOURCE,
        keep_versions: int | None = None,
    ) -> None:
        given = parse(program) if isinstance(program, str) else program
        self.source, self.keep_versions = source, keep_versions
        self.rule_change: Change | None = None
        self._waiting: tuple[int | None, Change] | None = None
        self.log = StateLog(directory)
        options = {"backend": backend, "spark": spark, "limits": limits}
        try:
            self.is_new = self.log.is_empty
            if self.is_new:
                self.engine = Engine(given, strategy=strategy or "auto", **options)
                self.log.give(print_program(given))
            else:
                self.engine = Engine.open(self.log, strategy=strategy, **options)
                self._renew(given)
        except BaseException:
            self.log.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give the directory back; what was not committed is forgotten."""
        self.log.close()

    @property
    def last_batch(self) -> int | None:
        """The last batch that is part of the state."""
        return self.log.last_batch(self.source)

    def has_batch(self, batch: int) -> bool:
        """Whether a batch is part of the state."""
        return self.log.has_batch(batch, self.source)

    def apply(self, update: Update, batch: int | None = None) -> Change | None:
        """Apply an update and make it durable; None if its batch is part of the state already."""
        if batch is not None and self.has_batch(batch):
            return None
        if batch is None or self._waiting is None or self._waiting[0] != batch:
            self._waiting = batch, self.engine.apply_update(update)
        change = self._waiting[1]
        self.commit(batch)
        return change

    def commit(self, batch: int | None = None) -> None:
        """Make everything durable that the engine has done since the last commit, and the batch with it."""
        self.engine.save(self.log, batch=batch, source=self.source)
        self.is_new = False
        self._waiting = None
        if self.keep_versions is not None and self.engine.version % FORGET_EVERY == 0:
            self.log.forget_all_but(self.keep_versions)

    def _renew(self, given: Program) -> None:
        """Apply what the user changed in the rules since they were last handed over."""
        before = self.log.given
        if before is None:
            raise StateError.of(
                "E605",
                f"{self.log.directory} was not begun by a pipeline: nobody knows which rules it was given",
                remedy="use the state directory of the pipeline, or an empty one",
            )
        wanted = program_change(parse(before), given)
        change = self._possible(wanted)
        if wanted:
            self.log.give(print_program(given))
        if change:
            self.rule_change = self.engine.apply(None, change.delete, change.add_rules, change.remove_rules)
        if wanted:
            self.commit()

    def _possible(self, change: ProgramChange) -> ProgramChange:
        """A rule change without the rules that an update has removed in the meantime."""
        present = {print_rule(rule) for rule in self.engine.program.rules}
        removed = tuple(rule for rule in change.remove_rules if rule in present)
        return ProgramChange(change.add_rules, removed, change.delete)
