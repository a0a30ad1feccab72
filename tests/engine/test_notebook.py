"""In a notebook everything that a cell can end with shows itself: tables cut with a count, trees, text; all escaped."""

import duckdb
import pyarrow as pa

import tidelog as tl


def test_relations_and_answers_are_arrow_streams():
    """Whatever speaks Arrow takes them as they are, an engine included; columns of several types keep them."""
    engine = tl.Engine("p(x, y) :- q(x, y).")
    engine.apply(insert={"q": [(1, "a"), (2.5, "b"), ("x", True)]})
    assert pa.table(engine["p"]).num_rows == 3
    other = tl.Engine("p(x, y) :- q(x, y).")
    other.apply(insert={"q": engine["p"]})
    assert set(map(repr, other["p"])) == set(map(repr, engine["p"]))
    asked = engine.query("p(x, y), x != 1")
    assert duckdb.from_arrow(pa.table(engine.query("p(x, y), y = 'a'"))).fetchall() == [(1, "a")]
    assert pa.table(asked).column_names == ["x", "y"]


def test_a_large_program_is_not_drawn():
    """A cell is never megabytes."""
    program = tl.parse("\n".join(f"p{number}(x) :- q(x)." for number in range(200)))
    assert "<img" not in program._repr_html_()
    assert "<img" in tl.parse("p(x) :- q(x).")._repr_html_()


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
    said = {
        "change": repr(change),
        "proof": repr(engine.explain("path", ("n0", "n39"))),
        "cause": repr(engine.explain_change(change, "path", ("n0", "n39"))),
        "absence": repr(engine.explain_absence("path", ("n3", "n0"))),
        "preview": repr(engine.preview(remove_rules=["r1"])),
        "program": repr(engine.program),
        "relation": repr(engine["edge"]),
    }
    assert all(len(text) < 120 and "\n" not in text for text in said.values()), said
    assert "data:image/svg+xml" in shown["program"]
    assert "data:image/svg+xml" in shown["engine"]
    assert all("<b>" not in text.replace("<p><b>", "") for text in shown.values())
    assert "21 more not shown" in shown["relation"]
    assert "862" not in shown["relation"]
    assert "+41 edge" in shown["change"]
    assert "by path(x, z)" in shown["proof"]
    assert str(engine.program).startswith("r1: path(x, y)")
    assert all(len(text) < 10_000 for text in shown.values())
