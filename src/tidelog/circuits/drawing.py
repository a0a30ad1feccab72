"""Pictures of circuits.

What      : `mermaid` writes a circuit as a Mermaid flowchart, `svg` as a picture that needs nothing else.
Idea      : boxes stand in columns by their distance from the inputs; a recursion is a frame of its own below its box.
Invariant : the same circuit gives the same text, so that a drawing tells circuits apart (saving.py).
Never     : no data; names are escaped for the language they are written in.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tidelog.circuits.circuit import Circuit, Wire

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 132, 38, 44, 22


def _label(wire: Wire) -> str:
    operator = wire.operator
    return f"{operator.word} {operator.note}".strip()


def _inside(wire: Wire) -> Sequence[Wire]:
    scope = getattr(wire.operator, "scope", None)
    return scope.wires if scope is not None else ()


def _numbered(circuit: Circuit) -> dict[int, str]:
    names: dict[int, str] = {}
    for at, wire in enumerate(circuit.wires):
        names[id(wire)] = f"n{at}"
        for inner, one in enumerate(_inside(wire)):
            names[id(one)] = f"n{at}_{inner}"
    return names


def mermaid(circuit: Circuit) -> str:
    """The circuit as a Mermaid flowchart."""
    names = _numbered(circuit)
    lines = ["flowchart LR"]
    for wire in circuit.wires:
        lines.append(f"  {_box(names[id(wire)], _label(wire))}")
        if _inside(wire):
            lines.append(f"  subgraph inside_{names[id(wire)]}[rounds]")
            lines += [f"    {_box(names[id(one)], _label(one))}" for one in _inside(wire)]
            lines += [f"    {edge}" for one in _inside(wire) for edge in _edges(one, names)]
            lines.append("  end")
        lines += [f"  {edge}" for edge in _edges(wire, names)]
    for name, wire in sorted(circuit.outputs.items()):
        lines.append(f"  {names[id(wire)]} --> {_box(f'out_{names[id(wire)]}_{len(name)}', f'output {name}')}")
    return "\n".join(lines) + "\n"


def _box(name: str, label: str) -> str:
    text = label.replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace("\n", " ")
    return f'{name}["{text}"]'


def _edges(wire: Wire, names: dict[int, str]) -> Iterator[str]:
    for source in wire.sources:
        yield f"{names[id(source)]} --> {names[id(wire)]}"


def svg(circuit: Circuit) -> str:
    """The circuit as a picture: boxes in columns, arrows from left to right."""
    places: dict[int, tuple[int, int]] = {}
    shown: list[tuple[Wire, str]] = []
    filled: dict[int, int] = {}

    def put(wire: Wire, least: int) -> None:
        column = max([least, *(places[id(source)][0] + 1 for source in wire.sources)])
        places[id(wire)] = column, filled.setdefault(column, 0)
        filled[column] += 1
        shown.append((wire, _label(wire)))

    for wire in circuit.wires:
        for one in _inside(wire):
            put(one, 1 + max([0, *(places[id(source)][0] for source in wire.sources)]))
        put(wire, 1 + max([-1, *(places[id(one)][0] for one in _inside(wire))]))
    outputs = [(places[id(wire)][0] + 1, name, wire) for name, wire in sorted(circuit.outputs.items())]
    last = max([column for column, _ in places.values()] + [column for column, *_ in outputs], default=0)
    boxes, arrows = [], []
    for wire, label in shown:
        boxes.append(_rectangle(*_corner(*places[id(wire)]), label))
        arrows += [_arrow(_corner(*places[id(source)]), _corner(*places[id(wire)])) for source in wire.sources]
        arrows += [_arrow(_corner(*places[id(one)]), _corner(*places[id(wire)])) for one in _inside(wire)[-1:]]
    for column, name, wire in outputs:
        filled[column] = filled.get(column, 0) + 1
        corner = _corner(column, filled[column] - 1)
        boxes.append(_rectangle(*corner, f"output {name}"))
        arrows.append(_arrow(_corner(*places[id(wire)]), corner))
    width = (last + 1) * (_WIDTH + _GAP_X) + _GAP_X
    height = max(filled.values(), default=1) * (_HEIGHT + _GAP_Y) + _GAP_Y
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12"><defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" '
        'refY="3" orient="auto"><path d="M0,0 L7,3 L0,6 z" fill="#557"/></marker></defs>'
        f'<rect width="{width}" height="{height}" fill="white"/>'
    )
    return "\n".join([head, *arrows, *boxes, "</svg>"]) + "\n"


def _corner(column: int, row: int) -> tuple[int, int]:
    return _GAP_X + column * (_WIDTH + _GAP_X), _GAP_Y + row * (_HEIGHT + _GAP_Y)


def _rectangle(x: int, y: int, label: str) -> str:
    short = label if len(label) <= 20 else f"{label[:19]}…"
    return (
        f'<g><title>{escape(label)}</title><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" '
        f'fill="#eef2fa" stroke="#557"/><text x="{x + _WIDTH // 2}" y="{y + _HEIGHT // 2 + 4}" '
        f'text-anchor="middle">{escape(short)}</text></g>'
    )


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    x, y = start[0] + _WIDTH, start[1] + _HEIGHT // 2
    to_x, to_y = end[0], end[1] + _HEIGHT // 2
    middle = (x + to_x) // 2
    path = f"M{x},{y} C{middle},{y} {middle},{to_y} {to_x},{to_y}"
    return f'<path d="{path}" fill="none" stroke="#557" marker-end="url(#tip)"/>'
