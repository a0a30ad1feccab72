"""Lines that cannot be applied, and streams that hold them.

What      : `KINDS` has a line of every kind that is no update or cannot be applied to `engine()`; `AFTER` has lines
            that become bad by the line before them; `stream(seed)` draws good and bad lines; `one_by_one` is the naive
            twin.
Idea      : what a stream means is what its lines mean one by one: apply, or leave out if the engine refuses. Whoever
            puts lines together has to come to the same facts and the same rejects.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import tidelog as tl
from tests.pipeline.places import RULES
from tidelog.changes.update import read_update
from tidelog.pipeline.follow.updates import Line, read_line
from tidelog.pipeline.sources.rejects import Reject

FACTS = {"edge": [("a", "b"), ("b", "c")], "free": [(1,)]}
LIMITS = tl.Limits(facts=5_000)


def rules(text: str) -> str:
    """A line that adds rules."""
    return json.dumps({"add_rules": text})


_NEAR = ".decl near(x: symbol, y: symbol) inline"
KINDS: dict[str, str | bytes] = {
    "no JSON": '{"insert": [',
    "deep JSON": "[" * 100_000,
    "long number": '{"insert": [["n", ' + "9" * 5_000 + "]]}",
    "no UTF-8": b'{"insert": [["n", "\xff"]]}',
    "separator alone": "\u2028",
    "no object": "[1]",
    "unknown key": '{"upsert": []}',
    "key twice": '{"insert": [["edge", "x", "y"]], "insert": []}',
    "no list": '{"insert": {"edge": 1}}',
    "no name": '{"delete": [[1, 2]]}',
    "empty name": '{"insert": [["", 1]]}',
    "surrogate name": '{"insert": [["\\ud800", 1]]}',
    "our own name": '{"insert": [["@program", "rules", "x"]]}',
    "our own name deleted": '{"delete": [["@program", "rules", "x"]]}',
    "surrogate value": '{"insert": [["edge", "\\ud800", "x"]]}',
    "no value": '{"insert": [["n", null]]}',
    "nested value": '{"insert": [["n", [1]]]}',
    "not a number": '{"insert": [["n", NaN]]}',
    "too large": '{"insert": [["n", 18446744073709551616]]}',
    "declared columns": '{"insert": [["edge", "x"]]}',
    "declared columns deleted": '{"delete": [["edge", "x"]]}',
    "columns of a rule": '{"insert": [["path", "x"]]}',
    "columns of facts": '{"insert": [["free", 1, 2]]}',
    "mixed columns": '{"insert": [["n", 1], ["n", 1, 2]]}',
    "declared type": '{"insert": [["edge", "x", 7]]}',
    "rules are no text": '{"add_rules": 5}',
    "no rule": rules("p(x :- q."),
    "surrogate rule": '{"add_rules": "`\\ud800`: p(x) :- edge(x, _)."}',
    "unsafe rule": rules("p(x) :- !edge(x, x)."),
    "negative cycle": rules("w(x) :- node(x), !w(x)."),
    "rule with other columns": rules("path(x) :- edge(x, _)."),
    "rule with other columns than facts": rules("free(x, y) :- edge(x, y)."),
    "rule about our own": rules("`@program`(x, x) :- edge(x, _)."),
    "inline with facts": rules(".decl free(x: number) inline"),
    "inline and recursive": rules(".decl s(x: symbol) inline s(x) :- edge(x, y), s(y)."),
    "declared again": rules(".decl edge(a: symbol, b: number)"),
    "name of a rule taken": rules("tr: p(x) :- edge(x, _)."),
    "unknown rule": '{"remove_rules": ["nobody"]}',
    "inline columns": rules('edge("x").'),
    "inline type": rules('edge("x", 7).'),
    "inline name of ours": rules('`@program`("rules", "x").'),
    "inline columns beside facts": '{"insert": [["n", 1]], "add_rules": "n(1, 2)."}',
    "facts beside a rule": '{"insert": [["n", 1]], "add_rules": "n(x, x) :- edge(x, _)."}',
    "budget": rules(
        "big(a, b, c, d, e, f, g, h, i, j, k, l) :- node(a), node(b), node(c), node(d), node(e), node(f), node(g), "
        "node(h), node(i), node(j), node(k), node(l)."
    ),
}

ENDLESS = rules("up(0). up(y) :- up(x), y = x + 1, x < 500.")
"""A line that takes more rounds than a limit of them allows."""

AFTER: dict[str, tuple[str, str]] = {
    "columns of a declaration": (rules(".decl fresh(x: number)"), '{"insert": [["fresh", 1, 2]]}'),
    "type of a declaration": (rules(".decl fresh(x: number)"), '{"insert": [["fresh", "text"]]}'),
    "inline type of a declaration": (rules(".decl fresh(x: number)"), rules('fresh("text").')),
    "columns of a new rule": (rules("s(x) :- edge(x, _)."), '{"insert": [["s", "x", "y"]]}'),
    "columns of a new fact": ('{"insert": [["fresh", 1]]}', '{"insert": [["fresh", 1, 2]]}'),
    "inline columns of a new fact": ('{"insert": [["fresh", 1]]}', rules("fresh(1, 2).")),
    "a rule over a new fact": ('{"insert": [["fresh", 1]]}', rules("fresh(x, y) :- edge(x, y).")),
    "a rule's name": (rules("s: s(x) :- edge(x, _)."), rules("s: t(x) :- edge(x, _).")),
    "a cycle": (rules("s(x) :- node(x), !t(x)."), rules("t(x) :- s(x).")),
    "a fact of an inline relation": (rules(_NEAR), '{"insert": [["near", "a", "b"]]}'),
    "a written fact of an inline relation": (rules(_NEAR), rules('near("a", "b").')),
    "an aggregate over several inline rules": (
        rules(f"{_NEAR} near(x, y) :- edge(x, y). nears(n) :- n = count : {{ near(_, _) }}."),
        rules("near(x, y) :- edge(y, x)."),
    ),
    "a rule that is gone": ('{"remove_rules": ["tr"]}', '{"remove_rules": ["tr"]}'),
}

GOOD = (
    '{"insert": [["edge", "c", "d"]]}',
    '{"insert": [["edge", "d", "a"], ["free", 2]], "delete": [["edge", "a", "b"]]}',
    '{"add_rules": "loop: loop(x) :- path(x, x)."}',
    '{"insert": [["edge", "a", "b"]], "add_rules": "node(\\"inline\\")."}',
    '{"remove_rules": ["loop"]}',
    '{"delete": [["edge", "nobody", "there"]]}',
)


def engine(limits: tl.Limits = LIMITS) -> tl.Engine:
    """The engine that the lines are for."""
    found = tl.Engine(RULES, limits=limits)
    found.apply(insert=FACTS)
    return found


def read(lines: Sequence[str | bytes]) -> list[Line | Reject]:
    """Lines as a pipeline reads them from one file."""
    return [read_line(text, "updates.jsonl", number) for number, text in enumerate(lines, 1)]


def one_by_one(lines: Sequence[str | bytes], limits: tl.Limits = LIMITS) -> tuple[tl.Engine, list[int]]:
    """The naive twin: the engine after every line that it takes, and the numbers of those that it refuses."""
    found, refused = engine(limits), []
    for number, text in enumerate(lines, 1):
        try:
            found.apply_update(read_update(text if isinstance(text, bytes) else text.encode()))
        except tl.TidelogError:
            refused.append(number)
    return found, refused


def stream(seed: int, length: int = 14) -> list[str | bytes]:
    """Good lines and bad ones, and relations that are emptied and filled with other columns."""
    draw, lines = random.Random(seed), list[str | bytes]()
    while len(lines) < length:
        match draw.randrange(6):
            case 0:
                lines.append(draw.choice(list(KINDS.values())))
            case 1:
                lines.extend(draw.choice(list(AFTER.values())))
            case 2:
                lines.append(draw.choice(GOOD))
            case 3:
                values = [draw.randrange(2) for _ in range(draw.randint(1, 3))]
                lines.append(json.dumps({draw.choice(("insert", "delete")): [["free", *values]]}))
            case 4:
                head = draw.choice(("own(x)", "own(x, x)", "own(x, x, x)"))
                lines.append(
                    rules(f"own: {head} :- edge(x, _).") if draw.random() < 0.5 else '{"remove_rules": ["own"]}'
                )
            case _:
                ends = [draw.choice("abcdef") for _ in range(2)]
                lines.append(json.dumps({draw.choice(("insert", "insert", "delete")): [["edge", *ends]]}))
    return lines
