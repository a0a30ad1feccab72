"""Recursion through `min` and `max`.

Idea       : the best value of a group is a fact that is replaced when a better one is derived. Insertion goes on round
             by round until no value gets better; what stood on replaced values is then taken away, unless it is derived
             from those that stay. A deletion first takes away every best value that may have lost its support, and
             everything that stands on it; then the best of what is left is where insertion begins.
Source     : the fixpoint is that of Ross, Sagiv 1992; deletion is DRed's, with values (compare Ramalingam, Reps 1996).
Invariant  : afterwards every best value is the best of its group's members, and every fact follows from the best
             values: the least fixpoint in the order of values. That needs monotone rules (analysis/optima.py). Where
             a better value has no sum, because it overflows, groups fall back on their other members.
Cost       : grows with the instances that contain a value which is replaced, taken away or new. Where that is much, the
             store is asked for the values that all this comes to (`BestValues`), and only these are derived.
Departures : a deletion follows best values only if the component is strict, because then a best value stands on best
             values. In another component, and when rules of it change, everything is derived anew.
"""

from __future__ import annotations

from math import inf

from tidelog.errors import BudgetError, EvaluationError
from tidelog.maintenance.dred import DRed
from tidelog.maintenance.rounds import sweep
from tidelog.maintenance.seminaive import ABSENT, DRIVING, FRESH, PASSING, first_round
from tidelog.maintenance.store import F, Passing
from tidelog.maintenance.task import Strategy, Task
from tidelog.maintenance.versions import GAINED_ABOVE, NEW_VERSION, UNCHANGED
from tidelog.planning.views import NOW, Mark, Matching, View

REPLACED = Mark.DISPROVED
"""A best value that a better one has replaced; it is NOW until what stands on it is taken away."""
_CURRENT = View(Mark.NOW, REPLACED)
_GAINED = Matching(View(Mark.NOW, REPLACED | Mark.DELTA), _CURRENT, (NOW,), (NOW,), lower_before=NOW, lower_after=NOW)
_STOOD = Matching(View(Mark.NOW, Mark.DELTA), NOW, (NOW,), (NOW,), lower_before=NOW, lower_after=NOW)
_FALLING = View(Mark.NOW, Mark.EXPLICIT | Mark.DELTA | Mark.NEXT)
_GOING = Passing(found=Mark.NEXT, add=Mark.DELTA, remove=Mark.NEXT, after=Mark.NOW | Mark.DELTA)
_NOT_DRIVEN = View(Mark.DELTA)
_ROUND, _BELOW = 32, 16
"""To find best values from the best on (`improved`) reads everything below the stage. It takes as long as rounds that
are driven by one in 16 of these facts, if a round costs as much as 32 more (`python -m benchmarks.roads`)."""
_SLACK = 64
"""Rounds that a component may take beyond what its groups explain."""


class Optima(Strategy):
    """Follows best values; used for every strategy that a user chooses."""

    name = "optima"

    def __init__(self, *, anew: bool = False) -> None:
        self._anew = anew

    def maintain(self, task: Task[F]) -> None:
        """Take away what may not hold, improve until nothing gets better, and clear up."""
        store, linked = task.store, task.linked
        if self._anew or (linked.loses and not task.stage.is_strict):
            (touched, found), lost = self._start_over(task), store.nothing()
        else:
            touched, found, lost = self._go_on(task, linked)
        for _ in range(_SLACK):
            replaced = self._improve(task, touched, found, lost)
            touched = self._clear_up(task, replaced)
            store.mark(replaced, remove=REPLACED)
            found = lost = store.nothing()
            if not touched:
                break
        else:
            raise BudgetError.of(
                "E409",
                f"values of {task.stage.name} come and go for ever: better ones overflow, and worse ones lead to them",
                remedy="keep numbers small",
            )

    def _start_over(self, task: Task[F]) -> tuple[F, F]:
        """Keep only the explicit facts of the stage; they, and what follows from them in one round."""
        store, relations = task.store, task.stage.relations
        store.mark(store.select(relations, NOW), remove=Mark.NOW)
        explicit = store.select(relations, View(Mark.EXPLICIT))
        store.mark(explicit, add=Mark.NOW)
        task.round()
        return explicit, store.evaluate(task.stage, task.stage.rules, NEW_VERSION, FRESH, Mark.NEXT, "evaluate")

    def _go_on(self, task: Task[F], linked: Task[F]) -> tuple[F, F, F]:
        """From the last version on: the facts that went or came at once, what follows from these in one round, and the
        best values that went.
        """
        store = task.store
        gone = DRed().overdelete(linked) if linked.loses else store.nothing()
        derived = store.of(gone, {rule.head.relation for rule in task.stage.rules})  # best values have no rule
        rederived = store.supported(task.stage, derived, UNCHANGED, "rederive") if derived else derived
        task.counters.add("overdeleted", len(gone))
        task.counters.add("rederived", len(rederived))
        seeds = store.restrict(store.union([rederived, task.asserted]), ABSENT)
        store.mark(seeds, add=DRIVING)
        found = first_round(task, seeds, Mark.NEXT)
        store.mark(seeds, remove=Mark.DELTA)
        return store.union([gone, seeds]), found, store.of(gone, [group.relation for group in task.stage.groups])

    def _improve(self, task: Task[F], touched: F, found: F, lost: F) -> F:
        """Derive round by round until no value gets better; the values that were replaced."""
        store, nothing = task.store, task.store.nothing()
        replaced, rounds, spent, price = [nothing], 0, 0, _price(task)
        region = lost if 1 < len(lost) < price < inf else nothing
        groups = sum(store.size(group.relation) for group in task.stage.groups)
        most = 1 if task.stage.is_strict else 2  # a bound such as min(c, 3) may help a group once more
        has_steps = task.scheduled.value_steps is not None  # then every way from a best value to a member ends
        while True:
            store.mark(found, add=DRIVING, remove=Mark.NEXT)
            better, worse = self._regroup(task, store.union([touched, found]))
            replaced.append(worse)
            is_settled = False
            if better and (region or spent >= price):
                walked = self._best_first(task, better, region)
                if walked is not None:
                    is_settled = bool(region) and not (found or any(task.gaining) or task.asserted)
                    better, worse = walked
                    replaced.append(worse)
                region, price = nothing, price if region else inf
            driving, touched = store.union([found, better], disjoint=True), nothing
            if not driving:
                return store.union(replaced)
            groups, rounds = groups + len(better) - len(worse), rounds + 1
            spent += _ROUND + len(driving)
            if task.stage.is_bounded and rounds > _SLACK + most * (groups + 1) * len(task.stage.relations):
                raise BudgetError.of(
                    "E409",
                    f"values of {task.stage.name} get better for ever: a cycle makes each of them better",
                    remedy="let no cycle have a negative weight, or a positive one where max is taken",
                )
            if has_steps:
                touched, found = sweep(task, task.stage, driving, _GAINED, FRESH, PASSING, "insert"), nothing
                task.counters.add("inserted", len(driving) + len(touched))
                if is_settled:  # no value elsewhere gets better by a deletion
                    return store.union(replaced)
                continue
            task.round(len(driving))
            task.counters.add("inserted", len(driving))
            found = store.derive(task.stage, driving, nothing, _GAINED, FRESH, Mark.NEXT, "insert")
            store.mark(driving, remove=Mark.DELTA)

    def _regroup(self, task: Task[F], changed: F) -> tuple[F, F]:
        """The best values that come and that are replaced, given members that came or went."""
        store = task.store
        came, went = [store.nothing()], [store.nothing()]
        for group in task.stage.groups:
            members = store.of(changed, [group.body_relation])
            if not members:
                continue
            better, worse = store.regroup(group, members, "group", against=_CURRENT)
            if store.of(better, [group.lacking]):
                raise EvaluationError.of(
                    "E503",
                    f"{group.function} in {group.source.head.relation} meets values that have no order",
                    remedy="compare numbers with numbers and symbols with symbols",
                )
            store.mark(better, add=DRIVING, remove=REPLACED)
            store.mark(worse, add=REPLACED)
            came.append(better)
            went.append(worse)
        return store.union(came), store.union(went)

    def _best_first(self, task: Task[F], better: F, region: F) -> tuple[F, F] | None:
        """The best values that the better ones lead to, these included, and what they replace: in the groups of the
        region, or everywhere. Of better ones that are replaced at once, nothing has been derived yet: they just go.
        """
        store, steps, offer = task.store, task.scheduled.value_steps, task.store.best_values
        found = None if steps is None or offer is None else offer.improved(steps, better, _CURRENT, region)
        if found is None:
            return None
        came, worse = found
        store.mark(store.restrict(worse, _NOT_DRIVEN), remove=DRIVING)
        worse = store.restrict(worse, NOW)
        store.mark(worse, add=REPLACED)
        store.mark(came, add=DRIVING)
        return store.restrict(store.union([better, came]), _CURRENT), worse

    def _clear_up(self, task: Task[F], replaced: F) -> F:
        """Take away what stood on replaced values only; members of groups whose best value has lost its last one."""
        store = task.store
        gone = sweep(task, task.stage, replaced, _STOOD, _FALLING, _GOING, "overdelete")
        if not gone:
            return gone
        stays = store.supported(task.stage, gone, NEW_VERSION, "rederive")
        task.counters.add("overdeleted", len(gone))
        task.counters.add("rederived", len(stays))
        sweep(task, task.stage, stays, GAINED_ABOVE, FRESH, PASSING, "rederive")
        lost = store.of(store.restrict(gone, ABSENT), {group.body_relation for group in task.stage.groups})
        return lost if lost and self._has_lost_a_best(task, lost) else store.nothing()

    def _has_lost_a_best(self, task: Task[F], lost: F) -> bool:
        """Whether a best value that lost members gave has no member left; then no better one has come for its group."""
        store, links = task.store, task.stage.links
        best = store.derive(links, lost, store.nothing(), _STOOD, _CURRENT, Mark.CHECKED, "overdelete")
        store.mark(best, remove=Mark.CHECKED)
        return bool(best) and len(store.supported(links, best, NEW_VERSION, "rederive")) < len(best)


def _price(task: Task[F]) -> float:
    """What rounds may cost before the store is asked for best values.

    No limit if it cannot find them, nothing if no group had a value, else a sixteenth of the facts read.
    """
    if task.scheduled.value_steps is None or task.store.best_values is None:
        return inf
    is_first = not any(task.store.size(group.relation) for group in task.stage.groups)
    return 0 if is_first else sum(map(task.store.size, task.scheduled.positive)) / _BELOW
