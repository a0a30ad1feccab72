"""Every special character in every place where a name or a text is stored, published, printed or becomes a path.

Figure 20 of the guarantees: it comes back equal, escapes nothing and deletes nothing. Taught by U+2028 in the name of a
relation: the commit was written and acknowledged, and then `str.splitlines` cut it in two for every later reader.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import tidelog as tl
from tests.faults.special import NAMES, RELATIONS, SPECIAL, shown_safely
from tests.pipeline.places import Place, facts, summed
from tidelog.changes.files import read_facts, write_facts
from tidelog.changes.update import Update, read_updates, write_updates
from tidelog.cli import main
from tidelog.language.terms import Atom, Constant, Declaration, Program, Rule, Variable
from tidelog.pipeline.out.folders import folder_name
from tidelog.state.log import StateLog
from tidelog.state.reading import read_state, read_versions

INSIDE = tuple(f"a{one}b" for one in SPECIAL)
"""Each character once, for places where a name costs a rule or a commit."""


def filled(rules: int = 1) -> tl.Engine:
    """An engine in which every name is a relation, a value and a column, and every `rules`-th a rule and a variable."""

    def rule(name: str) -> Rule:
        own = Variable(name)
        return Rule(Atom(f"={name}", (own,)), (Atom(name, (own, Constant(name))),), name)

    declared = tuple(Declaration(name, ((name, "any"), (f"{name}'", "any"))) for name in RELATIONS)
    inputs = tuple((name, ()) for name in INSIDE)
    engine = tl.Engine(Program(tuple(map(rule, INSIDE[::rules])), (), declared, inputs))
    engine.apply(insert={name: [(name, name), (name, 1)] for name in RELATIONS})
    return engine


def held(engine: tl.Engine) -> dict[str, list[Any]]:
    return {name: sorted(engine[name], key=repr) for name in engine.relations}


@pytest.mark.parametrize("sources", [INSIDE[::12], pytest.param(INSIDE, marks=pytest.mark.long)])
def test_in_a_state(tmp_path: Path, sources: tuple[str, ...]) -> None:
    """As relations, values, rules, columns and sources; through changes, a base and a checkpoint of the log.

    Every source costs a save; control characters are neighbours, so that every fifth has some of each kind.
    """
    engine, directory = filled(3), tmp_path / "state"
    engine.save(directory)
    engine.apply(delete={name: [(name, 1)] for name in RELATIONS})
    with StateLog(directory) as log:
        for number, name in enumerate(sources):
            engine.apply(insert={"counted": [(number,)]})
            engine.save(log, batch=number, source=name)
            if number == 12:
                log._table.delta.create_checkpoint()
        assert [log.last_batch(name) for name in sources] == list(range(len(sources)))
    opened = tl.Engine.open(directory)
    assert held(opened) == held(engine)
    assert opened.program == engine.program
    assert [info.source for info in read_versions(directory)][1:] == list(sources)
    opened.apply(remove_rules=[rule.name for rule in opened.program.rules if rule.name])
    opened.save(directory)
    assert tl.Engine.open(directory).rules == ()
    assert set(read_state(directory, 1).info.relations) >= set(RELATIONS)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_in_update_files_and_programs(tmp_path: Path) -> None:
    """Written as JSON lines and as rules, read back, and applied."""
    engine = filled()
    text = "\n".join(engine.rules)
    update = Update.of(
        {name: [(name, name)] for name in RELATIONS}, {name: [(name, 1)] for name in INSIDE}, text, NAMES
    )
    write_updates(tmp_path / "u.jsonl", [update, update])
    assert (tmp_path / "u.jsonl").read_bytes().count(b"\n") == 2
    for found in read_updates(tmp_path / "u.jsonl"):
        assert {name: list(table) for name, table in found.insert.items()} == {
            name: [(name, name)] for name in RELATIONS
        }
        assert (found.add_rules, found.remove_rules) == (text, NAMES)
    assert tl.parse(text).rules == engine.program.rules


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet", ".tsv", ".facts"])
def test_in_files_of_facts(tmp_path: Path, ending: str) -> None:
    """Values come back, or the format says that it cannot hold them; names are a file in the folder, or refused."""
    folder, refused = tmp_path / "inside", []
    for name in RELATIONS[::3]:
        table = tl.Engine(Program(declarations=(Declaration(name, (("c", "symbol"),)),)))
        table.apply(insert={name: [(name,)]})
        try:
            write_facts(folder, {name: table[name].to_arrow()}, ending=ending)
        except tl.UpdateError as error:
            refused.append(error.code)
            continue
        assert list(read_facts(folder, {name: ("symbol",)})[name]) == [(name,)]
        (folder / f"{name}{ending}").unlink()
    assert list(folder.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["inside"]
    assert set(refused) <= {"E307", "E308"}
    assert len(refused) < len(RELATIONS[::3]) / 4


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Listed, shown and taken out of a state: nothing that a terminal obeys, and files that read back."""
    engine, directory = filled(8), str(tmp_path / "state")
    for number, name in enumerate(INSIDE[::9]):
        engine.apply(insert={"counted": [(number,)]})
        engine.save(directory, batch=number, source=name)
    asked: list[list[str]] = [[], ["--at", "3"], ["--rules"], ["--relation", "nobody\x1b"]]
    asked += [["--relation", name] for name in INSIDE[::13]]
    for arguments in asked:
        main(["state", directory, *arguments])
        printed = capsys.readouterr()
        assert shown_safely(printed.out + printed.err), arguments
    main(["state", directory, "--rules"])
    program = tmp_path / "program.dl"
    program.write_text(capsys.readouterr().out, encoding="utf-8")
    assert set(tl.parse(program.read_text(encoding="utf-8")).rules) == set(engine.program.rules)
    for command in (["check"], ["check", "--plans"], ["graph", "--format", "dot"], ["graph", "--format", "svg"]):
        assert main([*command, str(program)]) == 0
        assert shown_safely(capsys.readouterr().out), command


TOML = """
program = "rules.dl"
state = "state"
on_bad = "reject"
rejects = "rejects"
[updates]
path = "updates"
[[sinks]]
format = "json"
path = "out/changes"
[[sinks]]
format = "console"
[[sinks]]
what = "relations"
format = "{format}"
path = "out/relations"
keep = 1
[engine]
backend = "local"
[spark]
master = "local[2]"
memory = "600m"
"""


def lines_of(file: Path) -> list[dict[str, Any]]:
    """JSON lines end at a newline, and nowhere else."""
    return [json.loads(line) for line in file.read_bytes().split(b"\n") if line]


def read_back(folder: Path, form: str) -> list[tuple[str, ...]]:
    """The facts in a published folder."""
    (file,) = folder.glob(f"part-*.{form}")
    if form == "csv":
        with file.open(newline="", encoding="utf-8") as opened:
            return [tuple(row) for row in csv.reader(opened)]
    if form == "json":
        return [tuple(row.values()) for row in lines_of(file)]
    return [tuple(row.values()) for row in pq.ParquetFile(file).read().to_pylist()]


PUBLISHED = (
    "..", ".", "a/b", "/", "con", "Edge", "edge", "a\u2028b", "a\x85b", "a\nb", "a\x1b[2Jb", "a\u202eb", "x" * 300,
    "a\0b", "%",
)  # fmt: skip


@pytest.mark.parametrize("form", ["json", *(pytest.param(form, marks=pytest.mark.long) for form in ("parquet", "csv"))])
def test_through_a_pipeline(spark: Any, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and values through stream, state, feed, folders and console; neighbours of the sink stay as they are."""
    place = Place(tmp_path / "p")
    place.write("pipeline.toml", TOML.format(format=form))
    place.write("rules.dl", "")
    neighbours = [place.folder / "out/version=1", place.folder / "version=1", tmp_path / "version=1"]
    for folder in neighbours:
        folder.mkdir(parents=True)
        (folder / "theirs").write_text("kept")
    values = [name for name in NAMES if len(name) < 10 and name]
    for number in range(3):
        inserted = [[name, f"{name}{number}"] for name in PUBLISHED] + [["edge", value] for value in values]
        place.update(f"{number}", json.dumps({"insert": inserted}, ensure_ascii=bool(number)))
        last, _ = place.run(spark)
    assert place.rejects() == []
    for name in PUBLISHED:
        (version,) = (place.folder / "out/relations" / folder_name(name)).glob("version=*")
        assert sorted(read_back(version, form)) == sorted(last[name])
    assert facts(tl.Engine.open(place.folder / "state")) == facts(last)
    feed = [
        (int(file.parent.name[8:]), row["relation"], row["op"], row["values"])
        for file in (place.folder / "out/changes").glob("version=*/part-*.json")
        for row in lines_of(file)
    ]
    assert {(name, tuple(json.loads(spelled))) for name, spelled in summed(feed)} == {
        (name, fact) for name in last.relations for fact in last[name]
    }
    assert all([path.name for path in folder.iterdir()] == ["theirs"] for folder in neighbours)
    assert {path.name for path in place.folder.iterdir()} == {
        "edge.csv", "out", "pipeline.toml", "rules.dl", "state", "updates", "version=1",
    }  # fmt: skip
    assert shown_safely(capsys.readouterr().out)


def test_every_character_is_tried() -> None:
    """Whatever this Python and its libraries call a line, a space or a control is among them."""
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    lines = {one for one in every if len(f"a{one}b".splitlines()) > 1}
    assert lines <= set(SPECIAL)
    assert {one for one in every if one < "\xa0" and not one.isprintable()} <= set(SPECIAL)
