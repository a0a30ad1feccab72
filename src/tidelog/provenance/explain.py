"""Find a proof of a fact.

Idea       : go back from the fact, layer by layer, over all rule instances that could derive it; after each layer, go
             forward from the explicit facts met so far. The first time the fact itself is reached, its proof is a
             shallowest one, and no fact stands on itself, however recursive the rules are.
Source     : backward and forward reading of Motik et al. 2015; the forward step is Knuth's generalisation of Dijkstra's
             algorithm to rules, with heights for distances.
Invariant  : what is found is a proof; if the materialisation is true, every fact in it has one.
Cost       : grows with the facts and instances between the fact and the explicit ones, each looked at once.
Departures : instances are searched over the materialisation, so no derivation has to be recorded beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from operator import attrgetter

from tidelog.errors import BudgetError
from tidelog.language.terms import Rule, Value
from tidelog.language.values import fact_identity
from tidelog.provenance.instances import Fact, Facts, Instance, instances
from tidelog.provenance.proof import Proof

MOST_FACTS = 100_000
"""How many facts a search looks at before it gives up."""


def explain(relation: str, values: tuple[Value, ...], rules: Iterable[Rule], facts: Facts) -> Proof | None:
    """A shallowest proof of a fact; None if it has no proof."""
    return _Search(tuple(rules), facts).prove((relation, values))


@dataclass(slots=True)
class _Pending:
    """An instance on the way back, in the order of finding, and how many of its premises have no proof yet."""

    number: int
    head: Fact
    instance: Instance
    missing: int


class _Search:
    """One search: the facts met, the instances between them, and the proofs so far."""

    def __init__(self, rules: tuple[Rule, ...], facts: Facts) -> None:
        self._facts = facts
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.head.relation, []).append(rule)
        self._met: set[object] = set()
        self._proofs: dict[object, Proof] = {}
        self._number = count()
        self._waiting: dict[object, list[_Pending]] = {}
        self._ready: list[_Pending] = []
        self._proved: list[object] = []

    def prove(self, goal: Fact) -> Proof | None:
        layer = [goal]
        self._met.add(_key(goal))
        while layer and _key(goal) not in self._proofs:
            layer = self._back(layer)
            self._forward()
        return self._proofs.get(_key(goal))

    def _back(self, layer: list[Fact]) -> list[Fact]:
        """The facts that the facts of a layer can be derived from and that were not met before."""
        following = []
        for fact in layer:
            if self._facts.is_explicit(*fact):
                self._note(fact, Proof(*fact))
                continue
            for rule in self._rules.get(fact[0], ()):
                for instance in instances(rule, fact, self._facts):
                    premises = {_key(one): one for one in instance.premises}
                    self._wait(fact, instance, [key for key in premises if key not in self._proofs])
                    following += [one for key, one in premises.items() if key not in self._met]
                    self._met.update(premises)
            if len(self._met) > MOST_FACTS:
                raise BudgetError.of(
                    "E407", f"no proof among the first {MOST_FACTS:,} facts", remedy="explain a fact that is nearer"
                )
        return following

    def _wait(self, head: Fact, instance: Instance, missing: list[object]) -> None:
        pending = _Pending(next(self._number), head, instance, len(missing))
        for key in missing:
            self._waiting.setdefault(key, []).append(pending)
        if not missing:
            self._ready.append(pending)

    def _forward(self) -> None:
        """Prove heads whose premises are proved, round by round, so that lower proofs come first."""
        while self._ready or self._proved:
            ready, proved = self._ready, self._proved
            self._ready, self._proved = [], []
            for key in proved:
                for pending in self._waiting.pop(key, ()):
                    pending.missing -= 1
                    if not pending.missing:
                        ready.append(pending)
            for pending in sorted(ready, key=attrgetter("number")):
                if _key(pending.head) not in self._proofs:
                    instance = pending.instance
                    premises = tuple(self._proofs[_key(one)] for one in instance.premises)
                    self._note(pending.head, Proof(*pending.head, instance.rule, premises, instance.conditions))

    def _note(self, fact: Fact, proof: Proof) -> None:
        self._proofs[_key(fact)] = proof
        self._proved.append(_key(fact))


def _key(fact: Fact) -> object:
    return fact[0], fact_identity(fact[1])
