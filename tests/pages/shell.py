"""A session of the shell, recorded: the page docs/shell.md and its picture.

What      : `LINES` is what somebody types; `page` types it and writes down what is answered, as text and as a picture.
Invariant : the committed page is what `page` gives (tests/pages/test_pages.py); `python -m tests.pages` writes it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tidelog.console.session import Session
from tidelog.engine import Engine

PROMPT = "tidelog> "
LINES = (
    'edge("home", "station").',
    'edge("station", "harbour").',
    'edge("harbour", "island").',
    "path(x, y) :- edge(x, y).",
    "step: path(x, z) :- edge(x, y), path(y, z).",
    'path("home", x)',
    'path("home", x), !edge("home", x), n = count : { edge(x, _) }',
    '.why path("home", "island")',
    '-edge("station", "harbour")',
    '.whynot path("home", "island")',
    ".undo",
    ".plan step",
    ".preview -step",
    "-step",
    ".verify",
)
PROOF = (
    '.explain path("home", "island")',
    '-edge("station", "harbour")',
    '.why path("home", "island")',
    '.whynot path("home", "island")',
)

OPENING = """# The shell

`tidelog shell` loads facts and rules once; then you ask, insert, delete, add and remove rules, and have the answers
explained. `.help` lists the commands. Rules may take several lines; the arrow keys bring back earlier lines, the
tabulator completes names. `tidelog shell < script` runs a file. This session is recorded by `python -m tests.pages`.

![A session of the shell](pictures/shell.svg)

The same as text, to copy from:

"""

_CHARACTER, _LINE, _MARGIN, _MOST = 8.4, 19.0, 22.0, 110


def session(typed: Sequence[str] = LINES, begun: Sequence[str] = ()) -> list[tuple[str, str]]:
    """What is typed, and what is answered; `begun` is typed before, unseen."""
    shell = Session(Engine())
    for line in begun:
        shell.run(line)
    return [(line, shell.run(line)) for line in typed]


def page() -> str:
    """The page as text."""
    said = [f"{PROMPT}{line}\n{answer}".rstrip() for line, answer in session()]
    return OPENING + "```text\n" + "\n".join(said) + "\n```\n"


def picture() -> str:
    """The session as a picture."""
    return drawn(session())


def proof() -> str:
    """Why, and why not, as a picture for the README."""
    return drawn(session(PROOF, LINES[:5]))


def drawn(said: Sequence[tuple[str, str]]) -> str:
    """A session as SVG, without scripts and without fonts to fetch."""
    lines = [part for line, answer in said for part in (f"{PROMPT}{line}", *answer.splitlines())]
    width = 2 * _MARGIN + _CHARACTER * min(max(map(len, lines)), _MOST)
    height = 2 * _MARGIN + 34 + _LINE * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="A session of tidelog shell">',
        "<style>text { font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #e2e8f0; "
        "white-space: pre } .typed { fill: #7dd3fc } .prompt { fill: #64748b }</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="10" fill="#0f172a"/>',
        *(
            f'<circle cx="{_MARGIN + 20 * number}" cy="22" r="6" fill="{colour}"/>'
            for number, colour in enumerate(("#ef4444", "#f59e0b", "#22c55e"))
        ),
    ]
    for number, line in enumerate(lines):
        top = _MARGIN + 44 + _LINE * number
        text = escape(line if len(line) <= _MOST else f"{line[: _MOST - 1]}…")
        if line.startswith(PROMPT):
            typed = escape(line.removeprefix(PROMPT))
            text = f'<tspan class="prompt">{PROMPT}</tspan><tspan class="typed">{typed}</tspan>'
        parts.append(f'<text xml:space="preserve" x="{_MARGIN}" y="{top:.0f}">{text}</text>')
    return "\n".join([*parts, "</svg>", ""])
