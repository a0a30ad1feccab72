"""In a notebook everything that a cell can end with shows itself: tables cut with a count, trees, text; all escaped."""

import tidelog as tl


def test_everything_shows_itself():
    """Short enough for a cell, and nothing that a fact holds becomes HTML."""
    engine = tl.Engine("r1: path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z).")
    change = engine.apply(insert={"edge": [(f"n{number}", f"n{number + 1}") for number in range(40)] + [("<b>", "&")]})
    assert repr(engine) == "<Engine version 1: 2 rules, 2 relations, 862 facts; local, auto>"
    shown = {
        "engine": engine._repr_html_(),
        "relation": engine["edge"]._repr_html_(),
        "change": change._repr_html_(),
        "proof": engine.explain("path", ("n0", "n3"))._repr_html_(),
        "cause": engine.explain_change(change, "path", ("<b>", "&"))._repr_html_(),
        "absence": engine.explain_absence("path", ("n3", "n0"))._repr_html_(),
        "preview": engine.preview(remove_rules=["r1"])._repr_html_(),
        "program": engine.program._repr_html_(),
        "answer": engine.query('path("n0", x), x != "n1"')._repr_html_(),
    }
    assert all("<b>" not in text.replace("<p><b>", "") for text in shown.values())
    assert "21 more not shown" in shown["relation"]
    assert "862" not in shown["relation"]
    assert "+41 edge" in shown["change"]
    assert "by path(x, z)" in shown["proof"]
    assert str(engine.program).startswith("r1: path(x, y)")
    assert all(len(text) < 10_000 for text in shown.values())
