"""What an update cost, by rule and phase, for people.

What      : `profile_table` prints the derivations of a change by rule and phase, with a bar for their share, and the
            totals: rounds, seconds, strategies.
Idea      : `change.stats` has the numbers; here they are ordered by what costs most.
Invariant : the rows add up to the totals in the last line.
Never     : nothing is measured here.
"""

from __future__ import annotations

from tidelog.changes.change import Stats
from tidelog.changes.tables import text_table

_SHOWN, _BAR = 60, 20


def profile_table(stats: Stats, limit: int | None = None) -> str:
    """The derivations of every rule and phase, most first, and the totals."""
    ordered = sorted(stats.derivations.items(), key=lambda item: -item[1])
    most = max((count for _, count in ordered), default=1)
    rows = [(count, "#" * max(1, round(_BAR * count / most)), phase, _cut(rule)) for (rule, phase), count in ordered]
    table = text_table(("derivations", "share", "phase", "rule"), rows, len(rows), limit)
    chosen = ", ".join(sorted({name for name, _ in stats.strategies.values()}))
    totals = f"{stats.total_derivations:,} derivations in {stats.rounds:,} rounds, {1000 * stats.seconds:.1f} ms"
    return f"{table}\n{totals}; strategy: {chosen}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
