"""Whatever is in a name or a value, a message is text that a terminal only shows.

Taught by a relation called `\\x1b[2J`, whose update cleared the screen, and by one with a right-to-left mark, whose
error read backwards: wherever a message is put together from names, an f-string takes them as they are.
"""

import io
import json
import logging
import re

import pytest

import tidelog as tl
from tidelog.errors import Place, Problem
from tidelog.observe.logs import configure
from tidelog.observe.progress import Lines as ProgressLines
from tidelog.pipeline.status import JsonEvents, Lines
from tidelog.visible import visible, visible_json

CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
OTHERS = list("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\udfff\ud800")
EVERY = "".join((*CONTROLS, *OTHERS))


def is_clean(text: str) -> bool:
    """Nothing unseen is left, each line apart."""
    return all(not set(line) & set(EVERY) for line in text.removesuffix("\n").split("\n"))


@pytest.mark.parametrize("character", [*CONTROLS, *OTHERS], ids=lambda one: f"{ord(one):04x}")
def test_unseen_characters_become_escapes(character):
    """One line of ASCII, from which the character can be told."""
    shown = visible(f"a{character}b")
    assert re.fullmatch(r"a\\(n|t|r|x[0-9a-f]{2}|u[0-9a-f]{4})b", shown)
    assert shown.encode()
    spelled = visible_json(json.dumps(f"a{character}b", ensure_ascii=False))
    assert is_clean(spelled)
    assert json.loads(spelled) == f"a{character}b"


def test_what_can_be_seen_stays():
    """Letters of every script, signs, pictures and joiners are no controls."""
    text = "edge, Grüße, 漢字, עברית, عربي, 👩‍🚀, \xa0, \\x1b"
    assert visible(text) == visible_json(text) == text


def test_errors_show_names_and_values_harmlessly():
    """Every part of a problem: sentence, place, excerpt, remedy and notes; the caret stands below its column."""
    place = Place(EVERY, 2, len(EVERY) + 1, EVERY + "wrong")
    problem = Problem("E805", EVERY, place, EVERY, ((place, EVERY),))
    assert is_clean(str(problem))
    lines = str(problem).split("\n")
    assert lines[2].index("^") == lines[1].index("wrong")
    assert problem.sentence == EVERY


@pytest.mark.parametrize("character", [*CONTROLS, *OTHERS[:-2]], ids=lambda one: f"{ord(one):04x}")
def test_what_people_print_of_an_engine(character):
    """Errors, changes, relations, previews and proofs."""
    name = f"p{character}q"
    engine = tl.Engine()
    change = engine.apply(insert={name: [(name,)]})
    printed = [change.summary(), repr(engine[name]), str(engine.explain(name, (name,)))]
    printed.append(str(engine.preview(add_rules="r(x) :- s(x).")))
    for asked in (
        lambda: engine[f"{name}2"],
        lambda: engine.apply(insert={name: [(1, 2)]}),
        lambda: engine.query(name),
    ):
        with pytest.raises(tl.TidelogError) as caught:
            asked()
        printed.append(str(caught.value))
    assert [text for text in printed if not is_clean(text)] == []


def test_events_logs_and_progress():
    """Whoever reports: plain lines are clean, JSON is clean and reads back as it was."""
    out = io.StringIO()
    Lines(out).show("note", {"text": EVERY})
    Lines(out).show("rejects", {"count": 1, "part": EVERY})
    with ProgressLines(out).stage(EVERY):
        pass
    assert is_clean(out.getvalue())
    assert out.getvalue().count("\n") == 4
    told = io.StringIO()
    JsonEvents(told).show("note", {"text": EVERY})
    assert is_clean(told.getvalue())
    assert json.loads(told.getvalue())["text"] == EVERY


@pytest.mark.parametrize("form", ["text", "json"])
def test_logs(form):
    """One record, one line."""
    out = io.StringIO()
    root = logging.getLogger("tidelog")
    before = root.handlers[:], root.level
    try:
        configure("info", form, out)
        logging.getLogger("tidelog.x").info("rejected %s", EVERY.encode(errors="ignore").decode())
    finally:
        root.handlers[:], root.level = before
    assert is_clean(out.getvalue())
    assert out.getvalue().count("\n") == 1
