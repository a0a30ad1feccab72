"""The DYRE circuits as maintenance algorithms.

Idea       : a chain of circuits, one per stratum. What a circuit knows of facts and rules is its input so far; an
             update feeds it the difference to what it should know. A positive program is one stratum and one circuit,
             and a rule that moves to another stratum is -1 here and +1 there.
Source     : de Lima et al. 2024 leave negation open (section 6); the chain is ours.
Invariant  : the accumulated input and output of a circuit are sets.
Cost       : grows with the changes in every round, and with everything that has ever changed for memory.
Departures : after a refused update the circuits start afresh, because a stream cannot take a value back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tidelog.language.terms import Program, Rule
from tidelog.reference.algorithm import Algorithm
from tidelog.reference.dyre import Circuit, IncrementalCircuit, IndexedCircuit, NaiveCircuit
from tidelog.reference.evaluation import GroundFact
from tidelog.reference.stratified import Step
from tidelog.reference.stratum_input import stratum_input
from tidelog.reference.zset import ZSet


@dataclass
class Stage:
    """A circuit with the sums of what it was fed and what it answered."""

    circuit: Circuit
    facts: ZSet[GroundFact] = field(default_factory=ZSet)
    rules: ZSet[Rule] = field(default_factory=ZSet)
    known: ZSet[GroundFact] = field(default_factory=ZSet)

    def become(self, facts: Iterable[GroundFact], rules: Iterable[Rule]) -> None:
        """Feed the difference to the given facts and rules."""
        facts_change, rules_change = ZSet.of(facts) - self.facts, ZSet.of(rules) - self.rules
        self.known = self.known + self.circuit.step(facts_change, rules_change)
        self.facts, self.rules = self.facts + facts_change, self.rules + rules_change


class Dyre(Algorithm):
    """The incremental circuit (Figure 2)."""

    circuit: Callable[[], Circuit] = IncrementalCircuit

    def __init__(self, program: Program) -> None:
        self.stages: list[Stage] = []
        super().__init__(program)

    def restore(self, bookkeeping: object) -> None:  # noqa: ARG002 (nothing of the streams can be taken back)
        """Forget the circuits: they have seen an update that is refused."""
        self.stages = []

    def maintain(self, step: Step) -> None:
        """Feed the stratum's circuit and take over what it knows."""
        if step.level == len(self.stages):
            self.stages.append(Stage(type(self).circuit()))
        stage = self.stages[step.level]
        given, own = stratum_input(step)
        stage.become(given, step.rules)
        step.present.difference_update([fact for fact in step.present if fact[0] in own and fact not in stage.known])
        step.present.update(fact for fact in stage.known if fact[0] in own)


class DyreNaive(Dyre):
    """The naive circuit (Figure 1)."""

    circuit = NaiveCircuit


class DyreIndexed(Dyre):
    """The indexed circuit (Figure 3)."""

    circuit = IndexedCircuit
