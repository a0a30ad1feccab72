"""Forty mistakes and what Tidelog says about them: the page docs/mistakes.md.

What      : `MISTAKES` is the list; `page` makes every mistake, in a folder of its own, and writes down what was said.
Idea      : a message is best judged beside the mistake that it answers. The page is made by the program itself, so it
            cannot promise a message that is not there.
Invariant : the committed page is what `page` gives (tests/pages/test_pages.py); `python -m tests.pages` writes it anew.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.cli import main

PROGRESS = re.compile(r" \.\.\.$|: (?:done|stopped), [\d,]+ facts, ")
EDGES = {"facts/edge.csv": "a,b\nb,c\n"}
MATERIALIZE = ("materialize", "rules.dl", "--facts", "facts", "--out", "out")
PIPELINE = """program = "rules.dl"
state = "state"

[sources.edge]
format = "csv"
path = "edge.csv"
"""


@dataclass(frozen=True)
class Mistake:
    """What somebody wrote, and the command that meets it."""

    title: str
    rules: str = "path(x, y) :- edge(x, y).\n"
    command: tuple[str, ...] = ("check", "rules.dl")
    files: dict[str, str] = field(default_factory=dict)
    shown: str = ""
    """The file to show in place of the rules."""


def habit(title: str, rules: str) -> Mistake:
    """A way of writing that belongs to another language."""
    return Mistake(title, f"{rules}\n")


SECTIONS: dict[str, tuple[Mistake, ...]] = {
    "Habits of other languages": (
        habit("`==` for equality", "p(x) :- q(x), x == 1."),
        habit("`<>` for inequality", "p(x) :- q(x), x <> 1."),
        habit("Prolog's negation", "p(x) :- q(x), \\+ r(x)."),
        habit("Prolog's inequality", "p(x) :- q(x), x \\= 1."),
        habit("Prolog's order", "p(x) :- q(x), x =< 1."),
        habit("Prolog's `is`", "p(x) :- q(y), x is y + 1."),
        habit("An assignment", "p(x) :- q(y), x := y."),
        habit("SQL's `and`", "p(x) :- q(x) and r(x)."),
        habit("C's `||`", "p(x) :- q(x) || r(x)."),
        habit("SQL's `sum(y)`", "p(s) :- q(_), s = sum(y)."),
        habit("An aggregate of an expression", "p(x) :- q(x), x = max (x/2)*2 : { q(x) }."),
        habit("Souffle's bit operations", "p(x) :- q(y), x = y band 3."),
        habit("Souffle's unsigned numbers", "p(1u)."),
        habit("Souffle's data types", "p($Leaf(x)) :- q(x)."),
        habit("A literal that never holds", "p(x) :- q(x), false."),
        habit("RDFox's triples in a `.dl` file", "[?x, p, ?y] :- [?y, p, ?x]."),
        habit("Prolog's comments", "% paths\np(x) :- q(x)."),
    ),
    "Rules that cannot mean anything": (
        Mistake("A full stop is missing", "path(x, y) :- edge(x, y)\npath(x, z) :- edge(x, y), path(y, z).\n"),
        Mistake("A string is not closed", 'p(x) :- q(x, "a).\n'),
        Mistake("The head has a variable that nothing binds", "path(x, z) :- edge(x, y).\n"),
        Mistake("A negated atom binds nothing", "lonely(x) :- !edge(x, _).\n"),
        Mistake("A relation with two and with three columns", "p(x) :- q(x, y), q(x, y, z).\n"),
        Mistake("Negation in a circle", "win(x) :- move(x, y), !win(y).\n"),
        Mistake("A function that is not there", "p(y) :- q(x), y = sqrt(x).\n"),
        Mistake("A type that is not there", ".decl p(x: int)\np(x) :- q(x).\n"),
        Mistake("Two rules with one name", "r: p(x) :- q(x).\nr: p(x) :- s(x).\n"),
        Mistake("Several mistakes at once", "p(x) :- q(x), x == 1.\nr(x) :- \\+ s(x).\nt(x) : u(x).\n"),
    ),
    "What is probably not meant": (
        Mistake("A variable that occurs once", 'reach(x) :- edge(x, alice).\n', MATERIALIZE, EDGES),
        Mistake("A relation that nobody fills, but a similar one", "p(x) :- egde(x, _).\n", MATERIALIZE, EDGES),
        Mistake("A file that is misspelt", command=MATERIALIZE, files={"facts/egde.csv": "a,b\n"},
                shown="facts/egde.csv"),
        Mistake("A file with an unknown ending", command=MATERIALIZE, files={"facts/edge.txt": "a,b\n"},
                shown="facts/edge.txt"),
        Mistake("A header that would become a fact", command=MATERIALIZE,
                files={"facts/edge.csv": "source,target\na,b\nb,c\n"}, shown="facts/edge.csv"),
    ),
    "Files and options": (
        Mistake("A line with too many columns", ".decl edge(x: symbol, y: symbol)\npath(x, y) :- edge(x, y).\n",
                MATERIALIZE, {"facts/edge.csv": "a,b\nb,c,d\n"}, "facts/edge.csv"),
        Mistake("A value of another type", ".decl age(who: symbol, years: number)\nold(x) :- age(x, y), y > 90.\n",
                MATERIALIZE, {"facts/age.csv": "ann,91\nbob,many\n"}, "facts/age.csv"),
        Mistake("A separator of two characters", '.decl edge(x: symbol, y: symbol)\n.input edge(delimiter="::")\n'
                "path(x, y) :- edge(x, y).\n", MATERIALIZE, EDGES),
        Mistake("A medium that is not there", ".decl edge(x: symbol, y: symbol)\n.input edge(IO=sqlite)\n"
                "path(x, y) :- edge(x, y).\n", MATERIALIZE, EDGES),
        Mistake("A strategy that is not there", command=(*MATERIALIZE, "--strategy", "dread"), files=EDGES),
        Mistake("A folder that is not there", command=("materialize", "rules.dl", "--facts", "fact")),
        Mistake("A format of a pipeline that is misspelt", command=("run", "pipeline.toml", "--check"),
                files={"pipeline.toml": PIPELINE.replace('"csv"', '"cvs"'), "edge.csv": "a,b\n"},
                shown="pipeline.toml"),
        Mistake("A Spark master that is misspelt", command=("run", "pipeline.toml", "--check"),
                files={"pipeline.toml": PIPELINE + '\n[spark]\nmaster = "locl[2]"\n', "edge.csv": "a,b\n"},
                shown="pipeline.toml"),
    ),
}  # fmt: skip

OPENING = """# Forty mistakes, and what Tidelog says

Every message has a code, a place, a sentence and a remedy; [errors.md](errors.md) lists the codes. What is wrong
ends with exit code 1 and changes nothing. What is only doubtful is a warning (W...), and with `--strict` an error.
This page is written by `python -m tests.pages`, which makes every mistake and notes the answer.
"""


def page() -> str:
    """The page as text."""
    parts = [OPENING]
    for section, mistakes in SECTIONS.items():
        parts.append(f"\n## {section}\n")
        for mistake in mistakes:
            shown = mistake.files[mistake.shown] if mistake.shown else mistake.rules
            head = f"{mistake.shown}:\n\n" if mistake.shown else ""
            command = f"$ tidelog {' '.join(mistake.command)}"
            answer = f"```text\n{command}\n{said(mistake)}\n```\n"
            parts.append(f"### {mistake.title}\n\n{head}```text\n{shown.rstrip()}\n```\n\n{answer}")
    return "\n".join(parts)


def said(mistake: Mistake) -> str:
    """What the command says about the mistake, on its way to standard error."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in {"rules.dl": mistake.rules, **mistake.files}.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text, encoding="utf-8")
        told = io.StringIO()
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
            main(list(mistake.command))
        text = told.getvalue().replace(f"{os.path.realpath(folder)}{os.sep}", "").replace(f"{folder}{os.sep}", "")
    return "\n".join(line for line in text.splitlines() if not PROGRESS.search(line)).rstrip()
