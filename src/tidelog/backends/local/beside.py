"""A small transaction while a large one is open.

What      : `is_apart` tells whether a transaction over some relations could be done while another one is open; `beside`
            sets the open one aside meanwhile.
Idea      : an urgent update that meets nothing of what runs need not wait for it. Facts of relations that the open
            transaction has not touched are as of the last commit, so the other one works on them as always, and ends by
            itself: only what it has touched is committed or rolled back.
Invariant : what the open transaction has marked, stored and counted is as before. Plans that it is in the middle of are
            not run by the other one, which makes its own.
Never     : no transaction over relations that both use; who asks for one has asked `is_apart`.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager

from tidelog.backends.local.store import LocalStore


def is_apart(store: LocalStore, relations: Set[str]) -> bool:
    """Whether the open transaction has touched none of the relations, made none, and counted nothing."""
    return not store.catalogue.has_touched(relations) and not store.counted.has_changed


@contextmanager
def beside(store: LocalStore) -> Iterator[None]:
    """Do another transaction; then the open one goes on."""
    prepared, ask_budget, derivations = store.prepared, store.ask_budget, store.derivations.copy()
    store.prepared = {}
    try:
        with store.catalogue.beside(), store.groups.beside():
            yield
    finally:
        store.prepared, store.ask_budget = prepared, ask_budget
        store.derivations.clear()
        store.derivations.update(derivations)
