"""The main job, in this process: what comes out of the feed is what is in the state, however a run was interrupted."""

import random
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelog as tl
from tests.pipeline.places import RULES, Place, facts, summed
from tidelog.cli import main
from tidelog.errors import PipelineError, StateError
from tidelog.pipeline.follow import streaming
from tidelog.pipeline.out.whole_feed import whole_feed
from tidelog.state import log


def forget_last_commit(place):
    """Spark did not get to note that its last micro-batch is done, and brings it again."""
    folder = place.folder / "state/_pipeline/checkpoint/commits"
    last = max(folder.glob("[0-9]*"), key=lambda file: int(file.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink()


def test_load_follow_restart_and_replay(spark, tmp_path):
    """One life of a pipeline.

    Files of one moment are taken by name. A restart continues; a batch that Spark brings again (its commit is removed)
    changes neither state nor feed; an edited rule file is an incremental change.
    """
    place = Place(tmp_path / "p", strategy="bf-mark")
    place.update("2", {"delete": [["edge", "a", "b"]]})
    place.update(
        "1", {"insert": [["edge", "c", "d"]]}, {"delete": [["edge", "c", "d"]], "insert": [["edge", "c", "a"]]}
    )
    place.update("3", {"add_rules": "loop: loop(x) :- path(x, x).", "insert": [["edge", "a", "b"]]})
    engine, seen = place.run(spark)
    engine.verify()
    assert [one["version"] for one in seen.of("batch")] == [2, 3, 4]
    assert ("a",) in engine["loop"]
    assert ("d",) not in engine["lonely"]
    before = place.feed()
    assert summed(before) == facts(engine)

    forget_last_commit(place)
    again, seen = place.run(spark)
    assert [one["part"] for one in seen.of("known")] == [0, 1, 2]
    assert seen.of("batch") == []
    assert (again.version, facts(again)) == (engine.version, facts(engine))
    assert place.feed() == before

    without = RULES.replace("tr: path(x, z) :- path(x, y), edge(y, z).", "")
    place.write("rules.dl", without + "edge_twin(y, x) :- edge(x, y).")
    place.update("4", {"remove_rules": ["loop"]})
    last, seen = place.run(spark)
    assert seen.of("rules")[0]["removed"] == 1
    assert [one["version"] for one in seen.of("batch")] == [6]
    assert set(last["edge_twin"]) == {(b, a) for a, b in last["edge"]}
    assert len(last["loop"]) == 0
    last.verify()
    assert summed(place.feed()) == facts(last) == facts(tl.Engine.open(tmp_path / "p/state"))


def test_everything_may_be_given_as_an_address(spark, tmp_path):
    """State (with the checkpoint inside), updates, sink and rejects: `file:` addresses are the folders of this name."""
    place = Place(tmp_path / "place", on_bad="reject")
    text = (place.folder / "pipeline.toml").read_text()
    for name in ("state", "rejects", "updates", "changes"):
        text = text.replace(f'= "{name}"', f'= "{(place.folder / name).as_uri()}"')
    place.write("pipeline.toml", text)
    place.update("1", {"insert": [["edge", "c", "d"]]}, "no json")
    engine, _ = place.run(spark)
    assert len(place.rejects()) == 1
    assert summed(place.feed()) == facts(engine) == facts(tl.Engine.open(place.folder / "state"))
    assert {path.name for path in place.folder.iterdir()} == {
        "state", "rejects", "updates", "changes", "rules.dl", "edge.csv", "pipeline.toml"
    }  # fmt: skip


@pytest.mark.parametrize("rounds", [3, pytest.param(50, marks=pytest.mark.long)])
def test_every_micro_batch_can_come_again(spark, tmp_path, rounds):
    """Figure 11 of the guarantees: after each of them the stream's memory of it is taken away; nothing changes."""
    place, draw = Place(tmp_path / "p"), random.Random(rounds)
    for number in range(rounds):
        for part in range(draw.randint(1, 2)):
            pairs = [["edge", f"n{draw.randrange(9)}", f"n{draw.randrange(9)}"] for _ in range(4)]
            place.update(f"{number:03}-{part}", {"insert": pairs[:3], "delete": pairs[3:]})
        engine, _ = place.run(spark)
        before = place.feed()
        forget_last_commit(place)
        again, seen = place.run(spark)
        assert len(seen.of("known")) > 0
        assert (again.version, facts(again), place.feed()) == (engine.version, facts(engine), before)
    again.verify()
    assert summed(before) == facts(again)


def test_the_rule_file_is_compared_with_what_it_said(spark, tmp_path):
    """What the stream did to the rules stays, until the file changes; declarations stay for good, with their place."""
    place = Place(tmp_path / "p")
    place.update("1", {"remove_rules": ["tr"], "add_rules": "loop: loop(x) :- path(x, x)."})
    engine, _ = place.run(spark)
    again, seen = place.run(spark)
    assert (again.version, again.rules, seen.of("rules")) == (engine.version, engine.rules, [])

    place.write("rules.dl", RULES.replace("(x, _).", "(x, _).\n// a remark", 1) + "loop: loop(x) :- path(x, x).\n")
    again, seen = place.run(spark)
    assert (again.version, seen.of("rules")) == (engine.version, [])
    place.write("rules.dl", RULES + 'edge("x", "y").\n')
    last, seen = place.run(spark)
    assert [(one["added"], one["removed"]) for one in seen.of("rules")] == [(0, 1)]
    assert ("x", "y") in last["path"]
    assert not any(rule.startswith(("loop", "tr")) for rule in last.rules)
    last.verify()
    assert summed(place.feed()) == facts(last)

    place.write("rules.dl", RULES.replace("b: symbol", "b: any"))
    with pytest.raises(StateError) as caught:
        place.run(spark)
    assert caught.value.code == "E605"
    assert caught.value.problems[0].place.line == 2
    place.write("rules.dl", "other(x) :- thing(x).")
    place.write("pipeline.toml", (place.folder / "pipeline.toml").read_text().replace("sources.edge", "sources.thing"))
    with pytest.raises(StateError, match="E610"):
        place.run(spark)
    assert tl.Engine.open(tmp_path / "p/state").version == last.version


def test_bad_updates_are_rejected_line_by_line(spark, tmp_path):
    """A line is a transaction: its good facts go with the bad one; the lines around it are applied, in one version."""
    place = Place(tmp_path / "p", on_bad="reject", updates="latest = true")
    bad = {
        '{"insert": [["edge", "x", "y"], ["edge", "z"]]}': "edge has 2 columns, not 1",
        '{"insert": [["edge", "x", 7]]}': "edge: 7 is no symbol",
        '{"insert": [["edge", ': "the line is not JSON",
        '{"remove_rules": ["nobody"]}': "there is no rule nobody",
        '{"add_rules": "p(x) :- !q(x)."}': "x",
        '{"insert": [["new", 1]], "delete": [["new", 1, 2]]}': "columns",
        '{"upsert": []}': "has no 'upsert'",
    }
    place.update("1", {"insert": [["edge", "c", "d"]]}, *bad)
    place.update(
        "2", {"add_rules": "r: s(x) :- edge(x, _)."}, {"remove_rules": ["r"]}, {"insert": [["edge", "d", "e"]]}
    )
    engine, seen = place.run(spark)
    assert engine.version == 2
    assert [one["updates"] for one in seen.of("batch")] == [4]
    with log.StateLog(place.folder / "state") as state:
        assert state.info.origin == "stream 0.0 to 0.1", "the version holds two files"
    assert ("a", "e") in engine["path"]
    rejects = {row["text"]: row["reason"] for row in place.rejects()}
    assert set(rejects) == set(bad)
    for text, words in bad.items():
        assert words in rejects[text], (text, rejects[text])
    assert sorted(row["line"] for row in place.rejects()) == [2, 3, 4, 5, 6, 7, 8]
    assert summed(place.feed()) == facts(engine)


def test_a_bad_update_can_stop_the_run_and_leaves_the_last_good_version(spark, tmp_path):
    """`on_bad = "fail"`: the error is ours, with its place; what was stored stays, and a corrected file goes on."""
    place = Place(tmp_path / "p")
    place.update("1", {"insert": [["edge", "c", "d"]]})
    place.update("2", "{broken")
    with pytest.raises(PipelineError) as caught:
        place.run(spark)
    assert (caught.value.code, caught.value.problems[0].place.line) == ("E728", 1)
    assert tl.Engine.open(tmp_path / "p/state").version == 2
    place.update("2", {"insert": [["edge", "d", "e"]]})
    engine, _ = place.run(spark)
    assert engine.version == 3
    assert summed(place.feed()) == facts(engine)


def test_a_lost_checkpoint_is_refused(spark, tmp_path):
    """Batch numbers would begin anew, and new updates be taken for known ones: better to stop."""
    place = Place(tmp_path / "p")
    place.update("1", {"insert": [["edge", "c", "d"]]})
    place.run(spark)
    shutil.rmtree(tmp_path / "p/state/_pipeline/checkpoint")
    with pytest.raises(PipelineError, match="E730"):
        place.run(spark)


@pytest.mark.parametrize("is_address", [False, True])
def test_the_checkpoint_may_be_elsewhere(spark, tmp_path, monkeypatch, is_address):
    """A path beside the pipeline file, or an address, which Spark itself is asked about; a lost one is refused.

    And so is a new state with an old checkpoint: Spark would leave out the updates that another state has.
    """
    folder = tmp_path / "p/elsewhere"
    if is_address:
        monkeypatch.setattr(streaming, "local_folder", lambda _: None)
    place = Place(tmp_path / "p", updates=f'checkpoint = "{folder.as_uri() if is_address else "elsewhere"}"')
    place.update("1", {"insert": [["edge", "c", "d"]]})
    place.run(spark)
    assert (folder / "metadata").is_file()
    assert not (place.folder / "state/_pipeline/checkpoint").exists()
    place.update("2", {"insert": [["edge", "d", "e"]]})
    assert [one["version"] for one in place.run(spark)[1].of("batch")] == [3]
    (place.folder / "state").rename(tmp_path / "aside")
    with pytest.raises(PipelineError, match="the state is new"):
        place.run(spark)
    shutil.rmtree(place.folder / "state")
    (tmp_path / "aside").rename(place.folder / "state")
    shutil.rmtree(folder)
    with pytest.raises(PipelineError, match="is gone"):
        place.run(spark)


def test_the_spark_backend_runs_the_same_pipeline(spark, tmp_path):
    """The same files on the other backend: same feed, same state; large relations are spelled by Spark alike."""
    feeds = []
    for backend in ("local", "spark"):
        place = Place(tmp_path / backend)
        place.write("pipeline.toml", (place.folder / "pipeline.toml").read_text().replace('"local"', f'"{backend}"'))
        place.update("1", {"insert": [["edge", "c", 'd "é\\']], "delete": [["edge", "a", "b"]]})
        engine, seen = place.run(spark)
        assert seen.of("backend")[0]["backend"] == engine.backend == backend
        engine.verify()
        assert summed(place.feed()) == facts(engine)
        feeds.append(place.feed())
    assert feeds[0] == feeds[1]
    spelled = whole_feed(engine, spark, large=0).toArrow().to_pylist()
    assert {(row["relation"], row["values"]) for row in spelled} == summed(feeds[1])


def test_updates_as_rows_of_parquet(spark, tmp_path):
    """Rows keep their order inside a file; rules come as rows, too; a row that is no update is rejected by number."""
    place = Place(tmp_path / "p", on_bad="reject", updates='format = "parquet"')
    rows = [
        ("insert", "edge", '["c", "d"]'),
        ("delete", "edge", '["c", "d"]'),
        ("delete", "edge", '["c", "a"]'),
        ("insert", "edge", '["c", "a"]'),
        ("insert", "edge", '["c"'),
        ("upsert", "edge", '["c", "e"]'),
        ("add_rules", None, '["loop: loop(x) :- path(x, x)."]'),
        ("remove_rules", None, '["tr"]'),
    ]
    table = pa.table([list(column) for column in zip(*rows)], names=["op", "relation", "values"])
    pq.write_table(table, place.folder / "updates" / "1.parquet")
    engine, _ = place.run(spark)
    assert set(engine["edge"]) == {("a", "b"), ("b", "c"), ("c", "a")}
    assert len(engine["loop"]) == 0
    assert engine.version == 2
    assert sorted(row["line"] for row in place.rejects()) == [5, 6]
    assert summed(place.feed()) == facts(engine)


def test_old_versions_are_forgotten_when_asked(spark, tmp_path, monkeypatch):
    """`keep_versions = 4`: the last ones stay readable, the first ones go, and the state still continues."""
    monkeypatch.setattr(log, "FAN_OUT", 3)
    place = Place(tmp_path / "p")
    place.write("pipeline.toml", "keep_versions = 4\n" + (place.folder / "pipeline.toml").read_text())
    for number in range(10, 19):
        place.update(str(number), {"insert": [["edge", "c", f"n{number}"]]})
    engine, _ = place.run(spark)
    assert engine.version == 10
    assert facts(tl.Engine.open(tmp_path / "p/state", version=8)) < facts(engine)
    with pytest.raises(StateError, match="E604"):
        tl.Engine.open(tmp_path / "p/state", version=2)
    place.update("30", {"insert": [["edge", "c", "late"]]})
    again, _ = place.run(spark)
    assert again.version == 11
    assert summed(place.feed()) == facts(again)


def test_versions_tell_their_micro_batch(spark, tmp_path, capsys):
    """`tidelog state` names the micro-batch and the part of it, as the run did."""
    place = Place(tmp_path / "p")
    place.update("1", {"insert": [["edge", "c", "d"]]})
    place.run(spark)
    place.update("2", {"insert": [["edge", "d", "e"]]})
    place.update("3", {"insert": [["edge", "e", "f"]]})
    place.run(spark)
    assert main(["state", str(tmp_path / "p/state")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.partition("stream ")[2].split()[0] for line in shown[2:]] == ["0.0", "1.0", "1.1"]
