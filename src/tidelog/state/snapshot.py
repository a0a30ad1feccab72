"""What a state asks of an engine, and what it gives back.

What      : `Snapshot`, a version of an engine that is to be saved; `StoredState`, a version that was read.
Idea      : the state knows no engine and no backend, only that facts of a relation can be had as a table with flags.
Invariant : saving a snapshot and reading it back gives the same facts, flags, rules, version and strategy.
Never     : no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tidelog.language.terms import Program
from tidelog.state.fold import StoredFacts
from tidelog.state.journal import Journals
from tidelog.state.rows import Flags
from tidelog.state.versions import VersionInfo


class Holder(Protocol):
    """Where the facts of a snapshot are: a backend, as of its last commit."""

    def relations(self) -> Iterable[str]:
        """The stored relations, hidden ones included."""

    def arity(self, relation: str) -> int | None:
        """The number of columns of a relation."""

    def snapshot(self, relation: str) -> tuple[pa.Table, Flags]:
        """All facts of a relation, and which of them are explicit."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of an engine, with what happened to it since it was last saved."""

    version: int
    program: Program
    strategy: str
    arithmetic: str
    holder: Holder
    journals: Journals


@dataclass(frozen=True, slots=True)
class StoredState:
    """One version as it was stored; `is_last` says that nothing was stored after it."""

    info: VersionInfo
    program: Program
    relations: Sequence[StoredFacts]
    is_last: bool
