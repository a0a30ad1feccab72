"""Colours come from one list of words: Pygments and TextMate know every word of the language."""

import json
import re
from pathlib import Path

from pygments.lexers import get_lexer_by_name
from pygments.token import Error, Keyword, Name

from tidelog.language.highlighting import TidelogLexer
from tidelog.language.lexemes import RESERVED
from tidelog.language.words import patterns, textmate

ROOT = Path(__file__).parents[2]
TEXT = '.decl p(x: number)\n// note\nr1: p(x) :- q(x, "a"), !r(?y, 0x1f), n = count : {s(_)}, match("a", $z).\n/*b*/'


def test_every_text_is_lexed_whole():
    """No error tokens, nothing lost, and words get the colour of what they are."""
    tokens = list(TidelogLexer().get_tokens(TEXT))
    assert "".join(text for _, text in tokens).strip() == TEXT.strip()
    assert not [text for token, text in tokens if token in Error]
    found = {text: token for token, text in tokens}
    assert found[".decl"] in Keyword
    assert found["count"] in Name.Builtin
    assert found["p"] in Name.Function
    assert found["x"] in Name.Variable


def test_every_reserved_word_is_in_a_pattern():
    """A word that the grammar reserves is coloured."""
    for word in RESERVED:
        scope = next(scope for scope, pattern in patterns() if re.fullmatch(pattern, word))
        assert not scope.startswith("variable"), word


def test_the_file_for_editors_is_up_to_date():
    """It is what `tidelog.language.words.textmate()` gives."""
    kept = (ROOT / "docs" / "tidelog.tmLanguage.json").read_text(encoding="utf-8")
    assert kept == textmate()
    assert json.loads(kept)["scopeName"] == "source.tidelog"
    for one in json.loads(kept)["patterns"]:
        re.compile(one.get("match", ""))


def test_pygments_finds_the_lexer_where_tidelog_is_installed():
    """By the entry point, or, in an environment that was made before there was one, by its class."""
    import importlib.metadata

    if any(entry.name == "tidelog" for entry in importlib.metadata.entry_points(group="pygments.lexers")):
        assert isinstance(get_lexer_by_name("tidelog"), TidelogLexer)
    assert 'tidelog = "tidelog.language.highlighting:TidelogLexer"' in (ROOT / "pyproject.toml").read_text()
