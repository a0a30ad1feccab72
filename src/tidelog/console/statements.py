"""What a piece of input is.

What      : `Statement` is a command, an insertion, a deletion, rules to add, or a question; `read_statement` tells
            which, `is_complete` whether more lines belong to it.
Idea      : what is written as in a program means what it means there: `edge("a", "b").` inserts a fact, a rule is
            added. Everything else is a question. `+` and `-` before a fact or rule say it plainly; a dot
            begins a command.
Invariant : a text that is neither a program nor a command is a question, and the parser says what is wrong with it.
Never     : nothing is carried out here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tidelog.errors import ProgramError
from tidelog.language.parser import parse
from tidelog.language.terms import Program, Value

_DIRECTIVE = re.compile(r"\.(decl|type)\b")
_QUOTED = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`|//[^\n]*|/\*.*?\*/", re.DOTALL)
_OPEN, _CLOSED = "({", ")}"

Facts = dict[str, list[tuple[Value, ...]]]


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing to do. `kind` is command, update or question; a command has a word and the rest of its line."""

    kind: str
    text: str
    word: str = ""
    insert: Facts = field(default_factory=dict)
    delete: Facts = field(default_factory=dict)
    add_rules: str = ""
    remove_rules: tuple[str, ...] = ()


def is_complete(text: str) -> bool:
    """Whether a piece of input ends here: brackets are closed, and a rule has its full stop."""
    stripped = text.strip()
    if not stripped or (stripped.startswith(".") and not _DIRECTIVE.match(stripped)):
        return True
    bare = _QUOTED.sub("x", stripped).rstrip()
    is_open = sum(bare.count(sign) for sign in _OPEN) > sum(bare.count(sign) for sign in _CLOSED)
    if is_open or bare.endswith((",", ";", ":-", "\\")):
        return False
    return ":-" not in bare or bare.endswith(".")


def read_statement(text: str) -> Statement:
    """What a complete piece of input asks for."""
    stripped = text.strip()
    if stripped.startswith(".") and not _DIRECTIVE.match(stripped):
        word, _, rest = stripped[1:].partition(" ")
        return Statement("command", rest.strip(), word.lower())
    if stripped.startswith("-"):
        return _deletion(stripped[1:].strip())
    if stripped.startswith("+"):
        return _insertion(_ended(stripped[1:].strip()))
    if stripped.startswith("?"):
        return Statement("question", re.sub(r"^\?-?", "", stripped).strip().rstrip("."))
    if _DIRECTIVE.match(stripped) or ":-" in _QUOTED.sub("x", stripped) or _is_ground(stripped):
        return _insertion(stripped)
    return Statement("question", stripped.rstrip("?").rstrip())


def _is_ground(text: str) -> bool:
    """Whether a text is facts, as a program writes them."""
    if not text.endswith("."):
        return False
    try:
        program = parse(text, "<shell>")
    except ProgramError:
        return False
    return bool(program.facts) and not program.rules


def _insertion(text: str) -> Statement:
    program = parse(text, "<shell>")
    if not program.rules and not program.declarations:
        return Statement("update", text, insert=_facts(program))
    return Statement("update", text, add_rules=text)


def _deletion(text: str) -> Statement:
    """`-edge("a", "b")` deletes a fact; a name or the text of a rule removes the rule."""
    try:
        program = parse(_ended(text), "<shell>")
    except ProgramError:
        return Statement("update", text, remove_rules=(text.rstrip("."),))
    if program.facts and not program.rules:
        return Statement("update", text, delete=_facts(program))
    return Statement("update", text, remove_rules=(_ended(text),))


def _facts(program: Program) -> Facts:
    found: Facts = {}
    for fact in program.facts:
        found.setdefault(fact.relation, []).append(tuple(constant.value for constant in fact.values))
    return found


def _ended(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
