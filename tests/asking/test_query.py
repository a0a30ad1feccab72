"""A question is any rule body; asking it changes nothing.

The answers are compared with a rule: whatever a question finds is what the same body would derive if it were added.
"""

import pytest

import tidelog as tl
from tidelog.language.values import fact_identity

RULES = """
    path(x, y) :- edge(x, y).
    path(x, z) :- edge(x, y), path(y, z).
    degree(x, n) :- edge(x, _), n = count : { edge(x, _) }.
"""
FACTS = {
    "edge": [("a", "b"), ("b", "c"), ("c", "d"), ("b", "d"), ("d", "b"), ("e", "e")],
    "blocked": [("c",)],
    "weight": [("a", 1), ("b", 2), ("c", 1.0), ("d", True)],
}


@pytest.fixture
def engine():
    made = tl.Engine(RULES)
    made.apply(insert=FACTS)
    return made


QUESTIONS = {
    "path('a', x), !blocked(x)": ("x",),
    "path(x, y), path(y, x), x < y": ("x", "y"),
    "path('a', x), n = count : { edge(x, _) }": ("x", "n"),
    "s = sum n : { degree(_, n) }": ("s",),
    "edge(x, y) ; edge(y, x)": ("x", "y"),
    "edge(x, _), (blocked(x) ; weight(x, 2))": ("x",),
    "!blocked(x), edge(y, x), z = cat(y, x)": ("x", "y", "z"),
    "weight(x, w), weight(y, w), x != y": ("x", "w", "y"),
    "edge('a', 'b'), !blocked('a')": (),
    "edge(x, x), x != 'e'": ("x",),
    "n = count : { blocked(x), path('a', x) }, edge(x, 'b')": ("n", "x"),
    "edge(x, y), strlen(cat(x, y)) = 2, 2 * count : { edge(y, _) } > 2": ("x", "y"),
}


@pytest.mark.parametrize("text", QUESTIONS)
def test_a_question_finds_what_its_rule_would_derive(engine, text):
    """Columns are the variables in order of first occurrence, and rows are distinct."""
    found = engine.query(text, {})
    assert found.columns == QUESTIONS[text]
    twin = tl.Engine(RULES)
    twin.apply(insert=FACTS)
    heads = f"answer({', '.join(found.columns)})"
    twin.apply(add_rules=f"{heads} :- {text}.")
    expected = sorted(map(fact_identity, twin["answer"]), key=repr)
    assert sorted(map(fact_identity, found), key=repr) == expected
    assert len(found) == len(expected) == len(set(expected))


@pytest.mark.parametrize("strategy", ["auto", "counting", "bf-mark"])
def test_questions_leave_no_trace(strategy):
    """Facts, relations, rules, version and constants are as before, in the middle of a stream of updates too."""
    asked, quiet = (tl.Engine(RULES, strategy=strategy) for _ in range(2))
    updates = [tl.Update.of(insert=FACTS), tl.Update.of(delete={"edge": [("b", "c")]}), tl.Update.of(insert=FACTS)]
    for number, update in enumerate(updates):
        changes = [engine.apply_update(update) for engine in (asked, quiet)]
        for text in QUESTIONS:
            asked.query(text, {})
        if number + 1 < len(updates):
            asked.look_ahead(updates[number + 1])
            quiet.look_ahead(updates[number + 1])
            asked.query("path(x, y), n = strlen(x) + 1000")
        assert changes[0].stats.derivations == changes[1].stats.derivations
        assert (asked.version, asked.rules, asked.relations) == (quiet.version, quiet.rules, quiet.relations)
        assert sorted(asked["path"]) == sorted(quiet["path"])
        asked.verify()


def test_a_question_may_make_constants(engine):
    """New constants are decoded before they are forgotten, so that a later answer cannot change an earlier one."""
    first = engine.query("edge(x, y), z = cat(x, y, 'new')")
    second = engine.query("edge(x, y), z = cat('other', y, x)")
    engine.apply(insert={"edge": [("fresh", "node")]})
    assert ("a", "b", "abnew") in first
    assert ("a", "b", "otherba") in second
    assert ("a", "b", "nothing") not in first
    assert engine.query("edge(x, y), z = cat(x, y, 'new'), x = 'fresh'").to_arrow().to_pylist() == [
        {"x": "fresh", "y": "node", "z": "freshnodenew"}
    ]


def test_parameters_are_values_not_text(engine):
    """A value that looks like rules is a string like any other; `1`, `1.0` and `True` are three values."""
    assert list(engine.query("path($from, x)", {"from": "c"})) == [("d",), ("b",), ("c",)]
    assert list(engine.query("path($from, x)", {"from": "c'), edge(x"})) == []
    for value, name in ((1, "a"), (1.0, "c"), (True, "d")):
        assert list(engine.query("weight(x, $w)", {"w": value})) == [(name,)]
    assert list(engine.query("x = $w, weight(_, x)", {"w": 2})) == [(2,)]


@pytest.mark.parametrize(
    ("text", "parameters", "code"),
    [
        ("pth(x, y), edge(x, y)", None, "E802"),
        ("edge(x, y), n = count : { nowhere(x) }", None, "E802"),
        ("path(x), edge(x, y)", None, "E804"),
        ("edge(x, y), x < z", None, "E202"),
        ("edge(x, y) ; blocked(x)", None, "E121"),
        ("path($from, x)", {}, "E120"),
        ("path($from, x)", {"form": "a"}, "E120"),
        ("path(x, y)", {"from": "a"}, "E120"),
        ("path($from, x)", {"from": None}, "E302"),
        ("path(x, ", None, "E102"),
        ("edge(x, y), x + 1 > 2 :- edge(x, y)", None, "E101"),
        ("@query(x)", None, "E110"),
    ],
)
def test_a_bad_question_is_refused(engine, text, parameters, code):
    """With a code and a remedy, and the engine goes on."""
    with pytest.raises(tl.TidelogError) as caught:
        engine.query(text, parameters)
    assert caught.value.code == code
    engine.verify()


def test_a_misspelled_relation_is_named(engine):
    """The remedy says which one was probably meant."""
    with pytest.raises(tl.UsageError, match=r"did you mean blocked\?"):
        engine.query("blokced(x), edge(x, y)")


def test_a_question_has_a_budget(engine):
    """A cross product ends at the limit, and the next question is answered."""
    engine.apply(insert={"n": [(number,) for number in range(400)]})
    engine.limits = tl.Limits(seconds=0.2)
    with pytest.raises(tl.BudgetError):
        engine.query("n(a), n(b), n(c), n(d), a + b + c + d = 7")
    assert len(engine.query("n(x), x < 3", {})) == 3


def test_an_answer_is_a_table(engine):
    """Length, membership, iteration, truth, Arrow and pandas; empty answers keep their columns."""
    found = engine.query("edge(x, y), !blocked(y)")
    assert len(found) == 5
    assert ("a", "b") in found
    assert ("a", 1) not in found
    assert list(found.to_pandas().columns) == ["x", "y"]
    nothing = engine.query("edge(x, y), x = 'nowhere'")
    assert not nothing
    assert nothing.to_arrow().column_names == ["x", "y"]
    assert repr(engine.query("edge('a', 'b'), edge('b', 'c')")) == "yes"
    assert repr(engine.query("weight(x, w), x < 'c'")) == "x  w\n-  -\na  1\nb  2\n(2 rows)"
    assert "<td>a</td>" in engine.query("weight(x, w), x < 'c'")._repr_html_()


def test_a_table_gives_no_orders(engine):
    """What is in a cell stays in it: no line break, no escape sequence, no HTML, and `"1"` is not `1`."""
    engine.apply(insert={"odd": [("\x1b[2J",), ("a\nb",), ("<script>",), ("1",), (1,), ("",)]})
    found = engine.query("odd(x), x = x")
    text = repr(found)
    assert "\x1b" not in text
    assert len(text.splitlines()) == 9
    assert '"1"' in text
    assert '""' in text
    assert "<script>" not in found._repr_html_()


def test_a_fact_that_is_absent_is_explained(engine):
    """For each rule the literal that fails first, with the values that led there and no variable left open."""
    assert str(engine.explain_absence("path", ("a", "z"))) == (
        'path("a", "z") is not there\n'
        "  path(x, y) :- edge(x, y).\n"
        '    there is no edge("a", "z")\n'
        "  path(x, z) :- edge(x, y), path(y, z).\n"
        '    edge("a", "b") holds, but there is no path("b", "z")'
    )
    assert 'no fact of edge has "z" in column 2' in str(engine.explain_absence("edge", ("a", "z")))
    assert "the count is 2, not 3" in str(engine.explain_absence("degree", ("b", 3)))
    engine.apply(
        add_rules="""
        lone(x) :- edge(_, x), !edge(x, _).
        pair(x, y) :- edge(x, z), edge(z, y), x != y, z < y.
        one(1) :- edge(_, _).
        twin(x, x) :- edge(x, _).
        next(x + 1) :- weight("a", x), x < 10."""
    )
    assert 'edge("b", "c") is there' in str(engine.explain_absence("lone", ("b",)))
    assert "does not hold" in str(engine.explain_absence("pair", ("a", "a")))
    assert "does not fit" in str(engine.explain_absence("one", (2,)))
    assert "does not fit" in str(engine.explain_absence("twin", ("a", "b")))
    assert engine.explain_absence("next", (9,)).failures[0].literal is not None
    for relation, fact in (("path", ("a", "b")), ("path", ("a",))):
        with pytest.raises(tl.UsageError, match="E808"):
            engine.explain_absence(relation, fact)


def test_a_plan_is_shown_in_words(engine):
    """By the rule's text, by its name, or for a rule that the program does not have."""
    told = engine.plan("path(x, z) :- edge(x, y), path(y, z).")
    assert "edge changes      edge(x, y) > path(y, z) by 1" in told
    assert "edge: 6 facts" in told
    engine.apply(add_rules="r1: two(x, z) :- edge(x, y), edge(y, z).")
    assert "edge(x, y)" in engine.plan("r1")
    assert "edge(x, x)" in engine.plan("loop(x) :- edge(x, x)")
    with pytest.raises(tl.UsageError, match="E803"):
        engine.plan("r2")


def test_a_question_leaves_nothing_in_relations_that_rules_have_left_behind():
    """The members of an aggregate have a relation of ours, which stays, empty, when its rule goes.

    A question with the same aggregate stored its facts there: the next one found them, and so did the rule when it
    came back.
    """
    rule, question = "n(g, c) :- g(g), c = sum v : { m(g, v), v > 0 }.", "g(g), c = sum v : { m(g, v), v > 0 }"
    made = tl.Engine(rule)
    made.apply(insert={"g": [(1,), (2,)], "m": [(1, 5), (1, 6), (2, 7)]})
    made.apply(remove_rules=[rule])
    assert sorted(made.query(question)) == [(1, 11), (2, 7)]
    made.verify()
    made.apply(insert={"m": [(1, 1)]}, delete={"m": [(2, 7)]})
    assert sorted(made.query(question)) == [(1, 12), (2, 0)]
    made.apply(add_rules=rule)
    assert sorted(made["n"]) == [(1, 12), (2, 0)]
    made.verify()
