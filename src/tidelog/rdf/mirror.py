"""A pyoxigraph store that holds what the graph holds.

What      : `Mirror`: filled when it is first asked for, then kept in step by the change of every update; in memory, or
            in a temporary folder if the graph has more than `in_memory` triples.
Idea      : the engine reasons, Oxigraph answers SPARQL. Filling goes through N-Triples in bulk; a change is removed and
            added quad by quad, because SPARQL's own DELETE DATA has no blank nodes. Another process reads a store in a
            folder through a snapshot, which is made of links to its files.
Invariant : a question sees one whole version: asking and following exclude each other. A mirror that could not follow
            is thrown away and filled anew. The folder goes with the mirror: when it is forgotten, when nobody holds the
            graph any more, or when Python ends.
Never     : no query text is looked at here (see sparql.py).
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyoxigraph as ox

if TYPE_CHECKING:
    from tidelog.rdf.graph_change import GraphChange

IN_MEMORY = 3_000_000
"""Triples that are mirrored in memory at most: a triple takes about 350 bytes there, so these take one gigabyte."""


class Mirrored(Protocol):
    """What a mirror needs of a graph."""

    version: int

    @property
    def fact_count(self) -> int:
        """About how many triples there are."""

    def lines(self) -> Iterator[bytes]:
        """All triples as N-Triples, in pieces."""


@dataclass(eq=False)
class _Snapshot:
    """A store as it was at one version, and how many read it."""

    path: Path
    readers: int = 0

    def remove_if_unread(self) -> None:
        if not self.readers:
            shutil.rmtree(self.path, ignore_errors=True)


class Mirror:
    """The store behind SPARQL. `in_memory` is how many triples it holds in memory at most."""

    def __init__(self, graph: Mirrored, in_memory: int = IN_MEMORY) -> None:
        self._graph = graph
        self.in_memory = in_memory
        self._store: ox.Store | None = None
        self._folder: Path | None = None
        self._snapshot: _Snapshot | None = None
        self._snapshots = 0
        self._lock = threading.RLock()
        self.version = -1

    @property
    def folder(self) -> Path | None:
        """Where the store is, if it is not in memory."""
        return self._folder

    @contextmanager
    def store(self) -> Iterator[ox.Store]:
        """The store, at one version as long as it is held."""
        with self._lock:
            yield self._present()

    @contextmanager
    def snapshot(self) -> Iterator[Path | None]:
        """A folder with the present version for other processes, kept as long as it is held; None for one in memory."""
        with self._lock:
            store = self._present()
            if self._folder is not None and self._snapshot is None:
                self._snapshots += 1
                self._snapshot = _Snapshot(self._folder / f"snapshot{self._snapshots}")
                store.backup(str(self._snapshot.path))
            held = self._snapshot
            if held is not None:
                held.readers += 1
        try:
            yield None if held is None else held.path
        finally:
            if held is not None:
                with self._lock:
                    held.readers -= 1
                    if held is not self._snapshot:
                        held.remove_if_unread()

    def follow(self, change: GraphChange) -> None:
        """Take over the change of one update, wholly or not at all."""
        with self._lock:
            if self._store is None:
                return
            store, self._store = self._store, None
            come, gone = change.lines()
            for statement in ox.parse(gone, format=ox.RdfFormat.N_TRIPLES, lenient=True):
                store.remove(statement)
            store.extend(ox.parse(come, format=ox.RdfFormat.N_TRIPLES, lenient=True))
            if self._snapshot is not None:
                self._snapshot.remove_if_unread()
                self._snapshot = None
            self._store, self.version = store, self._graph.version

    def forget(self) -> None:
        """Let the store go; it is filled anew when it is next asked for."""
        with self._lock:
            self._store = self._snapshot = None
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)
                self._folder = None

    def _present(self) -> ox.Store:
        if self._store is None:
            self.forget()
            self._store = self._filled()
        return self._store

    def _filled(self) -> ox.Store:
        store = ox.Store()
        if self._graph.fact_count > self.in_memory:
            self._folder = Path(tempfile.mkdtemp(prefix="tidelog-mirror-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            store = ox.Store(str(self._folder / "store"))
        for part in self._graph.lines():
            if b"_:" in part:  # the bulk loader would give blank nodes other labels
                store.bulk_extend(ox.parse(part, format=ox.RdfFormat.N_TRIPLES, lenient=True))
            elif part:
                store.bulk_load(part, format=ox.RdfFormat.N_TRIPLES, lenient=True)
        self.version = self._graph.version
        return store
