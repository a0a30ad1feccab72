"""What an update cost, by rule and phase, for people.

What      : `profile_table` prints derivations, duplicates, rounds and seconds of a change as a table.
Idea      : `change.stats` has the numbers; here they are ordered by what costs most.
Invariant : the rows add up to the totals in the last line.
Never     : nothing is measured here.
"""

from __future__ import annotations

from tidelog.changes.change import Stats
from tidelog.changes.tables import text_table

_SHOWN = 60


def profile_table(stats: Stats, limit: int | None = None) -> str:
    """The derivations of every rule and phase, most first, and the totals."""
    ordered = sorted(stats.derivations.items(), key=lambda item: -item[1])
    rows = [(count, phase, _cut(rule)) for (rule, phase), count in ordered]
    table = text_table(("derivations", "phase", "rule"), rows, len(rows), limit)
    chosen = ", ".join(sorted({name for name, _ in stats.strategies.values()}))
    totals = f"{stats.total_derivations:,} derivations in {stats.rounds:,} rounds, {1000 * stats.seconds:.1f} ms"
    return f"{table}\n{totals}; strategy: {chosen}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
