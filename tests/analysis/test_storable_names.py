"""What a rule names can be stored: names and constants are valid Unicode, wherever they stand.

Taught by a rule with a lone surrogate in a constant. It was taken, saved and opened; then every later update was
refused, because its facts met a constant that no column can hold.
"""

from __future__ import annotations

import pytest

import tidelog as tl
from tidelog.errors import TidelogError


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ('q(x) :- p(x), x != "\ud800".', 20),
        ('q("a\udfffb") :- p(_).', 3),
        ('q(n) :- n = count : { p("\ud800") }.', 25),
        ('q(x) :- p(x), !r("\ud800", x).', 18),
        ('q(x) :- p(_), x = cat("a", cat("b", "\ud800")).', 37),
        ('p("\ud800").', 3),
    ],
    ids=["comparison", "head", "aggregate", "negation", "function", "fact"],
)
def test_a_constant_that_is_no_unicode_is_refused_where_it_stands(text, column):
    """In a program, and in rules that are added: the engine stays as it was."""
    with pytest.raises(TidelogError) as refused:
        tl.Engine(text)
    (problem,) = refused.value.problems
    assert (problem.code, problem.place.column) == ("E211", column)
    engine = tl.Engine("s(x) :- p(x).")
    with pytest.raises(TidelogError):
        engine.apply(add_rules=text)
    assert len(engine.apply(insert={"p": [("a",)]}).inserted["s"]) == 1


def test_terms_of_rdf_may_have_any_unicode():
    """Only surrogates without their other half are refused."""
    engine = tl.Engine('q(x) :- p(x), x != "\U0001f30a\x00\u2028".')
    assert len(engine.apply(insert={"p": [("\U0001f30a",)]}).inserted["q"]) == 1
