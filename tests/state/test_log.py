"""A state takes the next version of its own engine only, refuses what it cannot vouch for, and stays small.

Each refusal has a code, so that a pipeline can tell a damaged disk from a wrong directory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.state.streams import sight
from tidelog import Engine
from tidelog.errors import StateError
from tidelog.state import log as log_module
from tidelog.state import rows as rows_module
from tidelog.state.log import StateLog
from tidelog.state.reading import read_state, read_versions
from tidelog.state.table import Table

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
out(x, n) :- edge(x, _), n = count : { path(x, _) }.
"""


@pytest.fixture
def state(tmp_path) -> Path:
    """A directory with three versions."""
    engine = Engine(RULES)
    for pair in [(1, 2), (2, 3), (3, 1)]:
        engine.apply(insert={"edge": [pair]})
        engine.save(tmp_path / "state")
    return tmp_path / "state"


def refused(code: str, action, *arguments, **options) -> str:
    """The message with which an action is refused."""
    with pytest.raises(StateError) as found:
        action(*arguments, **options)
    assert found.value.code == code
    assert found.value.problems[0].remedy
    return str(found.value)


# -- who may write -----------------------------------------------------------------------------------------------------


def test_another_engine_is_refused(state):
    """Saving over the state of somebody else would lose it."""
    before = read_versions(state)
    assert "another engine" in refused("E608", Engine(RULES).save, state)
    assert read_versions(state) == before


def test_an_engine_that_was_overtaken_is_refused(state):
    """Two engines open one version; the second to save would undo what the first one saved."""
    first, second = Engine.open(state), Engine.open(state)
    first.apply(insert={"edge": [(7, 8)]})
    first.save(state)
    second.apply(insert={"edge": [(8, 9)]})
    assert "moved on to version 4" in refused("E608", second.save, state)
    assert sight(Engine.open(state)) == sight(first)


def test_an_old_version_is_for_reading(state):
    """Continuing from the past would be a second future."""
    engine = Engine.open(state, version=1)
    engine.apply(insert={"edge": [(7, 8)]})
    refused("E608", engine.save, state)


def test_two_writers_at_once_are_refused(state):
    """Whoever comes second hears who is there, at once; reading goes on."""
    with StateLog(state):
        assert "another writer" in refused("E607", StateLog, state)
        assert Engine.open(state).version == 3
    StateLog(state).close()


def test_a_dead_writer_holds_nothing(state):
    """The lock is the system's, so that nobody has to remove a file by hand after a crash."""
    code = "import os, sys; from tidelog.state.log import StateLog; StateLog(sys.argv[1]); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code, str(state)], check=False).returncode == 9
    StateLog(state).close()


def test_one_engine_can_keep_two_states(tmp_path):
    """Each state gets what it lacks, however the saves alternate."""
    engine = Engine(RULES)
    for number in range(6):
        engine.apply(insert={"edge": [(number, number + 1)]}, delete={"edge": [(number - 3, number - 2)]})
        engine.save(tmp_path / str(number % 2))
    engine.save(tmp_path / "0")
    assert sight(Engine.open(tmp_path / "0")) == sight(Engine.open(tmp_path / "1")) == sight(engine)


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_missing_state_is_named(tmp_path):
    """A wrong path is the usual mistake; nothing is made there."""
    assert "there is no state" in refused("E601", Engine.open, tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_foreign_table_is_refused(tmp_path):
    """Any Delta table is not a state."""
    write_deltalake(tmp_path, pa.table({"a": [1, 2]}))
    assert "no state of Tidelog" in refused("E601", Engine.open, tmp_path)
    refused("E601", Engine(RULES).save, tmp_path)


def test_another_format_is_refused(state):
    """A format of the future is not guessed at."""
    last = sorted((state / "_delta_log").glob("*.json"))[-1]
    last.write_text(last.read_text().replace('"tidelog":{"format":2,', '"tidelog":{"format":99,'))
    assert "format 99" in refused("E602", Engine.open, state)
    refused("E602", StateLog, state)


def test_a_state_of_the_first_format_opens_and_goes_on(state):
    """Its commits name no files beside the table; rows are as they were, and the next commit has the new format."""
    for entry in (state / "_delta_log").glob("*.json"):
        said = (
            entry.read_text().replace('"tidelog":{"format":2,', '"tidelog":{"format":1,').replace('"store":""', '"x":1')
        )
        assert '"format":1' in said
        assert '"store"' not in said
        entry.write_text(said)
    engine = Engine.open(state)
    before = set(engine["path"])
    engine.apply(insert={"edge": [(3, 4)]})
    engine.save(state)
    assert before < set(Engine.open(state)["path"])
    assert set(Engine.open(state, version=3)["path"]) == before


def test_an_unknown_version_is_refused_with_its_neighbours(state):
    """The message helps to find one that is there."""
    assert "1, 2, 3" in refused("E604", Engine.open, state, version=77)


def test_a_repeated_batch_is_refused(state):
    """A log never takes a batch twice, whatever its caller forgot to ask."""
    engine = Engine.open(state)
    engine.save(state, batch=5)
    engine.apply(insert={"edge": [(7, 8)]})
    for batch in (5, 4):
        refused("E609", engine.save, state, batch=batch)
    engine.save(state, batch=5, source="another stream")
    with StateLog(state) as log:
        assert (log.last_batch(), log.last_batch("another stream"), log.last_batch("unknown")) == (5, 5, None)


def test_a_version_records_the_range_of_batches_that_it_holds(state):
    """Several batches may have become one version: all of them are part of the state, and people see which."""
    engine = Engine.open(state)
    engine.apply(insert={"edge": [(7, 8)]})
    engine.save(state, batch=range(3, 7), source="files")
    for batch in (range(0), range(1, 9, 2), range(5, 1, -1)):
        refused("E612", engine.save, state, batch=batch)
    with StateLog(state) as log:
        assert [log.has_batch(batch, "files") for batch in (3, 6, 7)] == [True, True, False]
        assert (log.info.first_batch, log.info.batch, log.info.origin) == (3, 6, "files 3 to 6")
    engine.apply(insert={"edge": [(8, 9)]})
    refused("E609", engine.save, state, batch=range(5, 7), source="files")
    engine.save(state, batch=7, source="files")
    with StateLog(state) as log:
        assert (log.info.first_batch, log.info.origin) == (7, "files 7")


@pytest.mark.parametrize("path", ["a%41", "%"])
def test_paths_that_the_table_library_misreads_are_refused(path, tmp_path):
    """delta-rs decodes such paths once too often; the mistake would be found only after the data were written."""
    refused("E606", Engine(RULES).save, tmp_path / path)


@pytest.mark.parametrize("path", ["a b", "a#b?c=d", "ü'\"`;", "$(x)", "-rf"])
def test_other_strange_paths_work(path, tmp_path):
    """A directory is a directory."""
    engine = Engine(RULES)
    engine.save(tmp_path / path)
    engine.apply(insert={"edge": [(1, 2)]})
    engine.save(tmp_path / path)
    assert sight(Engine.open(tmp_path / path)) == sight(engine)


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    """The reason is the system's own."""
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused("E606", Engine(RULES).save, tmp_path / "file")


# -- damage ------------------------------------------------------------------------------------------------------------


def test_a_missing_file_is_found(state):
    """Facts that are gone are not overlooked."""
    next(state.glob("changes*.parquet")).unlink()
    refused("E603", Engine.open, state)
    assert Engine.open(state, version=1).version == 1


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_changed_byte_is_found_or_harmless(state, place):
    """Pages carry checksums, sizes are part of the commit: what opens is what was saved."""
    expected = sight(Engine.open(state))
    file = next(state.glob("base*.parquet"))
    content = bytearray(file.read_bytes())
    content[int(len(content) * place)] ^= 0x55
    file.write_bytes(content)
    try:
        found: object = sight(Engine.open(state))
    except StateError as error:
        found = error.code
    assert found in ("E603", expected)


def test_rows_that_were_changed_on_the_disk_are_no_rows_since_a_version(state):
    """Whoever keeps his facts elsewhere reads the rows of later versions: what is not refused is what was saved."""
    table = Table(state)
    files = [file for file in table.files() if file.level != "base"]
    expected = table.read_since(files, {"path": 1})
    path = state / files[0].name
    content, codes = path.read_bytes(), set[str]()
    for place in range(4, len(content) - 8, 29):
        damaged = bytearray(content)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            assert table.read_since(files, {"path": 1}) == expected
        except StateError as error:
            codes.add(error.code)
    assert codes == {"E603"}


def test_a_truncated_file_is_found(state):
    """A file that ends early is not a smaller file."""
    file = next(state.glob("base*.parquet"))
    file.write_bytes(file.read_bytes()[:-20])
    refused("E603", Engine.open, state)


def test_a_torn_commit_is_found(state):
    """Half a commit is no commit; versions before it can still be read."""
    last = sorted((state / "_delta_log").glob("*.json"))[-1]
    last.write_text(last.read_text()[:100])
    refused("E603", Engine.open, state)


def test_counts_that_do_not_fit_are_found(state):
    """The commit says how many facts there are, so rows that are lost inside whole files are noticed as well."""
    last = sorted((state / "_delta_log").glob("*.json"))[-1]
    lines = [json.loads(line) for line in last.read_text().splitlines()]
    lines[0]["commitInfo"]["tidelog"]["relations"]["path"] = [2, 1000]
    last.write_text("\n".join(map(json.dumps, lines)))
    assert "path has 9 facts instead of 1000" in refused("E603", Engine.open, state)


# -- what a save costs -------------------------------------------------------------------------------------------------


def test_a_save_after_a_small_update_writes_the_change(tmp_path):
    """Not the data: that is what the journal is for."""
    engine = Engine("double(x, y) :- number(x), y = x + x.")
    engine.apply(insert={"number": [(n,) for n in range(5_000)]})
    engine.save(tmp_path)
    engine.apply(insert={"number": [(-1,)]}, delete={"number": [(7,)]})
    engine.save(tmp_path)
    base, change = read_versions(tmp_path)
    assert (base.kind, base.rows) == ("base", 10_001)
    assert (change.kind, change.rows) == ("changes", 6), "two facts each came and went, one asserted, one withdrawn"
    assert Engine.open(tmp_path, version=engine.version)["double"].arity == 2


def test_a_save_without_a_change_writes_nothing(state):
    """Saving twice is saving once."""
    engine = Engine.open(state)
    engine.save(state)
    assert len(read_versions(state)) == 3


def test_files_of_changes_are_put_together(tmp_path, monkeypatch):
    """After hundreds of saves a version is still a handful of files, and old versions are what they were."""
    monkeypatch.setattr(log_module, "FAN_OUT", 4)
    engine, sights = Engine(RULES), {}
    with StateLog(tmp_path) as log:
        for number in range(70):
            engine.apply(insert={"edge": [(number % 7, number % 5)]}, delete={"edge": [(number % 5, number % 3)]})
            engine.save(log)
            sights[engine.version] = sight(engine)
    kinds = [info.kind for info in read_versions(tmp_path)]
    assert kinds.count("merge") >= 15
    assert len(DeltaTable(tmp_path).file_uris()) <= 12
    for version in (1, 17, 40, 70):
        assert sight(Engine.open(tmp_path, version=version)) == sights[version]


def test_a_large_change_is_written_in_pieces(tmp_path, monkeypatch):
    """Rows take several times the memory of facts, so they are never all there at once; merges go by pieces, too."""
    monkeypatch.setattr(rows_module, "AT_ONCE", 3)
    monkeypatch.setattr(log_module, "FAN_OUT", 2)
    engine = Engine(RULES)
    engine.save(tmp_path)
    for number in range(4):
        engine.apply(insert={"edge": [(10 * number + at, 10 * number + at + 1) for at in range(7)]})
        engine.save(tmp_path)
    assert [info.kind for info in read_versions(tmp_path)].count("merge") >= 2
    assert sight(Engine.open(tmp_path)) == sight(engine)
    assert len(engine["path"]) == 4 * 28


def test_a_damaged_file_of_changes_is_not_merged(tmp_path, monkeypatch):
    """The version before stays, and the file that was begun goes."""
    monkeypatch.setattr(log_module, "FAN_OUT", 2)
    engine = Engine(RULES)
    for number in range(2):
        engine.apply(insert={"edge": [(number, number + 1)]})
        engine.save(tmp_path)
    [changes] = tmp_path.glob("changes0-*.parquet")
    changes.write_bytes(changes.read_bytes()[:-9] + b"123456789")
    engine.apply(insert={"edge": [(7, 8)]})
    refused("E603", engine.save, tmp_path)
    assert len(read_versions(tmp_path)) == 2
    assert not list(tmp_path.glob("changes1-*.parquet"))


def test_a_new_base_replaces_outgrown_changes(tmp_path, monkeypatch):
    """The state grows with the facts that there are, not with all that ever happened."""
    monkeypatch.setattr(log_module, "LEAST_CHANGES", 20)
    engine = Engine(RULES)
    engine.save(tmp_path)
    for number in range(30):
        engine.apply(insert={"edge": [(number, number + 1)]}, delete={"edge": [(number - 1, number)]})
        engine.save(tmp_path)
    infos = read_versions(tmp_path)
    assert [info.kind for info in infos].count("base") > 3
    assert infos[-1].facts == 3
    assert sight(Engine.open(tmp_path)) == sight(engine)


def test_a_journal_that_outgrows_the_facts_is_given_up(tmp_path, monkeypatch):
    """An engine that is never saved again does not remember for ever; the next save writes everything."""
    monkeypatch.setattr("tidelog.state.journal.LEAST_LIMIT", 10)
    engine = Engine(RULES)
    engine.save(tmp_path)
    for number in range(30):
        engine.apply(insert={"edge": [(number, number + 1)]}, delete={"edge": [(number - 1, number)]})
    engine.save(tmp_path)
    assert read_versions(tmp_path)[-1].kind == "base"
    assert sight(Engine.open(tmp_path)) == sight(engine)


def test_old_versions_can_be_forgotten(tmp_path, monkeypatch):
    """Files that only older versions need go, and those that a crash left; the others are what they were."""
    monkeypatch.setattr(log_module, "FAN_OUT", 3)
    engine, sights = Engine(RULES), {}
    for number in range(12):
        engine.apply(insert={"edge": [(number, number + 1)]})
        engine.save(tmp_path)
        sights[engine.version] = sight(engine)
    (tmp_path / "changes0-0123456789abcdef0123456789abcdef.parquet").write_bytes(b"half")
    with StateLog(tmp_path) as log:
        count, size = log.forget(before=7)
        assert count > 1
        assert size > 0
        assert log.forget(before=7) == (0, 0)
    assert not (tmp_path / "changes0-0123456789abcdef0123456789abcdef.parquet").exists()
    for version in range(7, 13):
        assert sight(Engine.open(tmp_path, version=version)) == sights[version]
    assert "was forgotten" in refused("E604", Engine.open, tmp_path, version=2)
    again = Engine.open(tmp_path)
    again.apply(insert={"edge": [(50, 51)]})
    again.save(tmp_path)


def test_forgetting_shortens_the_log(tmp_path):
    """A commit lists the log, so one that grows for ever makes every save slower; a checkpoint stands for the past."""
    engine = Engine()
    with StateLog(tmp_path) as log:
        for number in range(215):
            engine.apply(insert={"p": [(number,)]})
            engine.save(log, batch=number)
        log.forget(before=210)
        engine.apply(insert={"p": [(-1,)]})
        engine.save(log)
    versions = [info.version for info in read_versions(tmp_path)]
    assert versions[-1] == 216
    assert 200 <= versions[0] <= 210
    assert len(Engine.open(tmp_path)["p"]) == 216
    assert len(Engine.open(tmp_path, version=210)["p"]) == 210
    with StateLog(tmp_path) as log:
        assert log.last_batch() == 214


# -- an open format ----------------------------------------------------------------------------------------------------


def test_other_readers_understand_the_table(state):
    """The last word on every fact can be had from the Delta table with any reader; here without our code."""
    rows = DeltaTable(state).to_pyarrow_table().to_pylist()
    present = {}
    for row in sorted(rows, key=lambda row: row["version"]):
        if row["relation"] == "edge":
            present[tuple(cell["int"] for cell in row["values"])] = row["sign"]
    assert {fact for fact, sign in present.items() if sign > 0} == {(1, 2), (2, 3), (3, 1)}


def test_a_version_knows_its_batch_and_its_program(state):
    """Committed together with the data."""
    engine = Engine.open(state)
    engine.apply(add_rules="loop(x) :- path(x, x).")
    engine.save(state, batch=12)
    *_, before, after = read_versions(state)
    assert (after.version, after.batch, after.source, after.strategy) == (4, 12, "updates", "auto")
    assert after.fingerprint != before.fingerprint
    assert after.relations["loop"] == (1, 3)
    assert len(read_state(state).program.rules) == 4
    assert len(read_state(state, 3).program.rules) == 3


@pytest.mark.parametrize("name", ["a/../../b", "x\x00y", "`;--", "<script>", "program", "sign"])
def test_hostile_relation_names_are_data(name, tmp_path):
    """A name never becomes a path or a column."""
    engine = Engine()
    engine.apply(insert={name: [(1,), (1.0,), (True,), ("1",)]})
    engine.save(tmp_path / "state")
    assert sight(Engine.open(tmp_path / "state")) == sight(engine)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert all(path.name.startswith(("base-", "_")) for path in (tmp_path / "state").iterdir())


def test_the_program_that_was_handed_over_is_stored_with_the_version(state):
    """It is durable with the commit; what was given without a save is forgotten."""
    engine = Engine.open(state)
    with StateLog(state) as log:
        assert log.given is None
        log.give("p(x) :- q(x).")
        engine.apply(insert={"edge": [(4, 5)]})
        engine.save(log)
    with StateLog(state) as log:
        assert log.given == "p(x) :- q(x)."
        log.give("never saved(1).")
    with StateLog(state) as log:
        assert log.given == "p(x) :- q(x)."


def test_a_reader_begins_again_when_its_version_is_forgotten(state, monkeypatch):
    """Between the list of files and the files a writer saves and forgets; the state is not damaged, it is another."""
    engine, files, waiting = Engine.open(state), Table.files, [1]

    def meanwhile(self):
        found = files(self)
        if waiting:
            waiting.clear()
            monkeypatch.setattr(log_module, "LEAST_CHANGES", 0)
            engine.apply(insert={"edge": [(3, number) for number in range(50)]})
            engine.save(state)
            with StateLog(state) as log:
                assert log.forget(engine.version)[0] > 0
        return found

    monkeypatch.setattr(Table, "files", meanwhile)
    assert sight(Engine.open(state)) == sight(engine)


def test_an_interrupt_that_the_library_takes_for_a_bad_argument_is_named(tmp_path, monkeypatch):
    """Found by random interrupts: an exception injected while arguments are converted came out as a ValueError."""

    def convert(*_arguments: object, **_named: object) -> None:
        raise ValueError("value for 'tidelog' must be JSON-serializable: <unprintable str object>")

    engine = Engine("p(x) :- q(x).")
    engine.save(tmp_path / "state")
    engine.apply(insert={"q": [(1,)]})
    with monkeypatch.context() as patched:
        patched.setattr("deltalake.DeltaTable.create_write_transaction", convert)
        with pytest.raises(StateError, match="E606"):
            engine.save(tmp_path / "state")
    engine.save(tmp_path / "state")
    assert (1,) in Engine.open(tmp_path / "state")["p"]


def test_a_commit_that_does_not_say_what_every_commit_says_is_damaged(tmp_path):
    """Whatever is missing or of another type: the error has a code. Taught by KeyErrors of 21 damaged commits."""
    engine = Engine("q(x) :- p(x). p(1).")
    engine.save(tmp_path)
    path = tmp_path / "_delta_log" / f"{0:020d}.json"
    lines = [json.loads(line) for line in path.read_text().split("\n") if line]
    said = next(line["commitInfo"]["tidelog"] for line in lines if "commitInfo" in line)
    kept = dict(said)
    for name in ("state", "version", "fingerprint", "text", "strategy", "relations", "kind", "rows", "batch", "source"):
        for value in (..., [], {}, 1.5):
            said.clear()
            said.update({key: one for key, one in {**kept, name: value}.items() if one is not ...})
            path.write_text("\n".join(map(json.dumps, lines)) + "\n")
            refused("E603", Engine.open, tmp_path)


def test_a_range_of_batches_repeats_none(tmp_path):
    """Of which the first ones are part of the state: those would count twice."""
    engine = Engine("p(1).")
    engine.save(tmp_path, batch=5)
    engine.apply(insert={"p": [(2,)]})
    refused("E609", engine.save, tmp_path, batch=range(4, 9))
    engine.save(tmp_path, batch=range(6, 9))
