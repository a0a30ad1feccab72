"""Find a proof of a fact.

Idea       : go back from the fact, layer by layer, over all rule instances that could derive it; after each layer, go
             forward from the explicit facts met so far. The first time the fact itself is reached, its proof is a
             shallowest one, and no fact stands on itself, however recursive the rules are.
Source     : backward and forward reading of Motik et al. 2015; the forward step is Knuth's generalisation of Dijkstra's
             algorithm to rules, with heights for distances.
Invariant  : what is found is a proof; if the materialisation is true, every fact in it has one.
Cost       : the facts and instances between the fact and the explicit ones, not the materialisation.
Departures : instances are searched over the materialisation, so no derivation has to be recorded beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.errors import BudgetError
from tidelog.language.terms import Rule, Value
from tidelog.language.values import fact_identity
from tidelog.provenance.instances import Fact, Facts, Instance, instances
from tidelog.provenance.proof import Proof

MOST_FACTS = 100_000
"""A search gives up after so many facts."""


def explain(relation: str, values: tuple[Value, ...], rules: Iterable[Rule], facts: Facts) -> Proof | None:
    """A shallowest proof of a fact; None if there is none."""
    return _Search(tuple(rules), facts).prove((relation, values))


class _Search:
    """One search: the facts met, the instances between them, and the proofs so far."""

    def __init__(self, rules: tuple[Rule, ...], facts: Facts) -> None:
        self._facts = facts
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.head.relation, []).append(rule)
        self._met: dict[object, Fact] = {}
        self._proofs: dict[object, Proof] = {}
        self._waiting: list[tuple[Fact, Instance]] = []

    def prove(self, goal: Fact) -> Proof | None:
        layer = [goal]
        self._met[_key(goal)] = goal
        while layer and _key(goal) not in self._proofs:
            layer = self._back(layer)
            self._forward()
        return self._proofs.get(_key(goal))

    def _back(self, layer: list[Fact]) -> list[Fact]:
        """The facts that the facts of a layer can be derived from and that were not met before."""
        following = []
        for fact in layer:
            if self._facts.is_explicit(*fact):
                self._proofs[_key(fact)] = Proof(*fact)
                continue
            for rule in self._rules.get(fact[0], ()):
                for instance in instances(rule, fact, self._facts):
                    self._waiting.append((fact, instance))
                    new = [one for one in instance.premises if _key(one) not in self._met]
                    self._met.update((_key(one), one) for one in new)
                    following += new
            if len(self._met) > MOST_FACTS:
                raise BudgetError.of(
                    "E407", f"no proof among the first {MOST_FACTS:,} facts", remedy="explain a fact that is nearer"
                )
        return following

    def _forward(self) -> None:
        """Prove heads whose premises are proved, round by round, so that lower proofs come first."""
        while True:
            ready = [
                (head, instance)
                for head, instance in self._waiting
                if _key(head) not in self._proofs and all(_key(one) in self._proofs for one in instance.premises)
            ]
            if not ready:
                return
            for head, instance in ready:
                premises = tuple(self._proofs[_key(one)] for one in instance.premises)
                proof = Proof(*head, instance.rule, premises, instance.conditions)
                self._proofs.setdefault(_key(head), proof)
            self._waiting = [one for one in self._waiting if _key(one[0]) not in self._proofs]


def _key(fact: Fact) -> object:
    return fact[0], fact_identity(fact[1])
