"""The narrow waist: what a strategy may ask of a backend.

What      : a protocol of coarse calls, each over all the rules of a stage at once; a strategy is a schedule of such
            calls and knows nothing else: no array, no DataFrame, no file. What only some stores can do is an offer
            that a store may decline: `several_rounds`, `best_values`, `bulk` and `at_once` may answer None.
Idea      : docs/decisions/0004; facts are referred to by opaque `Facts`, sets of facts are marks (planning/views.py).
Invariant : one call is at most one Spark job, or a handful of compiled loops; its cost follows what it touches.
Contract  : 1. `derive` finds the head of every rule instance with a driving fact, and no instance twice; `count` finds
               every instance exactly once (asserted by tests that count). Of instances that differ in nothing that the
               head keeps, `derive` and `evaluate` may leave out all but one.
            2. marks change only through `mark` and the `add` of `derive`, `evaluate` and `expand`; the store journals
               every fact whose marks change, so that `commit` and `rollback` cost what the transaction touched.
            3. facts found by a call are distinct. A call does not match the marks that it gives, unless the views of
               its matching name them.
            4. `commit` makes OLD = NOW and WAS_EXPLICIT = EXPLICIT and forgets facts that are not NOW; `rollback` makes
               NOW = OLD and EXPLICIT = WAS_EXPLICIT and restores counts and ranks. Both take every other mark except
               FORESEEN, which stays until look-ahead takes it (maintenance/marking.py). `Facts` stay valid until a
               `commit` that forgets some. (Asserted for every store: tests/maintenance/test_contract.py.)
            5. `supported` and `expand` try a fact's instances in the order of the stage's rules, and body facts in the
               order in which they were stored: what was derived early has short proofs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tidelog.maintenance.prices import Prices
from tidelog.planning.lowered import GroupRule, LoweredRule, Stage
from tidelog.planning.value_steps import ValueSteps
from tidelog.planning.views import NO_MARKS, OLD, Mark, Matching, View


class Facts(Protocol):
    """An opaque set of stored facts, of any relations. Its length is its number of facts."""

    def __len__(self) -> int:
        """The number of facts."""

    def __bool__(self) -> bool:
        """Whether there is any fact."""


F = TypeVar("F", bound=Facts)


@dataclass(frozen=True, slots=True)
class Passing:
    """The marks of facts that are found in one round and drive the next."""

    found: Mark
    """What a fact gets when it is found."""
    add: Mark
    remove: Mark
    """The marks that a fact gets and loses when it begins to drive."""
    after: Mark
    """The marks that a fact loses when it has driven."""
    numbers: tuple[int, int, int, int] = field(init=False, repr=False, compare=False)
    """The four fields as plain numbers, because every call of a store reads them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", (int(self.found), int(self.add), int(self.remove), int(self.after)))


class BulkStore(Protocol):
    """What derives stages as a whole, where their facts are (bulk.py)."""

    def is_large(self, relations: Iterable[str]) -> bool:
        """Whether a large change goes through one of the relations in this transaction."""

    def rebuild(self, stage: Stage, ask_budget: Callable[[], None]) -> int:
        """Derive the stage's NOW from its explicit facts and what is NOW below; the number of its facts.

        `ask_budget` is called once per round.
        """


AT_ONCE = "at once"
"""The phase of derivations that were not made one by one: the instances of the rules of a stage derived at once."""


class StagesAtOnce(Protocol):
    """What derives whole stages of some shapes faster than rule by rule (at_once.py)."""

    def price(self, stage: Stage) -> float | None:
        """What it is expected to cost, in derivations; None if the stage has no such shape, or was never derived so."""

    def derive(self, stage: Stage, ask_round: Callable[[], None]) -> float | None:
        """Bring the stage's NOW to the fixpoint over its explicit facts and what is NOW below, whatever it was before.

        The answer is what that cost. `ask_round` is called once per round. None if the store would rather be asked rule
        by rule; then nothing has been changed. Facts are stored in the order of the rounds that find them (clause 5).
        """

    def count(self, stage: Stage, ask_round: Callable[[], None]) -> float | None:
        """As `derive`, for a stage that is counted and has neither counts nor ranks yet: afterwards it has both."""


class BestValues(Protocol[F]):
    """What finds best values of a recursion through `min` or `max` step by step, without a round for every step.

    The call may be declined with None: then nothing was changed, and rounds have to do it.
    """

    def improved(self, steps: ValueSteps, better: F, current: View, within: F) -> tuple[F, F] | None:
        """What best values come to, given those that are new: those that come, and those in the view `current` that
        they replace. Each that comes follows by steps from one of the `better` ones, which are in the view, too. Both
        results carry no new marks. If there are facts in `within`, only their groups are looked at, none of which has a
        value in the view unless it is one of the better ones.
        """


class Store(Protocol[F]):
    """What a backend offers to strategies."""

    derivations: Counter[tuple[str, str]]
    """How many instances each rule (by key) had in each phase, since the store was made."""

    @property
    def prices(self) -> Prices:
        """What work costs here."""

    @property
    def journeys(self) -> int:
        """How often facts were brought from elsewhere since the update began; 0 where all facts are at hand."""

    @property
    def bulk(self) -> BulkStore | None:
        """What derives whole stages at once; None where nothing is too large."""

    @property
    def at_once(self) -> StagesAtOnce | None:
        """What derives stages of some shapes at once; None where nothing does."""

    @property
    def best_values(self) -> BestValues[F] | None:
        """What finds best values without rounds; None where nothing does."""

    # -- transactions ----------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """End the transaction: what is NOW becomes OLD."""

    def rollback(self) -> None:
        """Undo everything since the last `commit`."""

    # -- sets of facts ---------------------------------------------------------------------------------------------

    def nothing(self) -> F:
        """The empty set."""

    def union(self, parts: Iterable[F], *, disjoint: bool = False) -> F:
        """The union of sets; `disjoint` tells that no fact is in two of them."""

    def of(self, facts: F, relations: Iterable[str]) -> F:
        """The facts of the given relations."""

    def restrict(self, facts: F, view: View) -> F:
        """The given facts that are in the view."""

    def select(self, relations: Iterable[str], view: View) -> F:
        """Every stored fact of the relations that is in the view: a pass over the relations, for bulk work only."""

    def touched(self, relations: Iterable[str], view: View) -> F:
        """The facts journalled in this transaction that are in the view: costs what the transaction touched."""

    def met(self, relations: frozenset[str]) -> list[str]:
        """Those of the relations that this transaction may have touched, in the order of their names."""

    def mark(self, facts: F, add: Mark = NO_MARKS, remove: Mark = NO_MARKS) -> None:
        """Give and take marks."""

    def bring_back(self, relations: frozenset[str]) -> None:
        """Let the facts of the relations be those of OLD again, without marks that a strategy has left."""

    def size(self, relation: str) -> int:
        """About how many facts the relation had in the materialisation when the transaction began, for estimates."""

    # -- rules -----------------------------------------------------------------------------------------------------

    def derive(
        self,
        stage: Stage,
        driving: F,
        blocking: F,
        matching: Matching,
        heads: View,
        add: Mark,
        phase: str,
    ) -> F:
        """The heads of the stage's rule instances in which a driving fact matches a positive atom, or a blocking fact
        matches a negated one, the other literals are matched as `matching` says, and the head is in the view `heads`.

        The literal driven by a blocking fact must itself hold (its own absence is tested as for a literal after it), so
        the caller chooses absence views of the version in which the instance exists. Found heads get the marks `add`;
        `heads` should exclude facts that carry them. A head that is not stored yet counts as a fact without marks.
        Only relations below the stage occur in negated atoms, so blocking facts never come from the stage.
        """

    def several_rounds(
        self, stage: Stage, driving: F, matching: Matching, heads: View, passing: Passing, phase: str
    ) -> tuple[F, F, int] | None:
        """Several rounds of `derive` in one call: all facts found, those that drive the next round, and the number of
        rounds. None if the store would rather be asked for one round at a time; then nothing was derived.

        Facts, marks, derivations and rounds are those of calling `derive` for each round (rounds.py).
        """

    def evaluate(
        self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, heads: View, add: Mark, phase: str
    ) -> F:
        """As `derive`, over all instances of the given rules of the stage: first evaluation, rules added or removed."""

    def supported(self, stage: Stage, facts: F, matching: Matching, phase: str) -> F:
        """Those of the given facts that are the head of at least one instance; stops at the first for each fact."""

    def expand(
        self, stage: Stage, facts: F, matching: Matching, bodies: View, add: Mark, limit: int, phase: str
    ) -> tuple[F, F]:
        """The stage's own body facts, in the view `bodies`, of at most about `limit` instances per given head.

        They get the marks `add`. Second result: the given facts whose instances have all been looked at.
        """

    # -- counts: how many derivations a fact has, by round (maintenance/counting.py) ---------------------------------
    #
    # A fact has a rank: the round in which it is first derived. Explicit facts have rank 0, absent facts have no rank.
    # For every round it has a count: the number of instances in that round of which it is the head. An instance
    # belongs to the round after the greatest rank of its body facts that are of the stage, or to round 1 if no body
    # fact is. An array store keeps the rank as a column, and the counts as a list of (round, count) per fact, ordered
    # by round; most lists have one entry.

    def is_counted(self, relations: frozenset[str]) -> bool:
        """Whether the counts of these relations, as one stage, are kept and true."""

    def start_counting(self, relations: frozenset[str]) -> None:
        """Keep counts of these relations as one stage, from no counts and no ranks on."""

    def stop_counting(self, relations: Iterable[str]) -> None:
        """The counts of these relations are no longer true, nor are those of a stage that shares one of them.

        Rewrites that were counted with them are NOW no longer. What is kept about the groups of a rule that derives one
        of them is no longer true either.
        """

    def carry_counts(self, before: frozenset[str], after: frozenset[str]) -> None:
        """What is counted as one stage is from now on counted as another. The relations in which the two differ hold
        no facts that are NOW, and are in no other stage that is counted.
        """

    @property
    def keeps_rewrites(self) -> bool:
        """Whether rewrites (planning/rewrites.py) may be kept as facts of the stage that they belong to."""

    def count(self, stage: Stage, driving: F, blocking: F, matching: Matching, sign: int, phase: str) -> F:
        """As `derive`, but adds `sign` to the head's count in the instance's round, per instance; the heads touched.

        Every head counts, whatever its marks; ranks are read as they are now. Heads whose first round cannot have
        changed by this may be left out.
        """

    def count_all(self, stage: Stage, rules: Sequence[LoweredRule], matching: Matching, sign: int, phase: str) -> F:
        """As `evaluate`, but counting."""

    def due(self, facts: F) -> tuple[int, F, F, F]:
        """Which facts have to change their rank, and in which round first.

        A fact is due if its rank is not the first round in which it has a count (0 if it is explicit; no rank if it has
        no count). The result: the least round that a due fact leaves or enters, the facts that leave it, the facts that
        enter it, and the other due facts.
        """

    def rank(self, facts: F, round_number: int | None) -> None:
        """Give the facts a rank; with None take it away."""

    # -- aggregates --------------------------------------------------------------------------------------------------

    def regroup(self, rule: GroupRule, changed: F, phase: str, against: View = OLD) -> tuple[F, F]:
        """The aggregate facts to insert and to delete, given the body facts that changed: touches only their groups.

        Every body fact of these groups that is in one of the views OLD and NOW only is among the changed ones, so that
        a store may keep running values of groups. A later call in the same transaction is preceded by `stop_counting`.
        Both results hold facts of the rule's own relation and of that of its groups without a value.
        The body relation is read in the view NOW; results are compared with the aggregate facts in the view OLD.
        Both results carry no new marks.
        With another view in `against` results are compared with the aggregate facts in that view, any number of times.
        """
