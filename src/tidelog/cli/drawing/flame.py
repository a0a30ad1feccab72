"""What an update cost, as a picture.

What      : `flame` draws the time of an update as bars under bars: the update, its components, their phases, the rules.
Idea      : width is time, so what is wide is what to look at; what stands under a bar is what its time was spent on.
Invariant : self-contained SVG: no scripts, no fonts to fetch; every text is escaped, every bar says its numbers when
            the pointer rests on it. The same statistics give the same bytes.
Never     : nothing is measured here (maintenance/profiled_store.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import groupby

from tidelog.changes.change import Stats
from tidelog.changes.rule_costs import RuleCost

_WIDTH, _ROW, _MARGIN, _HEADER = 1080.0, 34.0, 24.0, 84.0
_CHARACTER = 7.3
_LEAST = 0.5
_COLOURS = ("#e2e8f0", "#fed7aa", "#fdba74", "#fb923c")
_LEVELS: tuple[Callable[[RuleCost], str], ...] = (
    lambda cost: cost.component,
    lambda cost: cost.phase,
    lambda cost: cost.rule,
)
_STYLE = """
  text { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #0f172a }
  .bar { font-size: 12px }
  rect { stroke: #ffffff; stroke-width: 1 }
"""


def flame(stats: Stats) -> str:
    """The picture as text; the statistics are those of an update inside `tidelog.profiling`."""
    height = _HEADER + (1 + len(_LEVELS)) * _ROW + _MARGIN
    words = f"{stats.total_derivations:,} derivations in {stats.rounds:,} rounds, {1000 * stats.seconds:.1f} ms"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height:.0f}" '
        f'width="{_WIDTH:.0f}" height="{height:.0f}" role="img" aria-label="What the update cost">',
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="38" font-size="20" font-weight="700">What the update cost</text>',
        f'<text x="{_MARGIN}" y="62" font-size="13">{words}; width is time</text>',
        *_bars(stats),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bars(stats: Stats) -> list[str]:
    total = max(stats.seconds, _seconds(stats.costs), 1e-9)
    scale = (_WIDTH - 2 * _MARGIN) / total
    drawn = [_bar(0, _MARGIN, total * scale, "the update", f"{1000 * total:.2f} ms")]

    def under(costs: Sequence[RuleCost], left: float, level: int) -> None:
        name_of = _LEVELS[level]
        parts = [(name, list(part)) for name, part in groupby(sorted(costs, key=name_of), key=name_of)]
        for name, part in sorted(parts, key=lambda one: -_seconds(one[1])):
            width = _seconds(part) * scale
            if width < _LEAST:
                continue
            drawn.append(_bar(level + 1, left, width, name, _numbers(part)))
            if level + 1 < len(_LEVELS):
                under(part, left, level + 1)
            left += width

    under(stats.costs, _MARGIN, 0)
    return drawn


def _seconds(costs: Sequence[RuleCost]) -> float:
    return sum(cost.seconds for cost in costs)


def _numbers(costs: Sequence[RuleCost]) -> str:
    derivations, duplicates = sum(one.derivations for one in costs), sum(one.duplicates for one in costs)
    runs = sum(one.runs for one in costs)
    return f"{1000 * _seconds(costs):.2f} ms, {derivations:,} derivations, {duplicates:,} duplicates, {runs:,} runs"


def _bar(depth: int, left: float, width: float, name: str, numbers: str) -> str:
    top, room = _HEADER + depth * _ROW, int((width - 10) / _CHARACTER)
    text = name if len(name) <= room else f"{name[: room - 1]}…" if room > 3 else ""
    return (
        f"<g><title>{escape(name)}: {escape(numbers)}</title>"
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{_ROW}" fill="{_COLOURS[depth]}"/>'
        f'<text class="bar" x="{left + 5:.1f}" y="{top + 21:.1f}">{escape(text)}</text></g>'
    )
