"""How a component recurs: not at all, linearly, non-linearly or mutually.

What      : the shape of a component's recursion, for the summary that `tidelog check` prints; read by cli/check.py.
Idea      : a rule is linear when its body reads at most one atom of its own component.
Invariant : a component is recursive if and only if its kind is not `Recursion.NONE`.
Never     : no statement about cost; that belongs to the strategies.
"""

from __future__ import annotations

from enum import StrEnum

from tidelog.analysis.components import Component
from tidelog.language.terms import Rule, atoms


class Recursion(StrEnum):
    """The kinds. MUTUAL means several relations; whether such a component is linear, too, `is_linear` says."""

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
