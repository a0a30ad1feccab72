"""A workload: one program in the words of several engines, its facts, and the size of its result.

What      : `Workload`; facts are arrays of integers, one row per fact.
Idea      : an engine takes part if the workload speaks its language: Datalog (ours and Souffle's), ASP, SQL.
Invariant : every engine that takes part gives the same number of facts in `output`.
Never     : nothing is measured here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Workload:
    """What to materialise."""

    name: str
    rules: str
    facts: dict[str, np.ndarray]
    output: str
    """The relation whose size is compared."""
    asp: str | None = None
    sql: str | None = None
    """A query that counts the facts of `output`; tables are named as relations, columns a, b, c."""
    is_closure: bool = False
    """Whether the hand-written kernel applies to the relation `edge`."""
    expected: int | None = None
    repeats: int = 3
    souffle_types: dict[str, int] = field(default_factory=dict)
    """Arities of derived relations, for Souffle's declarations."""
