"""A diagram becomes a Mermaid flowchart, which Markdown viewers draw.

What      : a flowchart from top to bottom whose strata are subgraphs.
Invariant : every text is escaped as Mermaid's entity codes; the same diagram gives the same bytes.
Never     : no Mermaid is called.
"""

from __future__ import annotations

from tidelog.cli.drawing.diagram import AGGREGATED, NEGATIVE, POSITIVE, Box, Diagram

ARROWS = {POSITIVE: "-->", NEGATIVE: "-. not .->", AGGREGATED: "-. aggregates .->"}
COLOURS = {NEGATIVE: "#dc2626", AGGREGATED: "#7c3aed"}
PLAIN = frozenset(" ,.:-_()!=+*/^%{}|")


def mermaid(diagram: Diagram) -> str:
    """The diagram as a Mermaid flowchart."""
    lines = ["flowchart TB", f"  %% {diagram.title}: {diagram.subtitle}".replace("\n", " ")]
    for stratum in sorted({box.stratum for box in diagram.boxes}):
        lines.append(f'  subgraph s{stratum}["stratum {stratum}"]')
        lines.extend(f'    n{i}["{_text(box)}"]' for i, box in enumerate(diagram.boxes) if box.stratum == stratum)
        lines.append("  end")
    lines.extend(f"  n{arrow.source} {ARROWS[arrow.kind]} n{arrow.target}" for arrow in diagram.arrows)
    lines.extend(
        f"  linkStyle {index} stroke:{COLOURS[arrow.kind]}"
        for index, arrow in enumerate(diagram.arrows)
        if arrow.kind in COLOURS
    )
    lines.append("  classDef recursive fill:#fffbeb,stroke:#d97706")
    recursive = [f"n{i}" for i, box in enumerate(diagram.boxes) if box.is_recursive]
    if recursive:
        lines.append(f"  class {','.join(recursive)} recursive")
    return "\n".join(lines) + "\n"


def _text(box: Box) -> str:
    badge = " #8635; not stratifiable" if box.is_contradictory else " #8635; recursive" if box.is_recursive else ""
    lines = [f"{_escaped(name + ': ' if name else '')}{_escaped(text)}" for name, text in box.lines]
    return "<br/>".join([f"<b>{_escaped(box.title)}</b>{badge}", *lines])


def _escaped(text: str) -> str:
    """Letters, digits and harmless signs stay; everything else becomes an entity code."""
    return "".join(sign if sign.isalnum() or sign in PLAIN else f"#{ord(sign)};" for sign in text)
