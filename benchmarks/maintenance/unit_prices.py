"""What the prices of the local store are on this machine.

What      : for each price of maintenance/prices.py the experiment that it comes from, in microseconds and in
            derivations, beside the figure that `auto` works with.
Idea      : each experiment is made of one thing: a closure of nothing but derivations, a chain of nothing but rounds, a
            scan of nothing but reading, large deletions of nothing but facts in doubt.
Invariant : CPU time, the least of a few runs; what an experiment does besides is subtracted at the standard prices.
Never     : nothing is changed: a price is a constant, so that choices can be repeated (see sensitivity.py for what a
            wrong one costs).

`python -m benchmarks.maintenance.unit_prices` takes about a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import tidelog as tl
from benchmarks.maintenance import report
from benchmarks.maintenance.measure import compile_kernels, cpu, tables
from benchmarks.maintenance.workloads.lubm import lubm
from benchmarks.maintenance.workloads.workload import Fact
from tidelog.backends.local.store import LocalStore
from tidelog.changes.change import Stats
from tidelog.maintenance.prices import LOCAL_PRICES

CLIQUE = "t(x, y) :- e(x, y). t(y, x) :- t(x, y). t(x, z) :- t(x, y), t(y, z)."
CHAIN = "p(x) :- s(x). p(y) :- p(x), e(x, y)."
SCAN = "r(x) :- e(x, y), y < 3."
COPY, NO_RULE = "c(x, y) :- e(x, y).", "c(x, y) :- d(x, y)."
REPETITIONS = 5


def run() -> dict[str, float]:
    """Measure all prices and print them beside those that are used."""
    compile_kernels()
    derivation = _clique("recompute")
    alone, together = (_per_round("dred", together=one) for one in (False, True))
    found = {
        "round": alone - LOCAL_PRICES.overdeleted * derivation,
        "swift": max(together - LOCAL_PRICES.overdeleted * derivation, 0.0),
        "fact": _loading(COPY) - _loading(NO_RULE) - derivation,
        "read": _per_fact(SCAN),
        "overdeleted": _in_doubt("dred", "overdeleted", derivation),
        "checked": _in_doubt("bf", "checked", derivation),
        "counted": _clique("counting"),
        "counted_round": _per_round("counting"),
    }
    priced = {name: seconds / derivation for name, seconds in found.items()}
    priced |= {name: found[name] / found["round"] for name in ("swift", "counted_round")}
    rows = [(name, round(1e6 * found[name], 3), round(priced[name], 2), getattr(LOCAL_PRICES, name)) for name in priced]
    print(f"a derivation takes {1e6 * derivation:.4f} microseconds")
    print(report.table(("price", "microseconds", "measured", "used"), rows))
    return priced


def _least(engine: tl.Engine, delete: Mapping[str, Any]) -> tuple[float, Stats]:
    """The CPU seconds of a deletion that is done and undone, and its counters."""
    seconds = []
    for _ in range(REPETITIONS):
        took, change = cpu(partial(engine.apply, delete=delete))
        engine.apply(insert=delete)
        seconds.append(took)
    return min(seconds), change.stats


def _loaded(program: str, strategy: str, facts: Mapping[str, Sequence[Fact]]) -> tl.Engine:
    engine = tl.Engine(program, strategy=strategy)
    engine.apply(insert=tables(facts))
    return engine


def _clique(strategy: str, size: int = 150) -> float:
    """Seconds of a derivation where there is hardly anything else: a clique loses a vertex."""
    edges: list[Fact] = [(at, (at + 1) % size) for at in range(size)]
    engine = _loaded(CLIQUE, strategy, {"e": edges})
    seconds, stats = _least(engine, {"e": edges[3:5]})
    return seconds / stats.total_derivations


def _per_round(strategy: str, *, together: bool = False) -> float:
    """Seconds of a round with one fact: a chain is cut at its beginning, a long one and a short one."""
    with _rounds(together=together):
        measured = []
        for length in (50, 450):
            facts = {"e": [(at, at + 1) for at in range(length)], "s": [(0,)]}
            measured.append(_least(_loaded(CHAIN, strategy, facts), {"e": [(0, 1)]}))
    (short, few), (long, many) = measured
    return (long - short) / (many.rounds - few.rounds)


@contextmanager
def _rounds(*, together: bool) -> Iterator[None]:
    """With `together` several rounds in one call, as usual; else one call for each."""
    usual = LocalStore.several_rounds
    if not together:
        LocalStore.several_rounds = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        LocalStore.several_rounds = usual  # type: ignore[method-assign]


def _per_fact(program: str, size: int = 500_000) -> float:
    """Seconds for every fact that a rule is evaluated over anew."""
    engine = _loaded(program, "recompute", {"e": [(at, at) for at in range(size)]})
    return _least(engine, {"e": [(7, 7)]})[0] / size


def _loading(program: str, size: int = 500_000) -> float:
    """Seconds for every fact of a first load, with what a rule derives from it."""
    facts = tables({"e": [(at, at) for at in range(size)]})
    engines = [tl.Engine(program, strategy="recompute") for _ in range(REPETITIONS)]
    return min(cpu(partial(engine.apply, insert=facts))[0] for engine in engines) / size


def _in_doubt(strategy: str, counter: str, derivation: float) -> float:
    """Seconds for every fact in doubt: 5,000 triples of LUBM go."""
    load = lubm()
    engine = _loaded(load.program, strategy, load.facts)
    seconds, stats = _least(engine, tables(load.deletion(5_000)))
    return (seconds - derivation * stats.total_derivations) / float(getattr(stats, counter))


if __name__ == "__main__":
    run()
