"""Find a proof of a fact.

Idea       : go back from the fact, layer by layer, over rule instances that could derive it; after each layer, go
             forward from the explicit facts met so far. No fact stands on itself, however recursive the rules are.
             First all instances of every fact are looked at, so that the proof is a shallowest one. Where that is too
             much, a second search follows one instance of each fact it meets to the end, and gives all facts without
             a proof a further one only then.
Source     : backward and forward reading of Motik et al. 2015; the forward step is Knuth's generalisation of Dijkstra's
             algorithm to rules, with heights for distances. The second search is that of maintenance/bf.py.
Invariant  : what is found is a proof; if the materialisation is true, every fact in it has one. It is a shallowest one
             if it was found among the first `FEW` instances.
Cost       : grows with the instances looked at, each once. A closure written as p(x, z) :- p(x, y), p(y, z) has a cube
             of them, of which the second search needs about as many as the proof has.
Departures : instances are searched over the materialisation, so no derivation has to be recorded beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from operator import attrgetter

from tidelog.errors import BudgetError
from tidelog.language.terms import Rule, Value
from tidelog.language.values import fact_identity
from tidelog.provenance.best_members import aggregated_in, best_members
from tidelog.provenance.conditions import conditions
from tidelog.provenance.instances import Fact, Facts, Instance, instances
from tidelog.provenance.proof import Proof

MOST_FACTS = 100_000
"""How many facts a search looks at before it gives up."""
FEW = 100
"""How many instances are looked at in search of a shallowest proof, which takes about ten milliseconds."""


def explain(relation: str, values: tuple[Value, ...], rules: Iterable[Rule], facts: Facts) -> Proof | None:
    """A proof of a fact, a shallowest one if that is near; None if it has none."""
    known = tuple(rules)
    search = _Search(known, facts)
    found = search.shallowest((relation, values))
    return found if found is not None or search.is_exhausted else _Search(known, facts).any((relation, values))


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
        self._facts, self._aggregated = facts, aggregated_in(rules)
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.head.relation, []).append(rule)
        self._met: set[object] = set()
        self._proofs: dict[object, Proof] = {}
        self._number = count()
        self._waiting: dict[object, list[_Pending]] = {}
        self._ready: list[_Pending] = []
        self._proved: list[object] = []
        self._supply: dict[object, Iterator[Instance] | None] = {}
        """Of every fact that was looked at, the instances that were not; None if there are none."""
        self.is_exhausted = False
        """Whether the search came to its end, and not to that of its patience."""

    def shallowest(self, goal: Fact) -> Proof | None:
        """Look at all instances, layer by layer, but at `FEW` at most."""
        layer, room = [goal], FEW
        self._met.add(_key(goal))
        while layer and _key(goal) not in self._proofs:
            following: list[Fact] = []
            for fact in layer:
                seen, found = self._back(fact, room)
                room -= seen
                following += found
                if room <= 0:
                    return None
            layer = following
            self._forward()
        self.is_exhausted = True
        return self._proofs.get(_key(goal))

    def any(self, goal: Fact) -> Proof | None:
        """Look at one instance of each fact; where that does not do, at one more of each, then at two, at four."""
        more, opened, fresh = 1, list[Fact](), [goal]
        self._met.add(_key(goal))
        while fresh or opened:
            opened += fresh
            fresh = [one for fact in fresh for one in self._back(fact, 1)[1]]
            self._forward()
            if _key(goal) in self._proofs:
                return self._proofs[_key(goal)]
            if not fresh:
                opened = [fact for fact in opened if _key(fact) not in self._proofs and not self._is_done(fact)]
                fresh = [one for fact in opened for one in self._back(fact, more)[1]]
                more *= 2
        return None

    def _is_done(self, fact: Fact) -> bool:
        """Whether every instance of a fact has been looked at."""
        key = _key(fact)
        return key in self._supply and self._supply[key] is None

    def _back(self, fact: Fact, limit: int) -> tuple[int, list[Fact]]:
        """Look at some further instances of a fact: how many, and the premises that were not met before."""
        key, following, seen = _key(fact), list[Fact](), 0
        if key not in self._supply and self._facts.is_explicit(*fact):
            self._note(fact, Proof(*fact))
            self._supply[key] = None
        supply = self._supply.setdefault(key, self._instances(fact))
        for instance in islice(supply or (), limit):
            seen += 1
            premises = {_key(one): one for one in instance.premises}
            self._wait(fact, instance, [one for one in premises if one not in self._proofs])
            following += [one for name, one in premises.items() if name not in self._met]
            self._met.update(premises)
        if seen < limit:
            self._supply[key] = None
        if len(self._met) > MOST_FACTS:
            raise BudgetError.of(
                "E407", f"no proof among the first {MOST_FACTS:,} facts", remedy="explain a fact that is nearer"
            )
        return seen, following

    def _instances(self, fact: Fact) -> Iterator[Instance]:
        """Every instance with this head, when it is asked for."""
        for rule in self._rules.get(fact[0], ()):
            for found in instances(rule, fact, self._facts):
                yield from best_members(found, self._aggregated.get(rule, ()), self._facts)

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
                    self._note(
                        pending.head, Proof(*pending.head, instance.rule, premises, conditions(instance, self._facts))
                    )

    def _note(self, fact: Fact, proof: Proof) -> None:
        self._proofs[_key(fact)] = proof
        self._proved.append(_key(fact))


def _key(fact: Fact) -> object:
    return fact[0], fact_identity(fact[1])
