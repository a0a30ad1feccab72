"""A lexer for Pygments: rules in colour, in documents and on terminals.

What      : `TidelogLexer`, made from the list of words (words.py); Pygments finds it by the name `tidelog`.
Never     : nothing else imports this module, so Pygments is needed only where colours are.
"""

from __future__ import annotations

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from tidelog.language.words import patterns

_TOKENS = {
    "comment": Comment,
    "string": String,
    "keyword.directive": Keyword,
    "keyword.operator": Operator,
    "constant.language": Keyword.Constant,
    "constant.numeric": Number,
    "support.function": Name.Builtin,
    "support.type": Keyword.Type,
    "entity.name.function": Name.Function,
    "variable": Name.Variable,
}


def _token(scope: str) -> object:
    return next(token for prefix, token in _TOKENS.items() if scope.startswith(prefix))


class TidelogLexer(RegexLexer):
    """Tidelog's rules."""

    name = "Tidelog"  # type: ignore[assignment]
    aliases = ["tidelog", "datalog", "souffle"]  # noqa: RUF012 - as Pygments declares them
    filenames = ["*.dl"]  # noqa: RUF012
    tokens = {  # noqa: RUF012
        "root": [
            (r"\s+", Text),
            *((pattern, _token(scope)) for scope, pattern in patterns()),
            (r"[(){}\[\],.|]", Punctuation),
            (r".", Text),
        ]
    }
