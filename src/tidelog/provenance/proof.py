"""A proof: why a fact is there.

What      : a tree; a leaf is an explicit fact, a node a rule whose atoms are proved below it.
Invariant : trees are finite, so a fact is never its own reason. Equal facts inside one proof share one subtree.
Never     : no search (explain.py) and no judgement (checker.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        found: dict[int, int] = {}
        waiting = [self]
        while waiting:
            node = waiting[-1]
            below = [premise for premise in node.premises if id(premise) not in found]
            if below:
                waiting.extend(below)
                continue
            waiting.pop()
            heights = [found[id(premise)] for premise in node.premises]
            found[id(node)] = 0 if node.rule is None else 1 + max(heights, default=0)
        return found[id(self)]

    def __repr__(self) -> str:
        """One line; a proof can be as deep as the data."""
        reason = "explicit" if self.rule is None else f"by {print_rule(self.rule.as_written)}"
        return f"<Proof of {print_fact(self.relation, self.values)}: {reason}>"

    def __str__(self) -> str:
        shown: set[object] = set()

        def line(proof: Proof) -> tuple[str, tuple[str, ...] | None]:
            if proof.rule is None:
                return "is explicit", None
            key = (proof.relation, fact_identity(proof.values))
            if key in shown:
                return "as above", None
            shown.add(key)
            return f"by {print_rule(proof.rule.as_written)}", proof.conditions

        return "\n".join(indented(self, 0, line))

    def _repr_html_(self) -> str:
        from tidelog.changes.html import lines_html

        return lines_html(str(self))


Line = Callable[[Proof], tuple[str, tuple[str, ...] | None]]
"""What is said about a fact, and the conditions under it; None if nothing below it is shown."""


def indented(proof: Proof, depth: int, line: Line) -> Iterator[str]:
    """A proof as lines from the top down; without recursion, because proofs can be as deep as the data."""
    waiting: list[tuple[int, Proof | str]] = [(depth, proof)]
    while waiting:
        depth, node = waiting.pop()
        indent = "  " * depth
        if isinstance(node, str):
            yield f"{indent}{node}"
            continue
        word, conditions = line(node)
        yield f"{indent}{print_fact(node.relation, node.values)}  {word}"
        if conditions is not None:
            below: list[Proof | str] = [*node.premises, *conditions]
            waiting.extend((depth + 1, one) for one in reversed(below))
