"""The fourteen queries as bodies of rules.

What      : `bodies()` gives each of the SPARQL files as a question for `engine.query`, by name.
Idea      : all of them are patterns of triples with given classes and properties, and select every variable. So a
            pattern is an atom of its class or property, and rows are the same.
Never     : no other SPARQL is understood.
"""

from __future__ import annotations

import re

from benchmarks.lubm.files import QUERIES
from benchmarks.lubm.generate import UB

_TOKEN = re.compile(r"<[^>]*>|\?\w+|ub:\w+|[a;.]")


def bodies() -> dict[str, str]:
    """Name of a query -> its body as a question."""
    return {path.stem: body(path.read_text(encoding="utf-8")) for path in sorted(QUERIES.glob("*.rq"))}


def body(query: str) -> str:
    """One query as a question."""
    patterns = query[query.index("{") + 1 : query.rindex("}")]
    atoms, waiting, subject = [], [], ""
    for token in [*_TOKEN.findall(patterns), "."]:
        if token not in (";", "."):
            waiting.append(token)
            continue
        if waiting:
            *first, predicate, target = waiting
            subject = first[0] if first else subject
            atoms.append(_atom(subject, predicate, target))
        waiting = []
    return ", ".join(atoms)


def _atom(subject: str, predicate: str, target: str) -> str:
    if predicate == "a":
        return f"{_spelled(target)}({_spelled(subject)})"
    return f"{_spelled(predicate)}({_spelled(subject)}, {_spelled(target)})"


def _spelled(token: str) -> str:
    return f"<{UB}{token[3:]}>" if token.startswith("ub:") else token
