"""The rule graph of a program inside another page: a notebook.

What      : `rule_graph` gives the picture as an `<img>` that holds it.
Idea      : inside an image neither the style of the picture nor that of the page reaches the other.
Invariant : a program that nobody could read as a picture gives none, so that a cell is never megabytes.
Never     : nothing is fetched, no script.
"""

from __future__ import annotations

from base64 import b64encode

from tidelog.analysis.hypergraph import hypergraph
from tidelog.analysis.inlining import evaluated_rules
from tidelog.cli.drawing.diagram import diagram
from tidelog.cli.drawing.svg import svg
from tidelog.language.terms import Program

_MANY = 100
"""More rules are not drawn; `tidelog graph` draws them into a file."""


def rule_graph(program: Program) -> str:
    """Which rules feed which, as HTML; empty if there is nothing or too much to draw."""
    if not 0 < len(program.rules) <= _MANY:
        return ""
    picture = svg(diagram(hypergraph(evaluated_rules(program)), "which rules feed which"))
    held = b64encode(picture.encode()).decode()
    return f'<img alt="which rules feed which" style="max-width:100%" src="data:image/svg+xml;base64,{held}">'
