"""A proof: why a fact is there.

What      : a tree; a leaf is an explicit fact, a node a rule whose atoms are proved below it.
Invariant : trees are finite, so a fact is never its own reason. Equal facts inside one proof share one subtree.
Never     : no search (explain.py) and no judgement (checker.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.language.printer import print_fact, print_rule
from tidelog.language.terms import Rule, Value
from tidelog.language.values import fact_identity


@dataclass(frozen=True, slots=True)
class Proof:
    """A fact and its reason: None where it is explicit, else a rule, proofs of its atoms, and what else had to hold."""

    relation: str
    values: tuple[Value, ...]
    rule: Rule | None = None
    premises: tuple[Proof, ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def is_explicit(self) -> bool:
        """Whether the fact needs no reason."""
        return self.rule is None

    @property
    def height(self) -> int:
        """How many rules lie above each other."""
        return 0 if self.rule is None else 1 + max((premise.height for premise in self.premises), default=0)

    def __str__(self) -> str:
        return "\n".join(_lines(self, 0, set()))


def _lines(proof: Proof, depth: int, shown: set[object]) -> Iterator[str]:
    """The proof, indented; a fact that was explained further up is only named again."""
    indent = "  " * depth
    fact = print_fact(proof.relation, proof.values)
    if proof.rule is None:
        yield f"{indent}{fact}  is explicit"
        return
    key = (proof.relation, fact_identity(proof.values))
    if key in shown:
        yield f"{indent}{fact}  as above"
        return
    shown.add(key)
    yield f"{indent}{fact}  by {print_rule(proof.rule)}"
    for premise in proof.premises:
        yield from _lines(premise, depth + 1, shown)
    for condition in proof.conditions:
        yield f"{indent}  {condition}"
