"""A diagram becomes text for Graphviz.

What      : a digraph whose strata are clusters from top to bottom.
Invariant : every text is quoted; the same diagram gives the same bytes.
Never     : no Graphviz is called.
"""

from __future__ import annotations

from tidelog.cli.drawing.diagram import AGGREGATED, NEGATIVE, POSITIVE, Box, Diagram

ARROWS = {
    POSITIVE: 'color="#64748b"',
    NEGATIVE: 'color="#dc2626" style=dashed label="not" fontcolor="#dc2626"',
    AGGREGATED: 'color="#7c3aed" style=dotted label="aggregates" fontcolor="#7c3aed"',
}


def dot(diagram: Diagram) -> str:
    """The diagram in the DOT language."""
    lines = [
        "digraph hrdg {",
        f"  label={_quoted(f'{diagram.title}: {diagram.subtitle}')} labelloc=t rankdir=TB;",
        '  node [shape=box style="rounded,filled" fillcolor=white color="#94a3b8" fontname="monospace" fontsize=10];',
        '  edge [fontname="sans-serif" fontsize=9];',
    ]
    for stratum in sorted({box.stratum for box in diagram.boxes}):
        lines.append(f'  subgraph cluster_{stratum} {{ label="stratum {stratum}" color="#cbd5e1";')
        lines.extend(f"    n{i} [{_box(box)}];" for i, box in enumerate(diagram.boxes) if box.stratum == stratum)
        lines.append("  }")
    lines.extend(f"  n{arrow.source} -> n{arrow.target} [{ARROWS[arrow.kind]}];" for arrow in diagram.arrows)
    lines.extend(f"  n{i} -> n{i} [{_loop(box)}];" for i, box in enumerate(diagram.boxes) if box.is_recursive)
    return "\n".join([*lines, "}"]) + "\n"


def _box(box: Box) -> str:
    text = "".join(f"{name + ': ' if name else ''}{line}\\l" for name, line in map(_escaped_pair, box.lines))
    tint = ' fillcolor="#fffbeb" color="#d97706"' if box.is_recursive else ""
    return f'label="{_escaped(box.title)}\\n{text}"{tint}'


def _loop(box: Box) -> str:
    return ARROWS[NEGATIVE] if box.is_contradictory else 'color="#d97706" label="recursive" fontcolor="#d97706"'


def _escaped_pair(line: tuple[str, str]) -> tuple[str, str]:
    return _escaped(line[0]), _escaped(line[1])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'
