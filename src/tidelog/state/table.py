"""The table of a state: Parquet files, and a Delta log that says which of them make up a version.

What      : writes and reads files of rows, and commits added and removed files with a description, atomically.
Idea      : delta-rs commits by making one file of the log appear; data files are written and synced before, under names
            that nobody knows yet. So a version is there with all its rows or not at all, and files that no commit names
            are as good as absent.
Invariant : files are never changed. A commit that was answered is on the disk, not only in the system's memory.
Never     : no fact is looked at (rows.py, fold.py), and no decision what to write (log.py).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema, Transaction
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from tidelog.errors import StateError
from tidelog.state import far
from tidelog.state.base_rows import filled_rows
from tidelog.state.failpoints import reach
from tidelog.state.failures import damaged, reading, refuse_if_forked, writing
from tidelog.state.file_systems import place
from tidelog.state.remote import Location, Remote, readable, writable
from tidelog.state.rows import SCHEMA
from tidelog.state.versions import KEY, VersionInfo

_LOG = "_delta_log"
_STAGED = re.compile(r"(\d{20}\.|_last_checkpoint).*#\d+|_commit_.*\.json\.tmp")
_OURS = re.compile(r"\.?(base|changes\d+)-[0-9a-f]{32}(-\d+)*\.parquet(\.\w+)?")
"""Names of files that saves write: a level and the id of the save. Nothing else in the directory is removed."""
_HOOKS = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)

ROW_GROUP = 1 << 18
"""About how many rows are written at a time."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of rows: its name, which begins with its level, its bytes and its rows."""

    name: str
    size: int
    rows: int

    @property
    def level(self) -> str:
        """`base`, or "changes" with a number: how often the rows of this file have been merged from smaller files."""
        return self.name.partition("-")[0]

    @property
    def is_far(self) -> bool:
        """Whether it holds facts of relations that a backend has in files of its own, too (far.py)."""
        return self.level == "base" and self.name.count("-") > 1


class Table:
    """The table in one directory, at its last commit or at a given one."""

    def __init__(self, directory: Location, commit: int | None = None) -> None:
        refuse_if_forked(directory)  # before a client of a store is asked, which does not come along either
        self.directory = directory
        self._delta: DeltaTable | None = None
        if self.exists():
            with reading(directory):
                self._delta = DeltaTable(directory.as_uri(), version=commit)

    def exists(self) -> bool:
        """Whether there is a commit."""
        log = self.directory / _LOG
        return log.is_dir() and any(log.glob("*.json"))

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def delta(self) -> DeltaTable:
        """The table as delta-rs knows it."""
        if self._delta is None:
            raise StateError.of(
                "E601", f"there is no state in {self.directory}", remedy="save an engine there first, or check the path"
            )
        return self._delta

    def info(self) -> VersionInfo:
        """The version that the present commit describes."""
        return self._described(self.delta.version())

    def infos(self) -> list[VersionInfo]:
        """All versions that the log still knows, the oldest first, up to the present commit."""
        last = self.delta.version()
        return [self._described(number) for number in self.commits() if number <= last]

    def commits(self) -> list[int]:
        """The numbers of the commits that the log still knows, in order."""
        return sorted(int(path.stem) for path in (self.directory / _LOG).glob(f"{'[0-9]' * 20}.json"))

    def files(self) -> list[File]:
        """The files that make up the present version."""
        with reading(self.directory):
            actions = pa.table(self.delta.get_add_actions())
        columns = (actions[name].to_pylist() for name in ("path", "size_bytes", "num_records"))
        return [File(*one) for one in zip(*columns)]

    def read(self, files: Iterable[File]) -> pa.Table:
        """The rows of files; a file that is missing, damaged or of another length is refused."""
        return pa.concat_tables([SCHEMA.empty_table(), *(self._read(file) for file in files)])

    def pieces(self, files: Iterable[File]) -> Iterator[pa.Table]:
        """As `read`, piece by piece; of a file that turns out to be damaged some may have come before."""
        for file in files:
            rows = 0
            with (
                reading(self.directory),
                pq.ParquetFile(readable(self.directory / file.name), page_checksum_verification=True) as parquet,
            ):
                for group in range(parquet.num_row_groups):
                    piece = parquet.read_row_group(group).cast(SCHEMA)
                    rows += piece.num_rows
                    yield piece
            if rows != file.rows:
                raise damaged(self.directory, f"{file.name} has {rows} rows instead of {file.rows}")

    def read_base(self, files: Iterable[File]) -> Iterator[pa.Table]:
        """The rows of bases, in pieces, without version and sign, and without fields that are filled nowhere in one."""
        for file in files:
            rows = 0
            with reading(self.directory):
                for piece in filled_rows(self.directory / file.name):
                    rows += piece.num_rows
                    yield piece
            if rows != file.rows:
                raise damaged(self.directory, f"{file.name} has {rows} rows instead of {file.rows}")

    def read_relation(self, relation: str) -> pa.Table:
        """The rows of one relation, from wherever they can be."""
        with reading(self.directory):
            paths = [self.directory / file.name for file in self.files()]
            chosen = pc.field("relation") == relation
            found = [pq.read_table(readable(path), filters=chosen, partitioning=None).cast(SCHEMA) for path in paths]
        return pa.concat_tables([SCHEMA.empty_table(), *found])

    def read_since(self, files: Iterable[File], since: Mapping[str, int]) -> pa.Table:
        """The rows of files; of the relations in `since` only those of later versions.

        Few rows of a large file may be wanted, so it is gone through with little of it in memory.
        """
        from pyarrow.dataset import ParquetFileFormat  # not at the top: it takes 0.15 s, and few have a use for it

        checked = ParquetFileFormat(page_checksum_verification=True, pre_buffer=False)
        wanted = ~pc.field("relation").isin(pa.array(list(since), pa.large_string()))
        for relation, version in since.items():
            wanted |= (pc.field("relation") == relation) & (pc.field("version") > version)
        found = []
        for file in files:
            with reading(self.directory):
                path = self.directory / file.name
                if pq.read_metadata(readable(path)).num_rows != file.rows:
                    raise ValueError(f"{file.name} has another number of rows")
                system, inside = place(str(path))
                fragment = checked.make_fragment(inside, system)
                found.append(fragment.to_table(filter=wanted, use_threads=False, batch_readahead=1).cast(SCHEMA))
        return pa.concat_tables([SCHEMA.empty_table(), *found])

    def added_since(self, commit: int) -> set[str]:
        """The names of the files that a commit and later ones added."""
        later = range(commit, self.delta.version() + 1)
        return {action["add"]["path"] for number in later for action in self._actions(number) if "add" in action}

    def last_batch(self, source: str) -> int | None:
        """The last batch of a source that is part of the version."""
        found: int | None = self.delta.transaction_version(source)
        return found

    def _read(self, file: File) -> pa.Table:
        with reading(self.directory):
            found = pq.read_table(
                readable(self.directory / file.name), page_checksum_verification=True, partitioning=None
            )
            found = found.cast(SCHEMA)
        if found.num_rows != file.rows:
            raise damaged(self.directory, f"{file.name} has {found.num_rows} rows instead of {file.rows}")
        return found

    def _described(self, commit: int) -> VersionInfo:
        actions = self._actions(commit)
        said: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
        size = sum(action["add"]["size"] for action in actions if "add" in action)
        return VersionInfo.of(said, commit, size, str(self.directory))

    def _actions(self, commit: int) -> list[dict[str, Any]]:
        path = self.directory / _LOG / f"{commit:020d}.json"
        with reading(self.directory):
            lines = path.read_bytes().split(b"\n")  # other separators of lines may stand inside the strings of JSON
            return [json.loads(line) for line in lines if line]

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self, level: str, identity: str, chunks: Iterable[pa.Table], most: int = ROW_GROUP) -> File:
        """Write rows into a new file that no commit knows yet, down to the disk; `identity` is that of the save.

        Chunks are put together until there are `most` rows.
        """
        name = f"{level}-{identity}.parquet"
        path, rows = self.directory / name, 0
        with writing(self.directory):
            with (
                writable(path) as out,
                pq.ParquetWriter(out, SCHEMA, compression="zstd", write_page_checksum=True) as writer,
            ):
                for group in _row_groups(chunks, most):
                    writer.write_table(group)
                    rows += group.num_rows
                    reach("file-half-written")
            far.sync(path)
            return File(name, path.stat().st_size, rows)

    def commit(self, info: VersionInfo, added: Sequence[File], removed: Sequence[File]) -> None:
        """Make the files a version, together with its description."""
        now = int(time.time() * 1000)
        schema = Schema.from_arrow(SCHEMA)
        properties = CommitProperties(
            custom_metadata={KEY: info.to_json()},
            max_commit_retries=0,
            app_transactions=[] if info.batch is None else [Transaction(info.source, info.batch)],
        )
        adding = [AddAction(one.name, one.size, {}, now, True, json.dumps({"numRecords": one.rows})) for one in added]
        with writing(self.directory):
            far.sync(self.directory)
            if self._delta is None:
                create_table_with_add_actions(
                    self.directory.as_uri(), schema, adding, "error",
                    commit_properties=properties, post_commithook_properties=_HOOKS,
                )  # fmt: skip
                reach("committed")
                self._delta = DeltaTable(self.directory.as_uri(), version=0)
            else:
                last = self._delta.version()
                removing = [RemoveAction(one.name, True, now, one.size, {}) for one in removed]
                self._delta.create_write_transaction(
                    [*adding, *removing], "append", schema,
                    commit_properties=properties, post_commithook_properties=_HOOKS,
                )  # fmt: skip
                reach("committed")
                self._go_to(last + 1)
            log = self.directory / _LOG
            far.sync(log / f"{self._delta.version():020d}.json")
            far.sync(log)

    def _go_to(self, commit: int) -> None:
        """Look at our commit, which at an address may not be the last one any more."""
        if isinstance(self.directory, Remote):
            self.delta.load_as_version(commit)
        else:
            self.delta.update_incremental()

    def is_current(self, identity: str) -> bool:
        """Whether the log still ends where it ended when it was last looked at, with the save of that id.

        A directory that took the place of another is known by its lock; at an address the last entry is looked at.
        """
        log, last = self.directory / _LOG, -1 if self._delta is None else self._delta.version()
        is_there = last < 0 or (log / f"{last:020d}.json").exists()
        if not is_there or (log / f"{last + 1:020d}.json").exists():
            return False
        return last < 0 or not isinstance(self.directory, Remote) or self._described(last).id == identity

    def discard(self, identity: str, beside: Collection[str] | None = None) -> None:
        """Remove the files of a save that came to nothing; a file that any commit names stays.

        Beside the table all that no version names go, or of these the given ones.
        """
        found = set[Location](self.directory.glob(f"*-{identity}*")) if identity else set()
        self._discard_far(identity, None if beside is None else {*beside, far.description_of(identity)})
        if found and self._delta is not None:
            named = {file.name for file in self.files()} | self.added_since(self.commits()[0])
            found = {path for path in found if path.name not in named}
        for path in (*found, *self._staged()):
            path.unlink(missing_ok=True)

    def _discard_far(self, identity: str, among: Collection[str] | None) -> None:
        """Remove files beside the table that no version names."""
        if identity and (self.directory / far.FOLDER).is_dir():
            infos = [] if self._delta is None else self.infos()
            far.remove_all_but(self.directory, far.files_of(self.directory, (info.store for info in infos)), among)

    def written(self, name: str, rows: int) -> File:
        """A file of rows that somebody else has written into the directory."""
        with writing(self.directory):
            return File(name, (self.directory / name).stat().st_size, rows)

    def _staged(self) -> Iterator[Location]:
        """What delta-rs leaves in the log when it dies before it renames a file to its name; nobody else is writing."""
        log = self.directory / _LOG
        if isinstance(log, Remote):
            return iter(())
        return (path for path in log.glob("*") if _STAGED.fullmatch(path.name)) if log.is_dir() else iter(())

    def remove_all_but(self, names: Collection[str]) -> tuple[int, int]:
        """Remove the other files of rows, those that no commit names included; how many, and of how many bytes.

        What others keep in the directory stays: only names that a save makes are looked at. At an address files that no
        commit names may be those of a writer that is at work, and stay as well.
        """
        count = size = 0
        among = self.added_since(self.commits()[0]) if isinstance(self.directory, Remote) else None
        with writing(self.directory):
            for path in self.directory.glob("*.parquet*"):
                if path.name in names or not _OURS.fullmatch(path.name):
                    continue
                if among is None or path.name in among:
                    size += path.stat().st_size
                    path.unlink()
                    count += 1
            for path in self._staged():
                path.unlink()
        return count, size

    def shorten_log(self, commit: int) -> None:
        """Remove the entries of the log that are not needed to read a commit and those after it.

        A checkpoint sums up all entries before it. Listing the log is part of every commit, so a short one is quick.
        """
        log = self.directory / _LOG
        entries = [path for path in log.iterdir() if path.name[:20].isdigit()]
        checkpoints = [int(path.name[:20]) for path in entries if path.name.endswith(".checkpoint.parquet")]
        first = max((number for number in checkpoints if number <= commit), default=0)
        with writing(self.directory):
            for path in entries:
                if int(path.name[:20]) < first:
                    path.unlink()


def _row_groups(chunks: Iterable[pa.Table], most: int) -> Iterator[pa.Table]:
    """Chunks put together to groups that are neither tiny nor large."""
    waiting, rows = list[pa.Table](), 0
    for chunk in chunks:
        waiting.append(chunk)
        rows += chunk.num_rows
        if rows >= most:
            yield pa.concat_tables(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.concat_tables(waiting)
