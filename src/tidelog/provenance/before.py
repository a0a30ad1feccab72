"""What an engine remembers of the version before.

What      : `Before`, renewed by every update, so that cause.py can tell what the last change did.
Invariant : with the change and the present facts it describes the version before completely, as far as proofs go.
Never     : no fact that the change has already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.changes.change import FactTable, FactTables
from tidelog.language.terms import Rule


@dataclass(frozen=True, slots=True)
class Before:
    """What is remembered of the version before an update: its rules, and the explicit facts that were withdrawn."""

    rules: tuple[Rule, ...] = ()
    withdrawn: Mapping[str, FactTable] = field(default_factory=FactTables)
