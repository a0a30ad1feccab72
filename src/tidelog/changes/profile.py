"""What an update cost, by rule and phase, for people.

What      : `profile_table` prints what each rule and phase took, the dearest first, and the totals: rounds, seconds,
            strategies.
Idea      : `change.stats` has the numbers. Inside `tidelog.profiling` it has times, runs and duplicates as well; else
            the rows are ordered by derivations, which are always counted.
Invariant : the derivations of the rows add up to the total in the last line.
Never     : nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidelog.changes.change import Stats
from tidelog.changes.tables import text_table
from tidelog.language.printer import print_rule, rule_key
from tidelog.language.terms import Rule, Value

_SHOWN, _BAR = 60, 20


def profile_table(stats: Stats, rules: Iterable[Rule] = ()) -> str:
    """The costs of every rule and phase, most first, and the totals; rules without names as they are written."""
    headings, rows = _timed(stats) if stats.costs else _counted(stats)
    written = {rule_key(rule): print_rule(rule) for rule in rules if rule.name is None}
    shown = [(*row[:-1], _cut(written.get(str(row[-1]), str(row[-1])))) for row in rows]
    table = text_table(headings, shown, len(shown))
    chosen = ", ".join(sorted({name for name, _ in stats.strategies.values()}))
    totals = f"{stats.total_derivations:,} derivations in {stats.rounds:,} rounds, {1000 * stats.seconds:.1f} ms"
    return f"{table}\n{totals}; strategy: {chosen}"


def _timed(stats: Stats) -> tuple[Sequence[str], Sequence[Sequence[Value]]]:
    most = stats.costs[0].seconds
    rows = [
        (
            round(1000 * cost.seconds, 2), _bar(cost.seconds, most), cost.derivations, cost.duplicates, cost.runs,
            cost.phase, cost.rule,
        )
        for cost in stats.costs
    ]  # fmt: skip
    return ("ms", "share", "derivations", "duplicates", "runs", "phase", "rule"), rows


def _counted(stats: Stats) -> tuple[Sequence[str], Sequence[Sequence[Value]]]:
    ordered = sorted(stats.derivations.items(), key=lambda item: -item[1])
    most = max((count for _, count in ordered), default=1)
    rows = [(count, _bar(count, most), phase, rule) for (rule, phase), count in ordered]
    return ("derivations", "share", "phase", "rule"), rows


def _bar(part: float, most: float) -> str:
    return "#" * max(1, round(_BAR * part / most)) if most else "#"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
