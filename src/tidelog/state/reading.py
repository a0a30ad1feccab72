"""Stored versions, read.

What      : `read_state` gives one version with all its facts; `read_versions` lists what there is.
Idea      : a version is a commit; the table at that commit is folded, and the outcome compared with what the commit
            says about its sizes and its program.
Invariant : what is returned is complete: a file that is missing or damaged, or facts whose number is not the committed
            one, are a `StateError`, and nothing is half opened. Reading takes no lock and changes nothing.
Never     : no engine is made here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from os import PathLike

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.errors import ProgramError, StateError, expect
from tidelog.language.parser import parse
from tidelog.language.terms import Program
from tidelog.state import far
from tidelog.state.address import directory_of
from tidelog.state.failures import damaged, reading
from tidelog.state.far import StoredFar, StoredFiles, StoredRows
from tidelog.state.fold import Base, fold, programs, split, states
from tidelog.state.remote import Location
from tidelog.state.rows import RULES
from tidelog.state.snapshot import StoredState
from tidelog.state.stored_facts import StoredFacts
from tidelog.state.table import File, Table
from tidelog.state.versions import VersionInfo, fingerprint, whole_number

NEAR = 200_000
"""A version with more facts that has no files beside the table is read by executors, where there are any."""
_FACT_BYTES, _VALUE_BYTES = 60, 40
"""About what a fact and each of its values take in memory while they are read."""
_TRIES = 5
"""How often a reader begins again because the version that it was reading has been forgotten meanwhile."""


def read_versions(directory: str | PathLike[str]) -> list[VersionInfo]:
    """Every stored version, the oldest first."""
    return Table(directory_of(directory)).infos()


def read_state(directory: str | PathLike[str], version: int | None = None, *, is_far: bool = False) -> StoredState:
    """A stored version with its facts; the last one unless another is asked for.

    If the reader can open the files beside the table (`is_far`), the facts in them are not read here.
    """
    expect(directory, (str, PathLike), "a state", "a directory")
    path = directory_of(directory)
    version = None if version is None else whole_number(version, "a version")
    for _ in range(_TRIES):
        log = _log(path)
        try:
            return _read_state(path, version, is_far=is_far)
        except StateError as error:
            if error.code != "E603" or _log(path) == log:
                raise
    return _read_state(path, version, is_far=is_far)


def _log(path: Location) -> set[str]:
    """The names of the entries of the log: others after a writer has added or forgotten versions."""
    return {entry.name for entry in (path / "_delta_log").glob("*.json")}


def _read_state(path: Location, version: int | None, *, is_far: bool) -> StoredState:
    """One attempt: a writer may add versions meanwhile, and forget the one that is being read."""
    table = Table(path)
    last = table.info()
    info = last if version is None or version == last.version else stored_version(table, version)
    if info is not last:
        table = Table(path, info.commit)
    files = sorted(table.files(), key=lambda file: file.level != "base")
    if info is not last and not all((path / file.name).exists() for file in files):
        raise StateError.of(
            "E604", f"version {info.version} of {path} was forgotten", remedy="open a later version, or restore a copy"
        )
    if is_far and info.store:
        return _read_far(table, files, info, is_last=info is last)
    if is_far and info.facts > NEAR:
        return _read_rows(table, files, info, is_last=info is last)
    _check_room(path, info)
    with reading(path):
        base = split(table.read_base(file for file in files if file.level == "base"))
        changes = table.read(file for file in files if file.level != "base")
        found = {facts.relation: facts for facts in fold(changes, base)}
    relations = _relations(path, found, info)
    return StoredState(info, _program(path, changes, base, info), relations, is_last=info is last)


def _read_far(table: Table, files: list[File], info: VersionInfo, *, is_last: bool) -> StoredState:
    """A version of which the large relations stay in their files; read are the others, and what changed since."""
    path = table.directory
    with reading(path):
        said = far.read(path, info.store).said
    since = {name: each["since"] for name, each in said["relations"].items()}
    first = table.read_since((file for file in files if file.level == "base" and not file.is_far), since)
    later = table.read_since((file for file in files if file.level != "base"), since)
    away_rows = pa.concat_tables([rows.filter(_is_in(rows, since)) for rows in (first, later)])
    first, later = (rows.filter(pc.invert(_is_in(rows, since))) for rows in (first, later))
    with reading(path):
        base = split([first])
        found = {facts.relation: facts for facts in fold(later, base)}
        changed = {name: (facts, states_) for name, facts, states_ in states(away_rows)}
    shapes = {name: shape for name, shape in info.relations.items() if name not in since}
    relations = _relations(path, found, replace(info, relations=shapes))
    away = []
    for name, each in said["relations"].items():
        arity, size = info.relations[name]
        facts, states_ = changed.get(name, (StoredFacts(name, arity).facts, np.zeros(0, np.int64)))
        away.append(StoredFar(name, arity, size, each, facts, states_))
    stored = StoredFiles(str(path / far.FOLDER), said)
    return StoredState(info, _program(path, later, base, info), relations, is_last, away, stored)


def _read_rows(table: Table, files: list[File], info: VersionInfo, *, is_last: bool) -> StoredState:
    """A version that has no files beside the table, of which the large relations are not read here."""
    path = table.directory
    large = {name: shape for name, shape in info.relations.items() if shape[1] > NEAR // 10}
    latest = dict.fromkeys(large, info.version)
    first = table.read_since((file for file in files if file.level == "base"), latest)
    later = table.read_since((file for file in files if file.level != "base"), latest)
    with reading(path):
        base = split([first])
        found = {facts.relation: facts for facts in fold(later, base)}
    shapes = {name: shape for name, shape in info.relations.items() if name not in large}
    relations = _relations(path, found, replace(info, relations=shapes))
    away = StoredRows([str(path / file.name) for file in files], large)
    return StoredState(info, _program(path, later, base, info), relations, is_last, rows=away)


def _is_in(rows: pa.Table, relations: Iterable[str]) -> pa.ChunkedArray:
    return pc.is_in(rows["relation"], pa.array(list(relations), pa.large_string()))


def _check_room(directory: Location, info: VersionInfo) -> None:
    """Refuse a version that cannot fit this machine's memory."""
    need = sum(count * (_FACT_BYTES + arity * _VALUE_BYTES) for arity, count in info.relations.values())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if need > memory:
        raise StateError.of(
            "E614",
            f"version {info.version} of {directory} has {info.facts:,} facts, about {need / 1e9:.1f} GB, and this"
            f" machine has {memory / 1e9:.1f} GB",
            remedy='open it with backend="spark", or on a larger machine',
        )


def stored_version(table: Table, version: int) -> VersionInfo:
    """The last commit of a version."""
    infos = table.infos()
    for info in reversed(infos):
        if info.version == version:
            return info
    near = sorted({info.version for info in infos}, key=lambda known: (abs(known - version), known))[:4]
    raise StateError.of(
        "E604",
        f"version {version} is not stored in {table.directory}",
        remedy=f"versions near it: {', '.join(map(str, sorted(near)))}",
    )


def _program(directory: Location, changes: pa.Table, base: Base, info: VersionInfo) -> Program:
    text = programs(changes, base).get(RULES)
    try:
        program = parse(text or "")
    except ProgramError as error:
        raise damaged(directory, f"its rules cannot be read: {error.problems[0].sentence}") from error
    if text is None or fingerprint(program) != info.fingerprint:
        raise damaged(directory, "its rules are not those that the commit names")
    return program


def _relations(directory: Location, found: dict[str, StoredFacts], info: VersionInfo) -> list[StoredFacts]:
    """The facts of every relation that the commit names, relations without facts included.

    Facts say themselves how many columns they have; a commit of an older release may name those of an earlier version.
    """
    for name, (arity, count) in info.relations.items():
        facts = found.setdefault(name, StoredFacts(name, arity))
        if len(facts) != count:
            raise damaged(directory, f"{name} has {len(facts)} facts instead of {count}")
    unknown = [name for name, facts in found.items() if len(facts) and name not in info.relations]
    if unknown:
        raise damaged(directory, f"the commit does not name the relation {unknown[0]}")
    return [found[name] for name in info.relations]
