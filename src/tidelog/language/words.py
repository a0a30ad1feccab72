"""The words of the language, for editors.

What      : the one list of keywords, and what is made from it: a lexer for Pygments (`TidelogLexer` in highlighting.py)
            and a grammar for TextMate, which editors and code forges understand.
Idea      : the list is that of the grammar itself (lexemes.py, grammar.lark), so a new word is coloured everywhere.
Invariant : `textmate()` is valid JSON; docs/tidelog.tmLanguage.json is what it gives (a test compares).
Never     : no parsing.
"""

from __future__ import annotations

import json

from tidelog.language.declarations import BASE_TYPES
from tidelog.language.lexemes import AGGREGATE_WORDS, CONSTRAINT_WORDS
from tidelog.language.term_reductions import FUNCTIONS

DIRECTIVES = ("decl", "type", "input", "output", "printsize", "include", "pragma", "plan", "limitsize")
COMMENT = r"//[^\n]*"
STRING = r'"(?:[^"\\\n]|\\.)*"|' + r"'(?:[^'\\\n]|\\.)*'"
NUMBER = r"\b(?:0x[0-9a-fA-F]+|0b[01]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\b"
OPERATOR = r":-|!=|<=|>=|[!=<>+\-*/%^;:]"


def patterns() -> list[tuple[str, str]]:
    """Scopes and regular expressions, in the order in which they are tried."""
    return [
        ("comment.line", COMMENT),
        ("comment.block", r"/\*[\s\S]*?\*/"),
        ("string.quoted", STRING),
        ("keyword.directive", rf"\.({'|'.join(DIRECTIVES)})\b"),
        ("constant.language", r"\b(true|false)\b"),
        ("keyword.operator", r"\bnot\b"),
        ("support.function.aggregate", rf"\b({'|'.join(sorted(AGGREGATE_WORDS))})\b"),
        ("support.function", rf"\b({'|'.join(sorted({*FUNCTIONS, *CONSTRAINT_WORDS} - AGGREGATE_WORDS))})(?=\s*\()"),
        ("support.type", rf"\b({'|'.join(sorted(BASE_TYPES))})\b"),
        ("entity.name.function", r"`(?:[^`\\\n]|\\.)*`|[^\W\d]\w*(?=\s*\()"),
        ("constant.numeric", NUMBER),
        ("variable.parameter", r"\$[^\W\d]\w*"),
        ("variable.other", r"\??[^\W\d]\w*"),
        ("keyword.operator", OPERATOR),
    ]


def textmate() -> str:
    """The grammar for TextMate and everything that reads its format."""
    found = [{"name": f"{scope}.tidelog", "match": pattern} for scope, pattern in patterns()]
    for one in found:
        if one["name"].startswith("comment.block"):
            one.pop("match")
            one |= {"begin": r"/\*", "end": r"\*/"}
    grammar = {"scopeName": "source.tidelog", "name": "Tidelog", "fileTypes": ["dl"], "patterns": found}
    return json.dumps(grammar, indent=2) + "\n"
