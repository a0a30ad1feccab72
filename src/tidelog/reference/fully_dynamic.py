"""Fully dynamic updates: a new update is taken in before the last one is finished.

Idea       : operations add(F) and del(F) wait in a set O. Between any two computation steps an update may arrive. A
             step determines one operation, cancels one, or executes one, whichever is chosen.
Source     : Illich, Glimm 2023, Algorithm 1 and the three groups of transition rules; repairs of section 3.1.
Invariant  : whatever the order of arrivals and steps, it ends, with O empty and the facts of consecutive processing.
Departures : the paper names its repairs and leaves their design open. Here:
             1. every present fact remembers the derivation that founded it, down to single births of facts, so that a
                recursion is known where it started. A derivation is *sound* if nothing it is founded on is gone; only
                sound ones add facts. Hence no fact re-adds itself (Example 1).
             2. a deletion aims at one birth of a fact: what is re-added later is not deleted again (Example 2).
             3. an executed operation leaves behind what it entitles us to determine (stage `implied`), so that an
                operation that is cut short is still finished (Examples 3 and 4).

Rules are ground here, as in the paper's examples; fully_dynamic_programs.py brings programs with variables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

Fact = Hashable
Birth = tuple[Fact, int]


class GroundRule(NamedTuple):
    """A rule instance `body -> head`."""

    head: Fact
    body: frozenset[Fact]


class Derivation(NamedTuple):
    """A rule instance applied to certain births of its body facts; `rule` is None for an explicit introduction."""

    rule: GroundRule | None
    body: frozenset[Birth]


EXPLICIT = Derivation(None, frozenset())


class Present(NamedTuple):
    """A fact in I: which birth, after how many updates, what founded it, and all derivations applied so far."""

    fact: Fact
    birth: int
    since: int
    founding: Derivation
    applied: frozenset[Derivation]


class Operation(NamedTuple):
    """add(F) by a derivation, or del(F) of a birth; `stage` is `implied` or `determined`, then it is executed."""

    kind: str
    fact: Fact
    derivation: Derivation
    birth: int
    update: int
    stage: str = "determined"


class Update(NamedTuple):
    """U = (E+, E-)."""

    insert: frozenset[Fact]
    delete: frozenset[Fact]


@dataclass(frozen=True, eq=False)
class State:
    """Everything that a step reads and changes: E, I, O, the births so far, and how many updates have arrived."""

    explicit: frozenset[Fact]
    present: Mapping[Fact, Present]
    operations: tuple[Operation, ...] = ()
    births: Mapping[Fact, int] = field(default_factory=dict)
    arrived: int = 0

    @property
    def facts(self) -> frozenset[Fact]:
        """The materialisation I."""
        return frozenset(self.present)

    def key(self) -> Hashable:
        """Equal for states from which the same can happen."""
        return (
            self.arrived,
            frozenset(self.present.values()),
            frozenset(self.operations),
            frozenset(self.births.items()),
        )

    def is_alive(self, derivation: Derivation) -> bool:
        """Whether every birth that the derivation uses is still present."""
        return all(fact in self.present and self.present[fact].birth == birth for fact, birth in derivation.body)

    def is_sound(self, derivation: Derivation) -> bool:
        """Whether nothing that the derivation is founded on, however indirectly, is gone."""
        seen: set[Birth] = set()
        waiting = [derivation]
        while waiting:
            one = waiting.pop()
            if not self.is_alive(one):
                return False
            new = one.body - seen
            seen |= new
            waiting.extend(self.present[fact].founding for fact, _ in new)
        return True


class FullyDynamic(ABC):
    """Algorithm 1 over ground rules; subclasses say when operations are void and what executing them does."""

    def __init__(self, rules: Iterable[GroundRule]) -> None:
        self._reading: dict[Fact, list[GroundRule]] = {}
        self._deriving: dict[Fact, list[GroundRule]] = {}
        for rule in dict.fromkeys(rules):
            self._deriving.setdefault(rule.head, []).append(rule)
            for fact in rule.body:
                self._reading.setdefault(fact, []).append(rule)

    def reading(self, state: State, fact: Fact) -> Iterable[GroundRule]:  # noqa: ARG002 (subclasses match in I)
        """The rule instances with the fact in their body."""
        return self._reading.get(fact, ())

    def affected(self, state: State, fact: Fact) -> Iterable[GroundRule]:
        """The rule instances through which the fact's deletion can reach older facts."""
        return self.reading(state, fact)

    def deriving(self, state: State, fact: Fact) -> Iterable[GroundRule]:  # noqa: ARG002 (subclasses match in I)
        """The rule instances with the fact as their head."""
        return self._deriving.get(fact, ())

    def start(self, explicit: Iterable[Fact] = ()) -> State:
        """The state in which the materialisation of explicit facts is complete."""
        empty = State(frozenset(), {})
        state = self.run(empty, [Update(frozenset(explicit), frozenset())])
        return replace(state, arrived=0, present={f: p._replace(since=0) for f, p in state.present.items()})

    def run(self, state: State, updates: Sequence[Update]) -> State:
        """Algorithm 1, taking in all updates at once and the oldest enabled operation first."""
        for update in updates:  # line 3
            state = self.arrive(state, update)  # line 4
        while (operation := next(self.enabled(state), None)) is not None:  # line 2
            state = self.step(state, operation)  # lines 5, 6
        return state

    def arrive(self, state: State, update: Update) -> State:
        """Rule 1 (i): determine the explicit operations of an update."""
        state = replace(state, explicit=(state.explicit - update.delete) | update.insert, arrived=state.arrived + 1)
        for fact in sorted(update.delete, key=repr):
            birth = state.present[fact].birth if fact in state.present else 0
            state = with_operations(state, [Operation("del", fact, EXPLICIT, birth, state.arrived)])
        for fact in sorted(update.insert, key=repr):
            state = with_operations(state, [Operation("add", fact, EXPLICIT, 0, state.arrived)])
        return state

    def enabled(self, state: State) -> Iterator[Operation]:
        """The operations that a step can take up now, oldest first; an unsound addition waits for its body's fate."""
        for operation in state.operations:
            if self.is_void(state, operation) or operation.stage == "implied" or self.is_ready(state, operation):
                yield operation

    def step(self, state: State, operation: Operation) -> State:
        """Lines 5 and 6: one computation step on one operation."""
        rest = replace(state, operations=tuple(other for other in state.operations if other != operation))
        if self.is_void(state, operation):  # rule 2: cancel
            return rest
        if operation.stage == "implied":  # rule 1 (ii): determine implicitly
            return with_operations(rest, [operation._replace(stage="determined")])
        return self.execute(rest, operation)  # rule 3: execute

    @abstractmethod
    def is_void(self, state: State, operation: Operation) -> bool:
        """Whether the operation is outdated or has nothing left to do."""

    @abstractmethod
    def is_ready(self, state: State, operation: Operation) -> bool:
        """Whether an operation that is not void can be executed now."""

    @abstractmethod
    def execute(self, state: State, operation: Operation) -> State:
        """Change I, and add to O what follows."""

    def introduce(self, state: State, fact: Fact, derivation: Derivation) -> State:
        """I u {F}: a new birth of a fact, and the additions that its presence implies."""
        birth = state.births.get(fact, 0) + 1
        present = Present(fact, birth, self.age(state), derivation, frozenset({derivation}))
        state = replace(state, present={**state.present, fact: present}, births={**state.births, fact: birth})
        return with_operations(state, self.additions(state, self.reading(state, fact)))

    def additions(self, state: State, rules: Iterable[GroundRule]) -> list[Operation]:
        """The implied additions of rule instances whose bodies are present, where they are not void."""
        found = []
        for rule in rules:
            if all(fact in state.present for fact in rule.body):
                births = frozenset((fact, state.present[fact].birth) for fact in rule.body)
                found.append(Operation("add", rule.head, Derivation(rule, births), 0, 0, "implied"))
        return [operation for operation in found if not self.is_void(state, operation)]

    def age(self, state: State) -> int:
        """What a fact remembers of the time of its introduction."""
        return state.arrived


def without(state: State, fact: Fact) -> State:
    """I minus {F}."""
    return replace(state, present={other: kept for other, kept in state.present.items() if other != fact})


def with_operations(state: State, operations: Iterable[Operation]) -> State:
    """O with more operations; each is there once."""
    return replace(state, operations=tuple(dict.fromkeys((*state.operations, *operations))))
