"""Whole stages, derived where their facts are.

What      : the offer of maintenance/bulk.py: a stage's NOW from its explicit facts and what is NOW below it.
Idea      : the compiled kernels in Arrow tasks (fixpoint.py) if they can do all rules of the stage, else rounds of
            DataFrame joins (large/rounds.py).
            The facts of relations that had none are written into files at once, by the job that derives them.
Invariant : afterwards every relation of the stage is large, its NOW is new and its OLD as before.
Never     : no strategy, and no fact on the driver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tidelog.backends.spark.bulk import fixpoint as bulk
from tidelog.backends.spark.bulk.defined import is_empty
from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.driver.supply import DriverSupply
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.segments import Segments
from tidelog.backends.spark.large.large_relations import LargeRelations
from tidelog.backends.spark.large.rounds import Fixpoint
from tidelog.backends.spark.large.working import Working
from tidelog.backends.spark.values.constants import Constants
from tidelog.language.terms import Atom, Negation, Value, constants
from tidelog.limits import Limits
from tidelog.maintenance.bulk import TooLargeError
from tidelog.planning.lowered import LoweredRule, Stage
from tidelog.planning.views import ANY, NOW, Mark, View

_EXPLICIT = View(Mark.EXPLICIT)


class WholeStages:
    """Derives stages as a whole, for one store."""

    def __init__(
        self,
        jobs: Jobs,
        constants: Constants,
        large: LargeRelations,
        supply: DriverSupply,
        files: FileStore | None,
        arity: Callable[[str], int | None],
        derivations: Counter[tuple[str, str]],
    ) -> None:
        self._jobs, self._constants, self._large, self._supply = jobs, constants, large, supply
        self._files, self._arity, self._derivations = files, arity, derivations
        self.limits = Limits()
        self.stats: list[bulk.BulkStats] = []
        """What the compiled kernels derived in bulk since the update began, stage by stage."""
        self.is_declined = False
        """Whether nothing is to be derived here: a deletion goes through the driver in portions, or not at all."""

    def is_large(self, relations: Iterable[str]) -> bool:
        """Whether a large change goes through one of the relations."""
        return any(name in self._large for name in relations)

    def rebuild(self, stage: Stage, ask_budget: Callable[[], None]) -> int:
        """Derive the stage's NOW in bulk; the number of its facts. `ask_budget` is called once per round."""
        if self.is_declined:
            raise TooLargeError.about(stage.name, self._supply.capacity.facts, "raise spark.tidelog.driver.facts")
        self._constants.dictionary.encode([value for rule in stage.rules for value in _constants(rule)])
        self._constants.learn()
        arities = {rule.head.relation: len(rule.head.terms) for rule in stage.rules}
        workings = {}
        for name in sorted(stage.relations):  # one that has lost its last rule is known from its facts
            arity = arities[name] if name in arities else self._arity(name)
            workings[name] = self._large.enlarged(name, arity or 0)
        if is_empty(stage, self._tags) and not any(working.count(ANY) != 0 for working in workings.values()):
            return 0
        facts, kept = self._constants.settled(lambda: self._derived(stage, workings, ask_budget))
        for name, working in workings.items():
            working.renew(facts[name])
        frames.release(kept)
        return sum(working.tally()[NOW] for working in workings.values())

    def _derived(
        self, stage: Stage, workings: Mapping[str, Working], ask_budget: Callable[[], None]
    ) -> tuple[Mapping[str, DataFrame | Segments], DataFrame | None]:
        """All facts of a stage, and what is to be released when they have been taken over.

        By the compiled kernels in Arrow tasks if they can, else by joins in rounds.
        """
        below = {
            atom.relation: self._large.now(atom.relation, len(atom.terms))
            for rule in stage.rules
            for atom in _atoms(rule)
            if atom.relation not in stage.relations
        }
        explicit = {name: working.facts(_EXPLICIT) for name, working in workings.items()}
        files = self._files if all(working.is_fresh for working in workings.values()) else None
        found = self._by_kernels(stage, below, explicit, workings, files, ask_budget) if stage.rules else None
        if found is not None:
            self.stats.append(found.stats)
            for key, number in found.stats.derivations.items():
                self._derivations[key, "evaluate"] += number
            return found.facts, found.kept
        estimates = self._supply.estimates
        assert estimates is not None
        facts, kept = Fixpoint(self._jobs, self._constants, stage, below, estimates).run(explicit, ask_budget)
        if files is None:
            return facts, kept
        try:
            return {name: self._written(files, name, facts[name], explicit[name]) for name in workings}, kept
        except BaseException:
            frames.release(kept)
            raise

    def _tags(self, relation: str) -> Sequence[int] | None:
        """What kinds of constants the columns of a relation hold, as far as its files tell."""
        stored = self._large.files_now(relation)
        return None if stored is None else stored.tags

    def _by_kernels(
        self,
        stage: Stage,
        below: Mapping[str, DataFrame],
        explicit: Mapping[str, DataFrame],
        workings: Mapping[str, Working],
        files: FileStore | None,
        ask_budget: Callable[[], None],
    ) -> bulk.BulkResult | None:
        sizes = {name: self._large.size_now(name) for name in below}
        counts = {name: working.count(_EXPLICIT) for name, working in workings.items()}
        stored = {name: self._large.files_now(name) for name in below}
        return bulk.fixpoint(
            self._jobs,
            stage,
            below,
            explicit,
            partitions=int(self._jobs.spark.conf.get("spark.sql.shuffle.partitions") or 2),
            sizes={**sizes, **{name: count for name, count in counts.items() if count is not None}},
            stored={name: segments for name, segments in stored.items() if segments is not None},
            limits=self.limits,
            options=bulk.BulkOptions.of(self._jobs.spark),
            naming=self._constants.naming,
            files=files,
            on_round=lambda *_: ask_budget(),
        )

    def _written(self, files: FileStore, name: str, facts: DataFrame, explicit: DataFrame) -> Segments:
        """All facts of a relation in files; explicit ones may be among the others, too."""
        flagged = [frame.withColumn("explicit", F.lit(flag)) for frame, flag in ((explicit, True), (facts, False))]
        columns = [*explicit.columns, "explicit"]
        both = flagged[0].unionAll(flagged[1].select(*columns))
        return files.relation(name, both, len(explicit.columns))


def _atoms(rule: LoweredRule) -> Iterator[Atom]:
    for literal in rule.body:
        if isinstance(literal, Atom):
            yield literal
        elif isinstance(literal, Negation):
            yield literal.atom


def _constants(rule: LoweredRule) -> Iterator[Value]:
    """The constants that a rule names; facts derived from it may hold them."""
    for part in (rule.head, *rule.body):
        yield from (constant.value for constant in constants(part))
