"""A small transaction while a large one is open.

What      : `is_apart` tells whether a transaction over some relations meets nothing of the open one, `can_make_way`
            whether the open one can be set aside there; `beside` does so, and lets the other one be done.
Idea      : an urgent update need not wait for what runs. Facts of relations that the open transaction has not touched
            are as of the last commit. In those that it has touched, its marks are taken away and kept, so that the
            other one works on the last commit as always. Then they come back: the open transaction goes on as if
            nothing had been, on the version on which it began, and catches up later (maintenance/transaction.py). What
            the other one has changed is TURNED, by which readers and a rollback know the last version.
Invariant : what the open transaction has marked, stored and counted is as before. Plans that it is in the middle of are
            not run by the other one, which makes its own. No row moves.
Never     : no relation that the open transaction is storing facts in at this very moment, no counts and no ledgers that
            both would change; the caller has checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from contextlib import contextmanager

from tidelog.backends.local.store import LocalStore


def is_apart(store: LocalStore, relations: Set[str]) -> bool:
    """Whether the open transaction has touched none of the relations, made none, and counted nothing."""
    return not (store.catalogue.has_touched(relations) or _is_storing(store, relations) or store.counted.has_changed)


def can_make_way(store: LocalStore, relations: Set[str], kept: Set[str]) -> bool:
    """Whether the open transaction can be set aside in the relations, and go on as before in those that are `kept`.

    It has made none of them, is not in the middle of a step, and nothing is counted that both would change.
    """
    is_counted = store.counted.has_changed or store.counted.has_any(kept)
    is_making = store.groups.is_regrouping or store.bits.is_deriving or _is_storing(store, relations)
    return not (store.catalogue.has_made(relations) or is_making or is_counted)


def is_in_a_step(store: LocalStore) -> bool:
    """Whether the open transaction aggregates at this very moment, derives a stage in bits, or stores facts."""
    return store.groups.is_regrouping or store.bits.is_deriving or _is_storing(store, store.relations.keys())


def _is_storing(store: LocalStore, relations: Set[str]) -> bool:
    """Whether arrays of one of the relations are being made, which would lack what another transaction stores."""
    return any(one.is_storing for name, one in store.relations.items() if name in relations)


@contextmanager
def beside(store: LocalStore, changed: Set[str], read: Set[str], kept: Set[str]) -> Iterator[None]:
    """Do another transaction, which changes and reads these relations; then the open one goes on."""
    store.groups.forget(changed)
    prepared, ask_budget, derivations = store.prepared, store.ask_budget, store.derivations.copy()
    store.prepared = {}
    try:
        with store.catalogue.beside(changed, read, kept), store.groups.beside(), store.runner.beside():
            yield
    finally:
        store.groups.forget(changed)
        store.prepared, store.ask_budget = prepared, ask_budget
        store.derivations.clear()
        store.derivations.update(derivations)
