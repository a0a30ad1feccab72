"""The shell: what is typed means what it means in a program, and a mistake costs nothing."""

import pytest

import tidelog as tl
from tidelog.console.session import LeaveError, Session
from tidelog.console.statements import is_complete, read_statement

RULES = "path(x, y) :- edge(x, y).\nr2: path(x, z) :- edge(x, y), path(y, z).\n"


@pytest.fixture
def session():
    engine = tl.Engine(RULES)
    engine.apply(insert={"edge": [("a", "b"), ("b", "c")]})
    return Session(engine)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('edge("a", "b").', "update"),
        ('+edge("a", "b")', "update"),
        ('-edge("a", "b")', "update"),
        ("reach(x) :- path(x, _).", "update"),
        (".decl edge(x: symbol, y: symbol)", "update"),
        ("-r2", "update"),
        ('path("a", x)', "question"),
        ('path("a", x).', "question"),
        ('?- path("a", x).', "question"),
        ('path("a", x)?', "question"),
        ('edge("a", "b")', "question"),
        ('text(" :- ")', "question"),
        (".help", "command"),
    ],
)
def test_input_is_recognised(text, kind):
    """As in a program; what is none of its statements is a question."""
    assert read_statement(text).kind == kind


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", True),
        (".help", True),
        ("path(x, y)", True),
        ("path(x,", False),
        ("path(x, y),", False),
        ("p(x) :-", False),
        ("p(x) :- q(x)", False),
        ("p(x) :- q(x).", True),
        ("n = count : {", False),
        ('q("(")', True),
        ('p(x) :- q("end.")', False),
    ],
)
def test_a_statement_may_take_several_lines(text, complete):
    """Up to the full stop of a rule and the last bracket; what is in quotes does not count."""
    assert is_complete(text) is complete


def test_a_session(session):
    """Ask, insert, explain, undo; the engine is true after every step."""
    assert session.run('path("a", x)') == "x\n-\nb\nc\n(2 rows)"
    assert "+ path" in session.run('edge("c", "d").').replace("\n      ", " ")
    assert 'path("a", "d") came' in session.run('.why path("a", "d")')
    assert "by r2: path(x, z) :- edge(x, y), path(y, z)." in session.run('.explain path("a", "d")')
    assert "0 inserted, 4 deleted" in session.run(".undo")
    assert "there is no edge" in session.run('.whynot path("a", "d")')
    session.run("-r2")
    assert session.run('path("a", "c")') == "no"
    session.run(".undo")
    assert session.run('path("a", "c")') == "yes"
    assert "reach" in session.run('reach(x) :- path("a", x). reach("z").')
    assert session.run(".rules reach") == 'reach(x) :- path("a", x).'
    session.run(".undo")
    assert session.run(".rules reach") == "(no rules)"
    assert "edge changes" in session.run(".plan r2")
    assert "can lose" in session.run(".preview -r2")
    assert "derivations" in session.run(".profile")
    assert session.run(".verify") == "equal to recomputation"


def test_undo_takes_back_only_what_was_done(session):
    """A fact that was there before its second insertion stays, and so does one that was absent before its deletion."""
    session.run('edge("a", "b").')
    session.run(".undo")
    assert session.run('edge("a", "b")') == "yes"
    session.run('-edge("x", "y")')
    session.run(".undo")
    assert session.run('edge("x", "y")') == "no"


def test_undo_knows_rules_by_what_they_mean(session):
    """However a rule is spelled: one that was there before its second addition stays, one that went comes back."""
    before = session.engine.rules
    for text in ("path(a, b) :- edge(a, b).", "-path(a, b) :- edge(a, b).", "r9: path(x, y) :- edge(x, y)."):
        session.run(text)
        session.run(".undo")
        assert sorted(session.engine.rules) == sorted(before)
    session.run("+r2b: path(x, z) :- edge(x, y), path(y, z).")
    session.run("path(a, c) :- edge(a, b), path(b, c).")
    session.run(".undo")
    assert len(session.engine.rules) == 3


def test_undo_knows_facts_by_what_is_declared(session):
    """Where a float is declared, 9 is 9.0: it stays if it was there, and comes back if it was deleted."""
    session.run(".decl w(x: float) w(9.0).")
    session.run("w(9).")
    session.run(".undo")
    assert session.run("w(9.0)") == "yes"
    session.run("-w(9)")
    session.run(".undo")
    assert session.run("w(9.0)") == "yes"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (".profle", "E820"),
        (".undo", "E820"),
        (".rows many", "E820"),
        (".why", "E820"),
        (".explain path(x, y)", "E820"),
        ('.explain path("a", "z")', "E808"),
        (".show nothing", "E802"),
        ("pth(x, y)", "E802"),
        ("p(x) :- edge(x, y), !p(y).", "E204"),
        ("-r9", "E803"),
    ],
)
def test_a_mistake_changes_nothing(session, text, code):
    """It is told with its code, and the session goes on."""
    with pytest.raises(tl.TidelogError) as caught:
        session.run(text)
    assert caught.value.code == code
    assert session.run('path("a", x)') == "x\n-\nb\nc\n(2 rows)"
    assert session.engine.version == 1


def test_help_names_every_command(session):
    """Each with a sentence."""
    shown = session.run(".help")
    for name in session.commands:
        assert f".{name} " in shown
    with pytest.raises(LeaveError):
        session.run(".quit")


def test_answers_say_how_long_they_took_on_request(session):
    """`.time` switches it on, and off again."""
    session.run(".time")
    assert session.run('path("a", x)').endswith(" ms")
    session.run(".time")
    assert session.run('path("a", x)').endswith("rows)")
