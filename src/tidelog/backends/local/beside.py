"""A small transaction while a large one is open.

What      : `is_apart` tells whether a transaction over some relations meets nothing of the open one, `can_make_way`
            whether the open one can be set aside there; `beside` does so, and lets the other one be done.
Idea      : an urgent update need not wait for what runs. Facts of relations that the open transaction has not touched
            are as of the last commit. In those that it has touched, its marks are taken away and kept, so that the
            other one works on the last commit as always. Afterwards marks come back where nothing was changed; where
            something was, the open transaction has to begin again (maintenance/transaction.py).
Invariant : what the open transaction has marked, stored and counted elsewhere is as before. Plans that it is in the
            middle of are not run by the other one, which makes its own. No row moves.
Never     : no relation that the open transaction is storing facts in at this very moment; who asks has looked.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager

from tidelog.backends.local.store import LocalStore


def is_apart(store: LocalStore, relations: Set[str]) -> bool:
    """Whether the open transaction has touched none of the relations, made none, and counted nothing."""
    return not (store.catalogue.has_touched(relations) or _is_storing(store, relations) or store.counted.has_changed)


def can_make_way(store: LocalStore, relations: Set[str]) -> bool:
    """Whether the open transaction can be set aside in the relations.

    It has made none of them, is not in the middle of a step that stores facts there, and has counted nothing.
    """
    made = store.catalogue.has_made(relations)
    return not (made or _is_storing(store, relations) or store.counted.has_changed)


def _is_storing(store: LocalStore, relations: Set[str]) -> bool:
    """Whether arrays of one of the relations are being made, which would lack what another transaction stores."""
    return any(one.is_storing for name, one in store.relations.items() if name in relations)


@contextmanager
def beside(store: LocalStore, changed: Set[str], read: Set[str]) -> Iterator[None]:
    """Do another transaction, which changes and reads these relations; then the open one goes on."""
    store.groups.forget(changed)
    prepared, ask_budget, derivations = store.prepared, store.ask_budget, store.derivations.copy()
    store.prepared = {}
    try:
        with store.catalogue.beside(changed, read), store.groups.beside(), store.runner.beside():
            yield
    finally:
        store.prepared, store.ask_budget = prepared, ask_budget
        store.derivations.clear()
        store.derivations.update(derivations)
