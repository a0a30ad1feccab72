"""A diagram becomes an SVG picture.

What      : self-contained SVG: no scripts, no fonts to fetch, no measuring program needed.
Idea      : text is set in a fixed-width font, so that widths follow from lengths.
Invariant : every text is escaped; the same diagram gives the same bytes.
Never     : no decision about positions (layout.py) or words (diagram.py).
"""

from __future__ import annotations

import itertools
from html import escape
from math import cos, pi, sin

from tidelog.cli.drawing.diagram import AGGREGATED, NEGATIVE, POSITIVE, Box, Diagram
from tidelog.cli.drawing.layout import MARGIN, Layout, Point, lay_out

CHARACTER, LINE, PADDING, TITLE_ROW = 7.45, 18.0, 14.0, 32.0
HEADER, LEGEND = 84.0, 58.0
COLOURS = {POSITIVE: "#64748b", NEGATIVE: "#dc2626", AGGREGATED: "#7c3aed"}
DASHES = {POSITIVE: "", NEGATIVE: ' stroke-dasharray="7 5"', AGGREGATED: ' stroke-dasharray="2 4"'}
WORDS = {POSITIVE: "reads", NEGATIVE: "reads under negation", AGGREGATED: "aggregates"}
RECURSIVE, ERROR = "#d97706", "#dc2626"

STYLE = """
  text { font-family: Inter, "Segoe UI", "Helvetica Neue", Helvetica, Arial, sans-serif; fill: #0f172a }
  .code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 12px }
  .name { fill: #64748b }
  .small { font-size: 12px; fill: #475569 }
"""


def svg(diagram: Diagram) -> str:
    """The picture as text."""
    sizes = [_size(box) for box in diagram.boxes]
    layout = lay_out(sizes, [box.stratum for box in diagram.boxes], [(a.source, a.target) for a in diagram.arrows])
    heading = max(len(diagram.title) * 14.0, len(diagram.subtitle) * 7.5) + 2 * MARGIN
    width = max(layout.width, _legend_width(diagram) + 2 * MARGIN, heading)
    shift = (width - layout.width) / 2
    height = HEADER + layout.height + LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{escape(diagram.title)}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{MARGIN}" y="40" font-size="22" font-weight="700">{escape(diagram.title)}</text>',
        f'<text x="{MARGIN}" y="63" font-size="14" style="fill:#64748b">{escape(diagram.subtitle)}</text>',
        *_bands(layout, width),
        f'<g transform="translate({shift:.1f} {HEADER:.1f})">',
        *(_arrow(route, arrow.kind) for route, arrow in zip(layout.routes, diagram.arrows)),
        *(_box(box, corner, size) for box, corner, size in zip(diagram.boxes, layout.corners, sizes)),
        "</g>",
        *_legend(diagram, height - LEGEND / 2),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _name_width(box: Box) -> int:
    return max((len(name) for name, _ in box.lines), default=0)


def _size(box: Box) -> tuple[float, float]:
    names = _name_width(box)
    code = (names + (1.5 if names else 0) + max((len(text) for _, text in box.lines), default=0)) * CHARACTER
    title = len(box.title) * 9.0 + (160.0 if box.is_contradictory else 116.0 if box.is_recursive else 0.0)
    return max(code, title) + 2 * PADDING, TITLE_ROW + len(box.lines) * LINE + PADDING


def _bands(layout: Layout, width: float) -> list[str]:
    parts = []
    for index, (stratum, top, bottom) in enumerate(layout.bands):
        fill = "#f8fafc" if index % 2 == 0 else "#eef2f7"
        y = HEADER + top
        parts.append(f'<rect x="0" y="{y:.1f}" width="{width:.0f}" height="{bottom - top:.1f}" fill="{fill}"/>')
        parts.append(
            f'<text x="{MARGIN / 2}" y="{y + 19:.1f}" font-size="11" font-weight="600" letter-spacing="1.2" '
            f'style="fill:#94a3b8">STRATUM {stratum}</text>'
        )
    return parts


def _box(box: Box, corner: Point, size: tuple[float, float]) -> str:
    (x, y), (width, height) = corner, size
    border = ERROR if box.is_contradictory else RECURSIVE if box.is_recursive else "#94a3b8"
    fill, top = ("#fffbeb", "#fef3c7") if box.is_recursive else ("#ffffff", "#f1f5f9")
    parts = [
        f'<g transform="translate({x:.1f} {y:.1f})">',
        f'<rect x="2" y="3" width="{width:.1f}" height="{height:.1f}" rx="9" fill="#0f172a" opacity="0.07"/>',
        f'<rect width="{width:.1f}" height="{height:.1f}" rx="9" fill="{fill}"/>',
        f'<path d="M0 26 V9 A9 9 0 0 1 9 0 H{width - 9:.1f} A9 9 0 0 1 {width:.1f} 9 V26 Z" fill="{top}"/>',
        f'<rect width="{width:.1f}" height="{height:.1f}" rx="9" fill="none" stroke="{border}" stroke-width="1.4"/>',
        f'<text x="{PADDING}" y="18" font-size="13.5" font-weight="700">{escape(box.title)}</text>',
    ]
    if box.is_recursive:
        parts.append(_badge(width - PADDING, "not stratifiable" if box.is_contradictory else "recursive", border))
    indent = PADDING + (_name_width(box) + 1.5) * CHARACTER if _name_width(box) else PADDING
    for index, (name, text) in enumerate(box.lines):
        baseline = TITLE_ROW + 13 + index * LINE
        if name:
            parts.append(f'<text class="code name" x="{PADDING}" y="{baseline:.1f}">{escape(name)}</text>')
        parts.append(
            f'<text class="code" x="{indent:.1f}" y="{baseline:.1f}" xml:space="preserve">{escape(text)}</text>'
        )
    return "\n".join([*parts, "</g>"])


def _badge(right: float, word: str, colour: str) -> str:
    """A circular arrow and a word."""
    return (
        f'<text x="{right:.1f}" y="17.5" font-size="11" font-weight="600" text-anchor="end" '
        f'style="fill:{colour}">{word}</text>' + _loop(right - len(word) * 6.3 - 9, 13.5, colour)
    )


def _loop(x: float, y: float, colour: str) -> str:
    radius = 4.8
    angle = -pi / 5
    end_x, end_y = x + radius * cos(angle), y + radius * sin(angle)
    return (
        f'<path d="M{x + radius * cos(pi / 6):.1f} {y + radius * sin(pi / 6):.1f} A{radius} {radius} 0 1 1 '
        f'{end_x:.1f} {end_y:.1f}" fill="none" stroke="{colour}" stroke-width="1.6"/>'
        f'<path d="M{end_x - 3.6:.1f} {end_y - 0.6:.1f} L{end_x + 1.8:.1f} {end_y + 2.0:.1f} '
        f'L{end_x + 1.9:.1f} {end_y - 3.6:.1f} Z" fill="{colour}"/>'
    )


def _arrow(route: tuple[Point, ...], kind: str) -> str:
    """A curve through the points that is vertical at each of them, with a head at the end."""
    end_x, end_y = route[-1]
    points = [*route[:-1], (end_x, end_y - 7)]
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for (x1, y1), (x2, y2) in itertools.pairwise(points):
        bend = (y2 - y1) * 0.5
        path.append(f"C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}")
    colour, width = COLOURS[kind], 1.5 if kind == POSITIVE else 1.9
    return (
        f'<path d="{" ".join(path)}" fill="none" stroke="{colour}" stroke-width="{width}"{DASHES[kind]}/>'
        f'<path d="M{end_x - 4.5:.1f} {end_y - 8.5:.1f} L{end_x:.1f} {end_y - 0.5:.1f} '
        f'L{end_x + 4.5:.1f} {end_y - 8.5:.1f} Z" fill="{colour}"/>'
    )


def _legend_items(diagram: Diagram) -> list[str]:
    kinds = {arrow.kind for arrow in diagram.arrows}
    shown = [kind for kind in (POSITIVE, NEGATIVE, AGGREGATED) if kind in kinds]
    return [*shown, *(["recursive"] if any(box.is_recursive for box in diagram.boxes) else [])]


def _legend_width(diagram: Diagram) -> float:
    return sum(70 + 6.8 * len(WORDS.get(item, "recursive hyper-node")) for item in _legend_items(diagram))


def _legend(diagram: Diagram, y: float) -> list[str]:
    parts, x = [], MARGIN
    for item in _legend_items(diagram):
        word = WORDS.get(item, "recursive hyper-node")
        if item in COLOURS:
            parts.append(
                f'<path d="M{x:.1f} {y:.1f} H{x + 28:.1f}" stroke="{COLOURS[item]}" stroke-width="2"{DASHES[item]}/>'
                f'<path d="M{x + 27:.1f} {y - 4.5:.1f} L{x + 35:.1f} {y:.1f} L{x + 27:.1f} {y + 4.5:.1f} Z" '
                f'fill="{COLOURS[item]}"/>'
            )
        else:
            parts.append(
                f'<rect x="{x + 4:.1f}" y="{y - 8:.1f}" width="26" height="16" rx="4" fill="#fef3c7" '
                f'stroke="{RECURSIVE}"/>' + _loop(x + 17, y, RECURSIVE)
            )
        parts.append(f'<text class="small" x="{x + 43:.1f}" y="{y + 4:.1f}">{word}</text>')
        x += 70 + 6.8 * len(word)
    return parts
