"""The log of a state: versions are added at its end, and stay.

What      : a `StateLog` holds a directory for writing; `save` adds the present version of an engine.
Idea      : the first save writes every fact (the base), a later one appends rows for what changed. Files of changes are
            put together in levels, as a log-structured tree does it, and when the changes outgrow the base a new base
            is written; both happen inside a commit that adds a version anyway, so nothing can be caught half way.
Source    : O'Neil et al. 1996, "The log-structured merge-tree"; the Delta protocol for commits and transactions.
Invariant : 1. a save that returned survives the death of the process; one that did not return left the version
               before it or the version after it, never anything else.
            2. a batch is part of the state at most once.
            3. only the engine that made or read the last version can add the next one; a copy of the state, or an
               older one in its place, is not the state that this engine last wrote, even if it wrote all of it.
            4. a save that came to nothing leaves no file behind, at the latest when the next one begins.
Cost      : a save costs what changed since the last one, and now and then a part of what changed before.
Never     : no update is applied and no rule evaluated here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from os import PathLike
from types import TracebackType
from typing import Self
from uuid import uuid4

import pyarrow as pa

from tidelog.errors import LawError, StateError, expect
from tidelog.language.terms import Program
from tidelog.state import far
from tidelog.state.address import directory_of
from tidelog.state.claims import hold
from tidelog.state.failpoints import reach
from tidelog.state.failures import reading, writing
from tidelog.state.fold import programs
from tidelog.state.journal import Entry, Journal
from tidelog.state.reading import stored_version
from tidelog.state.refusals import moved_on, not_the_last
from tidelog.state.remote import Remote
from tidelog.state.rows import AT_ONCE, GIVEN, PRESENT, PROGRAM, RULES, program_row, to_rows, transaction_rows
from tidelog.state.snapshot import Snapshot
from tidelog.state.table import ROW_GROUP, File, Table
from tidelog.state.versions import (
    Batches,
    VersionInfo,
    check_source,
    digest,
    fingerprint,
    first_and_last,
    program_text,
    whole_number,
)

FAN_OUT = 32
"""When this many files of changes of one level have come together, they become one file of the next level."""
LEAST_CHANGES = 100_000
"""A new base is written only if there are at least this many rows of changes."""
SOURCE = "updates"
"""The name of the stream that batches are counted in, unless another is given."""

Shapes = dict[str, tuple[int, int]]


class StateLog:
    """A state directory, held for writing until it is closed."""

    def __init__(self, directory: str | PathLike[str], *, for_one_save: bool = False) -> None:
        expect(directory, (str, PathLike), "a state", "a directory")
        self.directory = directory_of(directory)
        self._lock = hold(self.directory, for_one_save=for_one_save)
        self._next, self._is_closed = "", False
        self._given: str | None = None
        self._giving: str | None = None
        self._spelled: tuple[Program, str, str] | None = None
        self._files: far.Description | None = None
        try:
            self._refresh()
        except BaseException:
            self._lock.release()
            raise

    def __fspath__(self) -> str:
        return str(self.directory)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let others write."""
        self._is_closed = True
        self._lock.release()

    def _refresh(self) -> None:
        self._table, self._files = Table(self.directory), None
        self._info = self._table.info() if self._table.exists() else None
        last = (None, -1) if self._info is None else (self._info.id, self._info.commit)
        for left in self._lock.left(*last):
            self._table.discard(*left)
        self._is_certain = True

    def _look_again(self) -> None:
        """Find out where the log ends, if that is not known: a save may have failed after its commit."""
        if self._is_closed:
            raise StateError.of("E607", f"this log of {self.directory} is closed", remedy="open another one")
        if not self._lock.is_held():
            raise not_the_last(self.directory, "it was replaced while it was open")
        if not (self._is_certain and self._table.is_current(self._info.id if self._info else "")):
            self._refresh()
            self._given = None
            if self._giving == self.given:
                self._giving = None

    @property
    def info(self) -> VersionInfo | None:
        """The last version, None while nothing is saved."""
        return self._info

    @property
    def is_empty(self) -> bool:
        """Whether nothing is saved yet."""
        return self._info is None

    def last_batch(self, source: str = SOURCE) -> int | None:
        """The last batch of a source that is part of the state."""
        return None if self._info is None else self._table.last_batch(source)

    def has_batch(self, batch: int, source: str = SOURCE) -> bool:
        """Whether a batch is part of the state; batches of a source come in rising order."""
        last = self.last_batch(source)
        return last is not None and batch <= last

    @property
    def given(self) -> str | None:
        """The program that the user last handed over, if it was recorded; rules may have come and gone since."""
        if self._given is None and self._info is not None:
            self._given = programs(self._table.read_relation(PROGRAM)).get(GIVEN)
        return self._given

    @property
    def next_save(self) -> str:
        """The id that the next save will have; empty where a lock keeps out other writers, and nobody has to ask."""
        if not self._lock.is_exclusive and not self._next:
            self._next = uuid4().hex
        return self._next

    def saves(self) -> set[str]:
        """The ids of the saves that the log still knows."""
        return set() if self._info is None else {info.id for info in self._table.infos()}

    def give(self, program: str) -> None:
        """Record a program that the user hands over, with the next version that is saved."""
        self._giving = program

    def save(self, snapshot: Snapshot, batch: int | range | None = None, source: str = SOURCE) -> VersionInfo:
        """Make the present version of an engine the last one of the state, with the batch that led to it, or several.

        Of a range of batches the last one counts: `has_batch` is true of all of them from then on.
        """
        reach("save-begins")
        first, batch = first_and_last(batch)
        check_source(source)
        self._look_again()
        if self._info is None:
            return self._save(snapshot, snapshot.journals.begin(uuid4().hex), (first, batch), source)
        last, journal = self._info, self._journal(snapshot, self._info)
        has_batch = batch is None or (last.batch, last.source) == (batch, source)
        if snapshot.version == last.version and has_batch and self._giving is None:
            if journal.entries is None:  # an older release left something out
                return self._save(snapshot, journal, (last.first_batch, last.batch), last.source)
            journal.saved(last.commit, last.id, last.facts)
            return last
        if first is not None and self.has_batch(first, source):  # and so is every batch of a range before the last one
            raise StateError.of(
                "E609", f"batch {first} of {source} is part of the state already", remedy="ask has_batch before"
            )
        return self._save(snapshot, journal, (first, batch), source)

    def forget(self, before: int) -> tuple[int, int]:
        """Remove what only versions before the given one need; how many files went, and how many bytes they had."""
        self._look_again()
        return self._forget(stored_version(self._table, whole_number(before, "a version")).commit)

    def forget_all_but(self, commits: int) -> tuple[int, int]:
        """As `forget`, but keep what the last `commits` commits need."""
        self._look_again()
        first = -1 if self._info is None else self._info.commit - commits + 1
        return self._forget(first) if first > self._table.commits()[0] else (0, 0)

    def _forget(self, commit: int) -> tuple[int, int]:
        needed = {file.name for file in Table(self.directory, commit).files()}
        described = (info.store for info in self._table.infos() if info.commit >= commit)
        named = far.files_of(self.directory, described)
        count, size = self._table.remove_all_but(needed | self._table.added_since(commit))
        reach("rows-forgotten")
        among = None
        if isinstance(self.directory, Remote):  # what no commit names may be a writer's that is at work
            among = far.files_of(self.directory, (info.store for info in self._table.infos()))
        more, larger = far.remove_all_but(self.directory, named, among)
        reach("files-forgotten")
        self._table.shorten_log(commit)
        return count + more, size + larger

    def _journal(self, snapshot: Snapshot, info: VersionInfo) -> Journal:
        """The engine's journal for this state, if the engine made or read its last version."""
        journal = snapshot.journals.of(info.state)
        if journal is None:
            sentence, remedy = "holds the state of another engine", "open that one, or save into an empty directory"
        elif journal.knows(info.id):
            return journal
        elif info.writer == journal.writer or info.commit <= journal.commit:
            raise not_the_last(self.directory, f"it is a copy, or an older one with version {info.version}")
        else:
            raise moved_on(self.directory, info)
        raise StateError.of("E608", f"{self.directory} {sentence}", remedy=remedy)

    def _save(self, snapshot: Snapshot, journal: Journal, batches: Batches, source: str) -> VersionInfo:
        identity, (first, batch) = journal.attempt(self._next), batches
        self._next = ""
        self._lock.begin(identity, 0 if self._info is None else self._info.commit + 1)
        try:
            kind, added, removed, relations = self._written(snapshot, journal, identity)
            described = self._described(snapshot, kind, identity)
            reach("files-written")
        except BaseException:
            self._is_certain = False  # until what it wrote is removed
            self._table.discard(identity, self._lock.announced)
            self._lock.end()
            self._is_certain = True
            raise
        _, text, program = self._spelling(snapshot.program)
        info = VersionInfo(
            journal.state, snapshot.version, program, digest(text), snapshot.strategy, relations, kind,
            sum(file.rows for file in added), batch, source if batch is not None else "", journal.writer, identity,
            "" if described is None else described.name, arithmetic=snapshot.arithmetic, first_batch=first,
        )  # fmt: skip
        self._is_certain = False
        if not self._lock.is_held():
            raise not_the_last(self.directory, "another save came in between")
        self._commit(info, added, removed)
        self._info = info = self._table.info()
        self._is_certain, self._files = True, described
        self._given, self._giving = self._giving or self._given, None
        journal.saved(info.commit, info.id, info.facts)
        self._lock.end()
        reach("acknowledged")
        return info

    def _commit(self, info: VersionInfo, added: list[File], removed: list[File]) -> None:
        """Commit; without a lock another writer may have been first, or we may, and the answer was lost."""
        try:
            self._table.commit(info, added, removed)
        except StateError as error:
            there = None if self._lock.is_exclusive else Table(self.directory)
            last = there.info() if there is not None and there.exists() else None
            if there is None or last is None or (self._info is not None and last.id == self._info.id):
                raise
            if last.id != info.id:
                raise moved_on(self.directory, last) from error
            self._table = there

    def _written(
        self, snapshot: Snapshot, journal: Journal, identity: str
    ) -> tuple[str, list[File], list[File], Shapes]:
        """The files of a version: their kind, the new ones, those that they replace, and the relations they make."""
        last, fresh = self._info, journal.entries
        files = [] if last is None else self._table.files()
        if last is None or fresh is None or _is_base_due(files, fresh):
            return "base", *self._base(snapshot, files, identity)
        fresh = [entry for entry in fresh if entry.version > last.version]
        relations = _grown(last.relations, fresh, snapshot)
        return *self._changes(snapshot, last, fresh, files, identity), relations

    def _described(self, snapshot: Snapshot, kind: str, identity: str) -> far.Description | None:
        """The files beside the table, if there are any; a base that was written without them ends their use."""
        before, store = self._files, snapshot.holder.far
        if before is None and self._info is not None and self._info.store:
            with reading(self.directory):
                before = far.read(self.directory, self._info.store)
        if store is not None and store.relations():
            last = self._info.version if self._info is not None and kind != "base" else snapshot.version
            with writing(self.directory):
                versions = snapshot.version, last
                return far.describe(self.directory, store, identity, versions, before, self._lock.announce)
        return None if kind == "base" or store is not None else before

    def _spelling(self, program: Program) -> tuple[Program, str, str]:
        """A program, its text and its fingerprint; found once, because most versions have the rules of the last."""
        if self._spelled is None or self._spelled[0] is not program:
            self._spelled = program, program_text(program), fingerprint(program)
        return self._spelled

    def _base(self, snapshot: Snapshot, files: list[File], identity: str) -> tuple[list[File], list[File], Shapes]:
        """Every fact in one new file, in place of all others."""
        reach("base-begins")
        relations: Shapes = {}
        store = snapshot.holder.far
        if store is not None:
            store.settle(name for name, each in store.relations().items() if each.overlaid)
        away = {} if store is None else store.relations()

        def chunks() -> Iterator[pa.Table]:
            yield program_row(RULES, self._spelling(snapshot.program)[1], snapshot.version)
            given = self._giving or self.given
            if given is not None:
                yield program_row(GIVEN, given, snapshot.version)
            for name in sorted(snapshot.holder.relations()):
                if name in away:
                    continue
                facts, explicit = snapshot.holder.snapshot(name)
                relations[name] = snapshot.holder.arity(name) or 0, len(explicit)
                for start in range(0, len(explicit), ROW_GROUP):
                    flags = explicit[start : start + ROW_GROUP]
                    yield to_rows(name, facts.slice(start, ROW_GROUP), snapshot.version, PRESENT, flags, len(flags))

        base = [self._table.write("base", identity, chunks())]
        for number, (name, each) in enumerate(sorted(away.items())):
            assert store is not None
            relations[name] = each.arity, each.size
            rows = store.write_rows(name, snapshot.version, str(self.directory), f"base-{identity}-{number}")
            reach("far-rows-written")
            base += [self._table.written(*one) for one in rows]
            if sum(count for _, count in rows) != each.size:
                raise LawError.of("E907", f"{name} was not written with all its facts", remedy="report this")
        reach("base-written")
        return base, files, relations

    def _changes(
        self, snapshot: Snapshot, last: VersionInfo, entries: list[Entry], files: list[File], identity: str
    ) -> tuple[str, list[File], list[File]]:
        """Rows for what changed, put together with files of changes where a level is full."""
        texts = []
        text = self._spelling(snapshot.program)[1]
        if digest(text) != last.text:
            texts.append(program_row(RULES, text, snapshot.version))
        if self._giving is not None:
            texts.append(program_row(GIVEN, self._giving, snapshot.version))
        if not texts and not any(map(len, entries)):
            return "changes", [], []
        level, merged = 0, list[File]()
        while len(full := [file for file in files if file.level == f"changes{level}"]) >= FAN_OUT - 1:
            merged += full
            level += 1
        if merged:
            reach("merge-begins")
        rows = (rows for entry in entries for rows in transaction_rows(entry))
        chunks = chain(self._table.pieces(merged), rows, texts)
        file = self._table.write(f"changes{level}", identity, chunks, AT_ONCE)
        if merged:
            reach("merged-file-written")
        return "merge" if merged else "changes", [file], merged


@contextmanager
def opened(target: str | PathLike[str]) -> Iterator[StateLog]:
    """A log for writing: the given one, which stays open, or that of a directory, for the while."""
    if isinstance(target, StateLog):
        yield target
        return
    with StateLog(target, for_one_save=True) as log:
        yield log


def _is_base_due(files: list[File], entries: list[Entry]) -> bool:
    """Whether the changes outgrow the base."""
    changes = sum(file.rows for file in files if file.level != "base") + sum(map(len, entries))
    return changes > max(LEAST_CHANGES, sum(file.rows for file in files if file.level == "base"))


def _grown(before: Mapping[str, tuple[int, int]], entries: list[Entry], snapshot: Snapshot) -> Shapes:
    """The relations with their present numbers of columns, and their sizes after the entries."""
    after = dict(before)
    for name in snapshot.holder.relations():
        after[name] = snapshot.holder.arity(name) or 0, after.get(name, (0, 0))[1]
    for entry in entries:
        for tables, sign in ((entry.inserted, 1), (entry.deleted, -1)):
            for name, table in tables.items():
                arity, count = after[name]
                after[name] = arity, count + sign * len(table)
    return after
