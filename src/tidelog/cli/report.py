"""A run as one HTML page.

What      : `write_report` writes the rules' dependency graph, the latency of every update, and a table of all of them.
Idea      : one file without scripts, fonts or links, so that it opens anywhere and can be mailed.
Invariant : whatever comes from facts or rules is escaped; equal runs give pages that differ only in their times.
Never     : nothing is fetched, neither now nor when the page is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, log10
from pathlib import Path
from typing import Any

from tidelog.analysis.hypergraph import hypergraph
from tidelog.analysis.inlining import evaluated_rules
from tidelog.cli.drawing.diagram import diagram
from tidelog.cli.drawing.svg import svg
from tidelog.language.printer import print_rule
from tidelog.language.terms import Program

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 860, 260, 76, 40
_STYLE = """body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse}td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}
td:last-child,th:last-child{text-align:left}pre{background:#f6f6f6;padding:1em;overflow:auto}svg{max-width:100%;height:auto}
.graph{width:94vw;margin-left:calc(50% - 47vw);overflow:auto;border:1px solid #ddd;border-radius:8px;text-align:center}
.graph svg{max-width:max(100%,1100px);display:block;margin:0 auto}"""

_INTRODUCTION = (
    "Facts were loaded with Spark, everything that follows from them by the rules was derived once, and then updates "
    "arrived: facts that came or went, and rules that came or went. After each of them what was derived was repaired, "
    "stored as a version, and the difference published. At the end the result was compared with a computation from "
    "scratch: it is the same."
)
_PICTURE = (
    "The hyper-graph of rule dependencies (HRDG): a box is a rule, or several that need each other; an arrow leads "
    "from rules to those that read what they derive. An update travels along the arrows, and rules that it does not "
    "reach cost nothing."
)


def write_report(file: Path, program: Program, batches: Sequence[Mapping[str, Any]]) -> Path:
    """Write the page; `batches` are the events of a run."""
    picture = svg(diagram(hypergraph(evaluated_rules(program)), "rules"))
    rules = "\n".join(print_rule(rule) for rule in program.rules)
    parts = (
        "<!doctype html><meta charset=utf-8><title>Tidelog</title>",
        f"<style>{_STYLE}</style><h1>{len(batches)} updates, kept true</h1><p>{_INTRODUCTION}</p>",
        "<h2>Milliseconds per update</h2><p>Dark: the repair of the materialisation. Light: all that an update takes, "
        "with the durable version and the published changes. Red: the updates of the story, which the table below "
        f"tells; point at one to read it here.</p>{latency_plot(batches)}",
        f"<h2>Which rules feed which</h2><p>{_PICTURE}</p><div class=graph>{_inline(picture)}</div>",
        f"<h2>The rules at the end</h2><pre>{escape(rules)}</pre>",
        f"<h2>Every update</h2>{_table(batches)}",
    )
    file.write_text("\n".join(parts), encoding="utf-8")
    return file


def latency_plot(batches: Sequence[Mapping[str, Any]]) -> str:
    """Two points per update on a logarithmic scale, as SVG."""
    times = [max(batch[key] * 1000, 0.01) for batch in batches for key in ("maintenance", "seconds")]
    low, high = min(times, default=1.0), max(times, default=10.0)
    first, last = int(log10(low) // 1), max(ceil(log10(high)), int(log10(low) // 1) + 1)

    def across(number: int) -> float:
        return _LEFT + (number + 0.5) * (_WIDTH - _LEFT - 10) / max(len(batches), 1)

    def up(milliseconds: float) -> float:
        share = (log10(milliseconds) - first) / (last - first)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - 10)

    marks = []
    for power in range(first, last + 1):
        y = up(10**power)
        marks.append(f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        marks.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" font-size="12">{10**power:g} ms</text>')
    for number, batch in enumerate(batches):
        x, colour = across(number), "#c22" if batch.get("title") else "#246"
        inner, whole = (up(max(batch[key] * 1000, 0.01)) for key in ("maintenance", "seconds"))
        title = escape(f"{number + 1}. {batch.get('title') or batch['strategy']}")
        marks.append(f'<g><title>{title}</title><circle cx="{x:.1f}" cy="{whole:.1f}" r="3" fill="#9bd"/>')
        marks.append(f'<circle cx="{x:.1f}" cy="{inner:.1f}" r="4" fill="{colour}"/></g>')
    for number in range(9, len(batches), 10):
        place = f'x="{across(number):.1f}" y="{_HEIGHT - _BOTTOM + 14}"'
        marks.append(f'<text {place} text-anchor="middle" font-size="12">{number + 1}</text>')
    marks.append(f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 6}" text-anchor="middle" font-size="12">update</text>')
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" xmlns="http://www.w3.org/2000/svg">{"".join(marks)}</svg>'


def _inline(picture: str) -> str:
    """The picture without what only a file of its own needs."""
    return picture[picture.index("<svg") :]


def _table(batches: Sequence[Mapping[str, Any]]) -> str:
    titles = ("update", "version", "came", "went", "ms", "strategies", "the story")
    heading = "<tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>"
    rows = []
    for number, batch in enumerate(batches, 1):
        cells = (number, batch["version"], batch["inserted"], batch["deleted"], f"{batch['maintenance'] * 1000:.1f}")
        words = (batch["strategy"], batch.get("title", ""))
        rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in (*cells, *words)) + "</tr>")
    return f"<table>{heading}{''.join(rows)}</table>"
