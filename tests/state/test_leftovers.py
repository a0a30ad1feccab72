"""A save that came to nothing leaves no file behind: it, the next one, or `--forget-before` removes it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.state.streams import sight
from tidelog import Engine
from tidelog.cli import main
from tidelog.errors import StateError
from tidelog.state.failpoints import VARIABLE, FailpointError, raising
from tidelog.state.log import StateLog

ROOT = Path(__file__).parents[2]
BEFORE_THE_COMMIT = ("file-half-written", "files-written", "base-begins", "base-written")


def unnamed(directory):
    """Files of rows that no commit names, and what the log holds besides entries."""
    log = directory / "_delta_log"
    entries = list(log.glob("*.json")) if log.exists() else []
    lines = [json.loads(line) for entry in entries for line in entry.read_bytes().split(b"\n") if line]
    named = {line["add"]["path"] for line in lines if "add" in line}
    strange = [path.name for path in (log.iterdir() if log.exists() else ()) if path.suffix != ".json"]
    return [path.name for path in directory.glob("*.parquet") if path.name not in named] + strange


def started(directory):
    engine = Engine()
    engine.apply(insert={"p": [(1,)]})
    engine.save(directory)
    engine.apply(insert={"p": [(2,)]})
    return engine


@pytest.mark.parametrize("failpoint", BEFORE_THE_COMMIT)
@pytest.mark.parametrize("first", [True, False])
def test_a_failed_save_leaves_nothing(tmp_path, failpoint, first):
    """Whatever it had written by then, of a first save or of a later one."""
    engine = Engine() if first else started(tmp_path / "state")
    engine.apply(insert={"q": [(1,)]})
    try:
        with raising(failpoint):
            engine.save(tmp_path / "state")
    except FailpointError:
        pass
    assert unnamed(tmp_path / "state") == []
    engine.save(tmp_path / "state")
    assert sight(Engine.open(tmp_path / "state")) == sight(engine)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    """Half a file is written when the disk is full; it is gone when the error is said."""
    engine = started(tmp_path / "state")
    engine.apply(insert={"p": [(number,) for number in range(1000)]})

    def full(self, table):
        os.write(os.open(self.where, os.O_WRONLY), b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(StateError, match="E606"):
        engine.save(tmp_path / "state")
    monkeypatch.undo()
    assert unnamed(tmp_path / "state") == []
    engine.save(tmp_path / "state")
    assert sight(Engine.open(tmp_path / "state")) == sight(engine)


def test_a_commit_that_fails_leaves_nothing_after_the_next_save(tmp_path):
    """The commit of which one is not sure may count its file, so that it stays until the next save knows."""
    engine = started(tmp_path / "state")
    log = tmp_path / "state/_delta_log"
    held = log.with_name("held")
    with StateLog(tmp_path / "state") as state:
        commit = state._table.commit

        def broken(*arguments):
            log.rename(held)
            log.write_text("in the way")
            commit(*arguments)

        state._table.commit = broken
        with pytest.raises(StateError, match="E606"):
            engine.save(state)
    log.unlink()
    held.rename(log)
    assert len(unnamed(tmp_path / "state")) == 1
    engine.save(tmp_path / "state")
    assert unnamed(tmp_path / "state") == []
    assert sight(Engine.open(tmp_path / "state")) == sight(engine)


KILLED = """
import sys
from tidelog import Engine
engine = Engine.open(sys.argv[1])
engine.apply(insert={"p": [(number,) for number in range(100)]})
engine.save(sys.argv[1])
"""


@pytest.mark.parametrize("failpoint", ["file-half-written", "files-written"])
@pytest.mark.parametrize("way", ["save", "forget"])
def test_what_a_killed_process_left_is_removed(tmp_path, failpoint, way, capsys):
    """The next writer knows which save the dead one had begun; `--forget-before` removes whatever no commit names."""
    started(tmp_path / "state")
    (tmp_path / "state/_delta_log/00000000000000000001.json#1").write_text("staged")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "state")],
        cwd=ROOT,
        env={**os.environ, VARIABLE: failpoint},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert len(unnamed(tmp_path / "state")) >= 1
    if way == "forget":
        (tmp_path / "state/_tidelog.lock").unlink()
        assert main(["state", str(tmp_path / "state"), "--forget-before", "1"]) == 0
        assert "removed" in capsys.readouterr().out
    else:
        engine = Engine.open(tmp_path / "state")
        engine.apply(insert={"p": [(7,)]})
        engine.save(tmp_path / "state")
        assert sight(Engine.open(tmp_path / "state")) == sight(engine)
    assert unnamed(tmp_path / "state") == []


def test_a_file_that_an_older_version_needs_is_never_a_leftover(tmp_path):
    """A directory that was copied while it was written to can name an old save in its lock: its file stays."""
    engine = started(tmp_path / "state")
    lock = (tmp_path / "state/_tidelog.lock").read_text()
    engine.save(tmp_path / "state")
    (tmp_path / "state/_tidelog.lock").write_text(lock)
    engine.apply(insert={"p": [(3,)]})
    engine.save(tmp_path / "state")
    assert [len(Engine.open(tmp_path / "state", version=number)["p"]) for number in (1, 2, 3)] == [1, 2, 3]


def test_a_lock_file_with_anything_in_it_is_harmless(tmp_path):
    """What stands in it is no name of a file unless it looks like the id of a save."""
    engine = started(tmp_path / "state")
    (tmp_path / "state/_tidelog.lock").write_bytes(b"1\n*\n../x\n\xff\n")
    engine.save(tmp_path / "state")
    assert sight(Engine.open(tmp_path / "state")) == sight(engine)


FULL = """
import resource, sys
import tidelog as tl
engine = tl.Engine("q(x) :- p(x).")
engine.apply(insert={"p": [(1,)]})
engine.save(sys.argv[1])
engine.apply(insert={"p": [(2,)]})
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
try:
    engine.save(sys.argv[1])
except tl.StateError as error:
    print(error.code)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
engine.save(sys.argv[1])
print(len(tl.Engine.open(sys.argv[1])["q"]))
"""


def test_a_lock_that_cannot_be_written_is_said_and_let_go(tmp_path):
    """Where not one byte can be written: the error has a code, and the lock is free when there is room again."""
    code = [sys.executable, "-c", FULL, str(tmp_path / "state")]
    done = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["E606", "2"], done.stderr


def test_nothing_is_removed_that_no_save_wrote(tmp_path, capsys):
    """Files of others that lie in the directory stay, whatever they are called.

    Taught by a directory that also held somebody's data: forgetting versions deleted every Parquet file in it that no
    commit named.
    """
    engine = started(tmp_path)
    engine.save(tmp_path)
    others = [
        *("customers.parquet", ".hidden.parquet", "base-2024.parquet", "changes0-x.parquet.crc", "notes.parquet.txt"),
        *("_segments/plan.json", "_segments/readme.parquet"),
    ]
    (tmp_path / "_segments").mkdir(exist_ok=True)
    for name in others:
        (tmp_path / name).write_text("mine")
    (tmp_path / "facts.parquet").mkdir()
    orphan = tmp_path / f"changes0-{'0' * 32}.parquet"
    orphan.write_text("left by a save")
    assert main(["state", str(tmp_path), "--forget-before", str(engine.version)]) == 0
    assert [name for name in others if not (tmp_path / name).exists()] == []
    assert (tmp_path / "facts.parquet").is_dir()
    assert not orphan.exists()
    assert set(Engine.open(tmp_path)["p"]) == {(1,), (2,)}
    capsys.readouterr()
