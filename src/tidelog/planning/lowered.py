"""Rules in the form that plans are made from.

What      : the few shapes left after aggregates and nested calls are taken apart (see lowering.py).
Invariant : body atoms hold variables and constants only; calls stand in comparisons and heads.
            Relations whose names begin with `@` are ours: users neither write nor see them.
Never     : no order of evaluation here (join_order.py) and no data.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.language.terms import Atom, Comparison, Negation, Rule

BodyLiteral = Atom | Negation | Comparison


@dataclass(frozen=True, slots=True)
class LoweredRule:
    """A rule without aggregates. `key` names the user's rule it comes from, for counters and messages."""

    key: str
    head: Atom
    body: tuple[BodyLiteral, ...]
    source: Rule

    def __hash__(self) -> int:
        """By the key, which hardly two rules share: rules are looked up whenever rules change."""
        return hash(self.key)

    @property
    def reads(self) -> set[str]:
        """The relations of its body, negated ones included."""
        return {
            literal.relation if isinstance(literal, Atom) else literal.atom.relation
            for literal in self.body
            if not isinstance(literal, Comparison)
        }


@dataclass(frozen=True, slots=True)
class GroupRule:
    """`relation(group..., result)` from the facts of `body_relation(group..., locals..., value)`.

    `group` is the number of leading group columns; the value, if the function needs one, is the last column.
    """

    key: str
    relation: str
    function: str
    body_relation: str
    group: int
    body_arity: int
    source: Rule


@dataclass(frozen=True, slots=True)
class Stage:
    """A component in the order of maintenance: mutually recursive relations with all the rules that derive them.

    A stage holds either ordinary rules or one group rule (`groups`), never both.
    """

    relations: frozenset[str]
    rules: tuple[LoweredRule, ...]
    groups: tuple[GroupRule, ...]
    is_recursive: bool

    @property
    def name(self) -> str:
        """The user's relations of the stage, for messages."""
        return ", ".join(sorted(self.relations))


def is_hidden(relation: str) -> bool:
    """Whether a relation is one of ours."""
    return relation.startswith("@")
