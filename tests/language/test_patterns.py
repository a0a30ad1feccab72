"""Patterns are RE2's: linear in the text, about whole texts, and right or wrong by themselves."""

from __future__ import annotations

import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES
from tidelog.language.patterns import matches, problem
from tidelog.language.values import compare


def test_a_pattern_is_about_the_whole_text():
    """Alternatives at the top and a newline at the end do not change that."""
    assert matches("a|b", ["a", "b", "ab", "xa", "a\n", ""]) == [True, True, False, False, False, False]
    assert matches("", ["", "a"]) == [True, False]
    assert matches("(?i)straße", ["STRAßE", "strasse"]) == [True, False]
    assert matches("[[:digit:]]+", ["12", "1a"]) == [True, False]


@pytest.mark.parametrize("pattern", ["(", "a)|(b", "(?=a)a", "(?<!a)b", r"(a)\1", "a{2,1}", "[z-a]", "\\"])
def test_what_is_wrong_by_itself_stays_wrong(pattern):
    """`a)|(b` would be right inside the brackets that make a pattern one for whole texts."""
    assert problem(pattern)
    with pytest.raises(tl.TidelogError, match="E505"):
        compare("match", pattern, "a")


def test_a_quotation_may_end_with_the_pattern():
    r"""After \Q everything is literal, also what we write behind it."""
    assert matches(r"\Qa.b", ["a.b", "aXb"]) == [True, False]
    assert matches(r"\Qa.b\E+", ["a.bbb"]) == [True]


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a*)*b", "(.*a){20}b"])
def test_no_pattern_makes_the_time_explode(pattern):
    """A matcher that backtracks needs longer than the world is old for one of these; the test does not end then."""
    assert matches(pattern, ["a" * 50_000]) == [False]
    engine = tl.Engine("hit(x, y) :- pattern(x), text(y), match(x, y).", limits=tl.Limits(seconds=600))
    engine.apply(insert={"pattern": [(pattern,)], "text": [("a" * 50_000,), ("aaab",)]})
    assert len(engine["hit"]) == (0 if "20" in pattern else 1)


@pytest.mark.parametrize(
    "text", ['p(x) :- q(x), match("(?=a).*", x).', 'p(n) :- n = count : { q(x), !match("(", x) }.']
)
def test_a_bad_constant_pattern_is_refused_when_the_rule_is_read(text):
    """With its place, also inside an aggregate; nothing of the update goes in."""
    with pytest.raises(tl.ProgramError, match="E210") as caught:
        tl.Engine(text)
    assert caught.value.problems[0].place
    engine = tl.Engine()
    with pytest.raises(tl.ProgramError, match="E210"):
        engine.apply(insert={"q": [("a",)]}, add_rules=text)
    assert (engine.version, engine.relations) == (0, ())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_patterns_from_facts(strategy):
    """Many patterns over many texts give what each pair gives by itself."""
    patterns, texts = ["a.*", ".*b", "[ab]+", "c?"], ["a", "ab", "b", "", "c", "ba"]
    engine = tl.Engine(
        "hit(x, y) :- p(x), t(y), match(x, y). miss(x, y) :- p(x), t(y), !match(x, y).", strategy=strategy
    )
    engine.apply(insert={"p": [(one,) for one in patterns], "t": [(one,) for one in texts]})
    expected = {(one, other) for one in patterns for other in texts if compare("match", one, other)}
    assert set(engine["hit"]) == expected
    assert len(engine["miss"]) == len(patterns) * len(texts) - len(expected)
    engine.verify()
