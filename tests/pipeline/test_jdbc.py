"""A real PostgreSQL as source and sink: facts come out of a table, changes and relations go into others, each once."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

JARS = ("/usr/share/java/postgresql.jar", os.environ.get("TIDELOG_POSTGRES_JAR", ""))
RULES = """
.decl edge(a: number, b: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def tool(name: str) -> str | None:
    """A program of PostgreSQL's server, which Debian keeps out of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


class Server:
    """A server on a free port of the loopback address, with its data in a folder."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "data"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._as = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._as:
            shutil.chown(folder, "postgres")
        self._do(tool("initdb"), "-D", self._data, "-U", "ann", "-A", "trust", "--no-sync")
        options = f"-h 127.0.0.1 -p {self.port} -k {folder}"
        self._do(tool("pg_ctl"), "-D", self._data, "-o", options, "-l", folder / "log", "-w", "start")

    def stop(self) -> None:
        self._do(tool("pg_ctl"), "-D", self._data, "-m", "immediate", "stop")

    def ask(self, text: str) -> list[str]:
        command = [
            tool("psql") or "psql",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-U",
            "ann",
            "postgres",
            "-Atc",
            text,
        ]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    def _do(self, *command: object) -> None:
        done = subprocess.run([*self._as, *map(str, command)], capture_output=True, text=True, cwd="/", check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def server() -> Iterator[Server]:
    missing = [name for name in ("initdb", "pg_ctl", "psql") if tool(name) is None]
    if missing:
        pytest.skip(f"PostgreSQL is not installed here (no {missing[0]}); on Debian: apt-get install postgresql")
    if not any(Path(jar).is_file() for jar in JARS if jar):
        pytest.skip("its JDBC driver is not installed here; on Debian: apt-get install libpostgresql-jdbc-java")
    with tempfile.TemporaryDirectory(prefix="tidelog-pg-") as folder:  # pytest's own folders are closed to other users
        started = Server(Path(folder))
        yield started
        started.stop()


def pipeline(server: Server) -> str:
    jar = next(jar for jar in JARS if jar and Path(jar).is_file())
    where = (
        f'url = "jdbc:postgresql://127.0.0.1:{server.port}/postgres", user = "ann", driver = "org.postgresql.Driver"'
    )
    return f"""
program = "rules.dl"
state = "state"
on_bad = "reject"
[sources.edge]
format = "jdbc"
columns = ["b", "a"]
where = [{{ column = "kind", op = "=", value = "it's" }}]
options = {{ {where}, dbtable = "edges" }}
[updates]
path = "updates"
[[sinks]]
format = "jdbc"
options = {{ {where}, dbtable = "changes" }}
[[sinks]]
what = "relations"
format = "jdbc"
relations = ["path"]
options = {{ {where}, dbtable = "path" }}
[spark]
master = "local[2]"
options = {{ "spark.driver.extraClassPath" = "{jar}" }}
"""


def run(folder: Path, failpoint: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidelog", "run", str(folder / "pipeline.toml"), "--once", "--verify"]
    environment = {**os.environ, **({"TIDELOG_FAILPOINT": failpoint} if failpoint else {})}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=280)


@pytest.mark.long
def test_a_database_as_source_and_sink(server: Server, tmp_path: Path) -> None:
    """Nulls are rejects; a kill after the sink's transaction does not make a version appear twice."""
    server.ask("create table edges (a integer, b bigint, kind text)")
    server.ask("insert into edges values (2, 1, 'it''s'), (3, 2, 'it''s'), (4, 3, 'other'), (null, 3, 'it''s')")
    (tmp_path / "updates").mkdir()
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "pipeline.toml").write_text(pipeline(server))
    (tmp_path / "updates/1.jsonl").write_text('{"insert": [["edge", 3, 4]]}\n')
    (tmp_path / "updates/2.jsonl").write_text('{"delete": [["edge", 1, 2]]}\n')
    killed = run(tmp_path, "version-published:2")
    assert killed.returncode == -9, killed.stderr
    assert server.ask("select max(version) from changes") == ["2"]
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "equal to recomputation" in done.stderr
    counted = server.ask("select version, op, count(*) from changes group by 1, 2 order by 1, 2")
    assert counted == ["1|insert|5", "2|insert|4", "3|delete|4"]
    assert server.ask("select * from path order by 1, 2") == ["2|3", "2|4", "3|4"]
    assert "1 bad record" in killed.stderr
