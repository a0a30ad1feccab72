"""Is the random world alive?

What      : three shares over a set of cases: cases that derive through recursion, deletions that make a derived fact
            fall, deletions that make one fall while another survives by another proof.
Idea      : agreement over dead cases proves nothing. A fact is derived through recursion if it is not explicit and
            every rule instance that derives it is of a recursive rule. It survives by another proof if it is not
            explicit, a rule instance that derived it lost a body fact, and it is still there.
Source    : figure 3 of the guarantees.
Invariant : a deletion's effect is measured alone, without the insertions and rule changes of its update. Every update
            that asks to delete counts, also when there is nothing to delete.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.differential.case import Case, State, Update
from tests.differential.oracle import explicit, model
from tidelog.language.terms import Rule, atoms
from tidelog.reference.evaluation import FactSet, Instance, instances, uniform

LEAST_RECURSIVE, LEAST_FALLING, LEAST_SURVIVING = 0.7, 0.5, 0.2


@dataclass
class Liveness:
    """Counts over cases, and the three shares that are promised."""

    cases: int = 0
    recursive_cases: int = 0
    deletions: int = 0
    falling: int = 0
    surviving: int = 0

    def add(self, other: Liveness) -> None:
        """Add the counts of other cases."""
        self.cases += other.cases
        self.recursive_cases += other.recursive_cases
        self.deletions += other.deletions
        self.falling += other.falling
        self.surviving += other.surviving

    @property
    def shares(self) -> dict[str, float]:
        """The three shares, by the words of the promise."""
        return {
            "derives through recursion": self.recursive_cases / max(1, self.cases),
            "a derived fact falls": self.falling / max(1, self.deletions),
            "one falls, another survives": self.surviving / max(1, self.deletions),
        }

    @property
    def is_alive(self) -> bool:
        """Whether all three promises hold."""
        return all(
            share >= least
            for share, least in zip(self.shares.values(), (LEAST_RECURSIVE, LEAST_FALLING, LEAST_SURVIVING))
        )

    def __str__(self) -> str:
        shares = ", ".join(f"{words} {share:.0%}" for words, share in self.shares.items())
        return f"{self.cases} cases, {self.deletions} deletions: {shares}"


def measure(cases: Iterable[Case]) -> Liveness:
    """The liveness of a set of cases."""
    total = Liveness()
    for case in cases:
        total.add(measure_case(case))
    return total


def measure_case(case: Case) -> Liveness:
    """The liveness of one case."""
    state, found, recursive = State.of(case.program), Liveness(cases=1), False
    for update in (*case.updates, None):
        facts = model(state)
        recursive = recursive or _derives_through_recursion(state, facts)
        if update is None:
            break
        if update.delete and not update.refused:
            falls, survives = _effect_of_deletion(state, facts, update)
            found.deletions += 1
            found.falling += falls
            found.surviving += falls and survives
        state = state.after(update)
    found.recursive_cases = int(recursive)
    return found


def recursive_rules(rules: Iterable[Rule]) -> list[Rule]:
    """The rules whose head is used, directly or not, to derive one of their own body atoms."""
    rules = list(rules)
    uses: dict[str, set[str]] = {}
    for rule in rules:
        uses.setdefault(rule.head.relation, set()).update(
            atom.relation for part in rule.body for atom, _ in atoms(part)
        )
    changed = True
    while changed:
        changed = False
        for needed in uses.values():
            further = set().union(*(uses.get(relation, set()) for relation in needed))
            if not further <= needed:
                needed |= further
                changed = True
    return [
        rule
        for rule in rules
        if any(
            atom.relation == rule.head.relation or rule.head.relation in uses.get(atom.relation, ())
            for part in rule.body
            for atom, _ in atoms(part)
        )
    ]


def _derives_through_recursion(state: State, facts: FactSet) -> bool:
    recursive = recursive_rules(state.rules)
    others = [rule for rule in state.rules if rule not in recursive]
    plain = {instance.head for instance in _instances(others, facts)} | set(explicit(state))
    return any(instance.head not in plain for instance in _instances(recursive, facts))


def _effect_of_deletion(state: State, facts: FactSet, update: Update) -> tuple[bool, bool]:
    """Whether deleting alone makes a derived fact fall, and whether an affected one survives by another proof."""
    left = state.after(Update(delete=update.delete))
    after, kept = model(left), set(explicit(left))
    derived = list(_instances(state.rules, facts))
    falls = any(instance.head not in after for instance in derived)
    survives = any(
        instance.head in after and instance.head not in kept and any(fact not in after for fact in instance.body)
        for instance in derived
    )
    return falls, survives


def _instances(rules: Iterable[Rule], facts: FactSet) -> Iterable[Instance]:
    for rule in rules:
        yield from instances(rule, uniform(rule, facts, facts))
