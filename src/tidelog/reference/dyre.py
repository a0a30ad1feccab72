"""DYRE: Datalog interpretation as a circuit over streams of facts and rules.

What      : the three circuits of the paper; each takes a change of facts and a change of rules, both Z-sets, and
            answers with the change of the materialisation.
Idea      : rules are data. A rewrite waits at a prefix of some rule's body; three joins move it on, which the paper
            calls gatekeep (with the directions), product (with the facts) and ground (with the signals). Joins are
            bilinear, so every change of facts or rules passes through them as a change.
Source    : de Lima et al. 2024, Figure 1 (naive), Figure 2 (incremental), Figure 3 (indexed), equations (1)-(4).
Invariant : the sum of all answers is a set, and it is the least fixpoint of the rules over the facts (tests).
Departures: 1. Figure 1 has one clock for updates and rounds, which lets a dead cycle support itself after a deletion
               (`single_clock` shows it). The naive circuit starts its rounds afresh for every update.
            2. The rounds end when no loop carries a change *and* no earlier update has one in a later round; the first
               zero, as printed, is too early.
            3. The join called ground also takes Sigma_0, so that a body without atoms works. Negation and aggregation
               are not linear: they are incremental by definition (D . Q . I), over relations of lower strata
               (dyre_strata.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Protocol, TypeVar

from tidelog.language.terms import Rule
from tidelog.reference.dyre_rules import (
    EMPTY,
    JoinOrder,
    Partial,
    Prefix,
    Rewrite,
    Signal,
    consequences,
    directions,
    extend,
    grounded,
    join_orders,
    partial_of_fact,
    partial_of_rewrite,
    reads_facts,
    signal,
)
from tidelog.reference.evaluation import FactSet, GroundFact
from tidelog.reference.operators import (
    Nested,
    delay,
    differentiate,
    eliminate,
    incremental2,
    integrate,
    introduce,
    lift,
    lift2,
    nested_distinct,
    nested_join,
)
from tidelog.reference.streams import Feed, Knot, Stream
from tidelog.reference.zset import ZSet, toset

Facts = ZSet[GroundFact]
Rules = ZSet[Rule]
At = tuple[Prefix, Rewrite]
Ready = tuple[Rule, Rewrite]
Indexed = tuple[Partial, GroundFact]

A = TypeVar("A", bound=Hashable)

NO_FACTS: Facts = ZSet()
NO_RULES: Rules = ZSet()


class Circuit(Protocol):
    """A circuit that is fed one update at a time."""

    def step(self, facts: Facts, rules: Rules) -> Facts:
        """The change of the materialisation after a change of the explicit facts and of the rules."""
        ...


class NaiveCircuit:
    """Figure 1, with rounds of their own for every update: recompute, and answer with the difference."""

    def __init__(self) -> None:
        self._facts, self._rules = Feed(NO_FACTS), Feed(NO_RULES)
        model = lift2(_fixpoint)(integrate(self._rules), integrate(self._facts))
        self._change = differentiate(model)

    def step(self, facts: Facts, rules: Rules) -> Facts:
        """The change of the materialisation."""
        self._rules.append(rules)
        return self._change[self._facts.append(facts)]


def _fixpoint(rules: Rules, facts: Facts) -> Facts:
    """The loop of Figure 1: S[i] = distinct(E + T(rules, S[i - 1])), until nothing new comes."""
    rounds: Stream[Facts] = Stream(lambda i: toset(facts + consequences(rules, delay(rounds)[i])), NO_FACTS)
    i = 0
    while i == 0 or rounds[i] != rounds[i - 1]:
        i += 1
    return rounds[i]


def single_clock(facts: Stream[Facts], rules: Stream[Rules], moments: int) -> list[Facts]:
    """Figure 1 as printed, with one clock: right while nothing is deleted, wrong when a dead cycle supports itself."""
    known: Stream[Facts] = Stream(
        lambda t: toset(integrate(facts)[t] + consequences(integrate(rules)[t], delay(known)[t])), NO_FACTS
    )
    return known.prefix(moments)


class IncrementalCircuit:
    """Figure 2: rewrites and facts circulate in rounds, all operators work on changes."""

    def __init__(self) -> None:
        self._facts, self._rules = Feed(NO_FACTS), Feed(NO_RULES)
        self._rounds = 0
        self._wire()

    def _wire(self) -> None:
        moved, heads = Knot[ZSet[At]](ZSet()), Knot[Facts](ZSet())
        start: Nested[ZSet[At]] = lift(introduce)(Stream.of([ZSet.of([((), EMPTY)])], ZSet()))
        known = nested_distinct(lift(introduce)(self._facts) + lift(delay)(heads))
        waiting: Nested[ZSet[At]] = nested_join(  # gatekeep
            start + lift(delay)(moved), self._of_rules(directions), lambda at: at[0], lambda step: step[0], _advance
        )
        extended = nested_distinct(self._product(waiting, known))
        ready: Nested[ZSet[Ready]] = nested_join(  # ground, equation (3)
            start + extended, self._of_rules(signal), lambda at: at[0], lambda signalled: signalled[0], _signalled
        )
        moved.tie(extended)
        heads.tie(_ground(ready, known))
        self._moved, self._heads, self._known = moved, heads, known

    def _of_rules(self, part: Callable[[Rule], Iterator[A]]) -> Nested[ZSet[A]]:
        """What the circuit needs of the rules, introduced in the first round of the update that brings them."""

        def project(rules: Rules) -> ZSet[A]:
            return rules.project(part)

        return lift(introduce)(lift(project)(self._rules))

    def _product(self, waiting: Nested[ZSet[At]], known: Nested[Facts]) -> Nested[ZSet[At]]:
        """Equation (2): a rewrite that waits at an atom meets the facts of its relation."""
        return nested_join(waiting, known, lambda at: at[0][-1].relation, lambda fact: fact[0], _meet)

    def step(self, facts: Facts, rules: Rules) -> Facts:
        """The change of the materialisation: the sum over the rounds of this update."""
        now = self._facts.append(facts)
        self._rules.append(rules)
        i = 0
        while self._is_moving(now, i) or i < self._rounds:
            i += 1
        self._rounds = i  # from here on no update, this or an earlier one, has a change in any round
        return eliminate(self._known[now], i)

    def _is_moving(self, now: int, i: int) -> bool:
        """Whether a loop carries a change in a round of this update."""
        carried = 0
        for update in range(now + 1):  # earlier updates first, because later ones read what they have in this round
            carried = len(self._moved[update][i]) + len(self._heads[update][i]) + len(self._known[update][i])
        return carried > 0


class IndexedCircuit(IncrementalCircuit):
    """Figure 3: as Figure 2, but facts are met through an index on the positions that are known."""

    def _product(self, waiting: Nested[ZSet[At]], known: Nested[Facts]) -> Nested[ZSet[At]]:
        indexed: Nested[ZSet[Indexed]] = nested_join(  # index, equation (4)
            known, nested_distinct(self._of_rules(join_orders)), lambda fact: fact[0], lambda order: order[0], _index
        )
        return nested_join(waiting, indexed, lambda at: partial_of_rewrite(*at), lambda entry: entry[0], _meet_indexed)


def _advance(at: At, step: tuple[Prefix, Prefix]) -> Iterator[At]:
    yield step[1], at[1]


def _meet(at: At, fact: GroundFact) -> Iterator[At]:
    prefix, rewrite = at
    for longer in extend(rewrite, prefix[-1], fact):
        yield prefix, longer


def _index(fact: GroundFact, order: JoinOrder) -> Iterator[Indexed]:
    for partial in partial_of_fact(order, fact):
        yield partial, fact


def _meet_indexed(at: At, entry: Indexed) -> Iterator[At]:
    yield from _meet(at, entry[1])


def _signalled(at: At, signalled: Signal) -> Iterator[Ready]:
    yield signalled[1], at[1]


def _ground(ready: Nested[ZSet[Ready]], known: Nested[Facts]) -> Nested[Facts]:
    """Heads: by projection where that is linear, by definition where negation or aggregation reads the facts."""
    plain = lift(lift(_plain_heads))(ready)
    return plain + incremental2(lift2(incremental2(lift2(_guarded_heads))))(ready, known)


def _plain_heads(ready: ZSet[Ready]) -> Facts:
    return ready.where(lambda one: not reads_facts(one[0])).project(lambda one: grounded(*one, FactSet()))


def _guarded_heads(ready: ZSet[Ready], known: Facts) -> Facts:
    guarded = ready.where(lambda one: reads_facts(one[0]))
    view = FactSet(known) if guarded else FactSet()
    return guarded.project(lambda one: grounded(*one, view))
