"""A pyoxigraph store that holds what the graph holds.

What      : `Mirror`: filled when it is first asked for, then kept in step by the change of every update.
Idea      : the engine reasons, Oxigraph answers SPARQL. Filling goes through N-Triples in bulk; a change is removed and
            added quad by quad, because SPARQL's own DELETE DATA has no blank nodes.
Invariant : whoever asks sees one whole version: asking and following exclude each other. A mirror that could not follow
            is thrown away and filled anew.
Never     : no query text is looked at here (see sparql.py).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import pyoxigraph as ox

if TYPE_CHECKING:
    from tidelog.rdf.graph_change import GraphChange


class Mirrored(Protocol):
    """What a mirror needs of a graph."""

    version: int

    def lines(self) -> Iterator[bytes]:
        """All triples as N-Triples."""


class Mirror:
    """The store behind SPARQL."""

    def __init__(self, graph: Mirrored, directory: str | None = None) -> None:
        self._graph = graph
        self._directory = directory
        self._store: ox.Store | None = None
        self._lock = threading.RLock()
        self.version = -1

    @contextmanager
    def store(self) -> Iterator[ox.Store]:
        """The store, at one version as long as it is held."""
        with self._lock:
            if self._store is None:
                self._store = self._filled()
            yield self._store

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
            self._store, self.version = store, self._graph.version

    def forget(self) -> None:
        """Fill the store anew when it is next asked for."""
        with self._lock:
            self._store = None

    def _filled(self) -> ox.Store:
        store = ox.Store(self._directory) if self._directory else ox.Store()
        if self._directory:
            store.clear()
        for part in self._graph.lines():
            if b"_:" in part:  # the bulk loader would give blank nodes other labels
                store.bulk_extend(ox.parse(part, format=ox.RdfFormat.N_TRIPLES, lenient=True))
            elif part:
                store.bulk_load(part, format=ox.RdfFormat.N_TRIPLES, lenient=True)
        self.version = self._graph.version
        return store
