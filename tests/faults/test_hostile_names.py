"""Names and values are never code, SQL, paths or markup: figure 14 of the guarantees.

Each hostile string is a relation, a constant, a rule's name and part of files and states. Through rule text and
through the Python interface the answers are the same, and nothing appears outside the folders that were given.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES
from tidelog.changes.files import read_facts, write_facts
from tidelog.language.printer import print_fact, print_rule
from tidelog.language.terms import Atom, Comparison, Constant, Rule, Variable

HOSTILE = {
    "quotes": 'it\'s "quoted"',
    "back-ticks": "`back` `ticks`",
    "sql": "x'); drop table facts;--",
    "upwards": "../../../tmp/escaped",
    "rooted": "/etc/passwd",
    "dots": "..",
    "nul": "nul\x00inside",
    "lines": "two\nlines\r\n",
    "markup": "<script>alert('x')</script>",
    "shell": "$(touch escaped); `touch escaped` | cat",
    "format": "{0.__class__} %s %n ${HOME}",
    "backslashes": "\\\\server\\n\\",
    "keyword": "not",
    "directive": ".decl p(x: number)",
    "number": "1.0",
    "anonymous": "_",
    "rule": "p(x) :- q(x).",
    "direction": "\u202egnirts",
    "beyond": "漢字🌊\U0010ffff",
    "device": "CON",
    "long": "A" * 65_536,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_text_and_interface_agree(kind: str) -> None:
    """A hostile relation, constant and rule name, given as text and as Python values, mean the same."""
    name = HOSTILE[kind]
    x, y = Variable("x"), Variable("y")
    rules = (
        Rule(Atom(f"{name}'", (x, y)), (Atom(name, (x, y)), Comparison("!=", y, Constant("none"))), name),
        Rule(Atom("out", (x,)), (Atom(f"{name}'", (x, Constant(name))),)),
    )
    text = "\n".join(map(print_rule, rules))
    by_text = tl.Engine(f"{text}\n{print_fact(name, (name, name))}.\n{print_fact(name, ('other', 'none'))}.")
    by_interface = tl.Engine(tl.Program(rules))
    by_interface.apply(insert={name: [(name, name), ("other", "none")]})
    for engine in (by_text, by_interface):
        assert engine.program.rules == rules
        assert list(engine["out"]) == [(name,)]
        assert sorted(engine.relations) == sorted({name, f"{name}'", "out"})
        assert list(engine.query(print_fact(name, (name, name)))) == [(name, name)]
        engine.verify()
        assert len(engine.apply(remove_rules=[name]).deleted["out"]) == 1
        engine.apply(add_rules=text)
        assert list(engine.apply(delete={name: [(name, name)]}).deleted["out"]) == [(name,)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_of_them_at_once(strategy: str) -> None:
    """Strings that look alike to some layer stay apart in joins, whatever maintains them."""
    words = [(word,) for word in HOSTILE.values()]
    engine = tl.Engine("same(x, y) :- p(x), p(y), x = y. n(c) :- c = count : { p(_) }.", strategy=strategy)
    engine.apply(insert={"p": words})
    assert len(engine["same"]) == len(words)
    engine.apply(delete={"p": words[::2]})
    assert set(engine["same"]) == {(word, word) for (word,) in words[1::2]}
    assert list(engine["n"]) == [(len(words) // 2,)]
    engine.verify()


@pytest.mark.parametrize("kind", HOSTILE)
def test_update_lines_and_state_keep_them(tmp_path: Path, kind: str) -> None:
    """Through a line of JSON, a saved state and back; the state's folder is the only thing that is written."""
    name, folder = HOSTILE[kind], tmp_path / "inside"
    folder.mkdir()
    line = json.dumps(
        {"insert": [[name, name, 1]], "add_rules": print_rule(Rule(Atom("p", ()), (_anything(name),), name))}
    )
    (folder / "updates.jsonl").write_text(line + "\n", encoding="utf-8")
    engine = tl.Engine()
    for change in engine.follow(tl.read_updates(folder / "updates.jsonl")):
        assert set(change.inserted) == {name, "p"}
    engine.save(folder / "state")
    opened = tl.Engine.open(folder / "state")
    assert list(opened[name]) == [(name, 1)]
    assert opened.rules == engine.rules
    assert len(opened.apply(delete={name: [(name, 1)]}).deleted["p"]) == 1
    opened.save(folder / "state")
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
    assert {path.name for path in folder.iterdir()} == {"updates.jsonl", "state"}


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_files_stay_inside_their_folder(tmp_path: Path, kind: str, ending: str) -> None:
    """A relation's name that is no file's name is refused; any other is one file in the folder, and reads back."""
    name, folder = HOSTILE[kind], tmp_path / "inside"
    folder.mkdir()
    engine = tl.Engine()
    engine.apply(insert={name: [("value",)]})
    try:
        write_facts(folder, {name: engine[name].to_arrow()}, ending=ending)
    except tl.UpdateError:
        assert list(folder.iterdir()) == []
    else:
        assert [path.name for path in folder.iterdir()] == [f"{name}{ending}"]
        assert list(read_facts(folder, {name: ("symbol",)})[name]) == [("value",)]
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


def test_messages_show_them_harmlessly() -> None:
    """An error about a hostile relation names it on one line of bounded length, without control characters."""
    engine = tl.Engine()
    for name in HOSTILE.values():
        with pytest.raises(tl.UsageError) as raised:
            engine[name]
        shown = str(raised.value).splitlines()[0]
        assert "\x00" not in shown
        assert "\u202e" not in shown
        assert len(shown) < 1000


def _anything(relation: str) -> Atom:
    return Atom(relation, (Variable("_:0"), Variable("_:1")))
