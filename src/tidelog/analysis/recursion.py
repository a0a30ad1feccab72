"""How a component recurs: not at all, linearly, non-linearly or mutually.

What      : the shape of a component's recursion, which planning and the choice of a strategy look at.
Idea      : a rule is linear when its body reads at most one atom of its own component.
Invariant : a component is recursive if and only if its kind is not `none`.
Never     : no statement about cost; that belongs to the strategies.
"""

from __future__ import annotations

from enum import StrEnum

from tidelog.analysis.components import Component
from tidelog.language.terms import Rule, atoms


class Recursion(StrEnum):
    """`mutual` means several relations; whether such a component is linear is told by `is_linear`."""

    NONE = "none"
    LINEAR = "linear"
    NON_LINEAR = "non-linear"
    MUTUAL = "mutual"


def recursion(component: Component) -> Recursion:
    """The kind of a component's recursion."""
    if not component.is_recursive:
        return Recursion.NONE
    if len(component.relations) > 1:
        return Recursion.MUTUAL
    return Recursion.LINEAR if is_linear(component) else Recursion.NON_LINEAR


def is_linear(component: Component) -> bool:
    """Whether no rule of the component reads more than one atom of the component."""
    return all(recursive_atoms(component, rule) <= 1 for rule in component.rules)


def recursive_atoms(component: Component, rule: Rule) -> int:
    """How many atoms of a rule's body belong to the component."""
    return sum(atom.relation in component.relations for literal in rule.body for atom, _ in atoms(literal))
