"""Corners: small things that were slow.

What      : `python -m benchmarks.corners [NAME ...]` measures processor seconds of
            open      opening a saved state beside loading and deriving it (`--facts` of them, integers and texts),
            rounds    programs of many small rounds (`--rounds` of them),
            numbers   arithmetic as relations, with every strategy,
            chain     a chain of rules (`--rules` of them): the engine made, and one rule added in the middle,
            first     the slowest of the first hundred updates after a load, without `engine.prepare()` and with it,
            cliques   many small cliques (`--cliques` of thirty values each) by rows and by `auto`, time and memory,
            leaving   one vertex out of a clique of a thousand, one turbine out of 400: the first five times.
Idea      : each is measured in this process, after a small warm-up that loads the kernels.
Never     : no judgement; docs/benchmarks.md quotes what was measured.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import tidelog as tl
from benchmarks.bits import SYMMETRIC
from tidelog.backends.local.bits.rows_or_bits import Way, computing
from tidelog.maintenance.registry import STRATEGIES

CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
NUMBERS = """
number(0).
number(x + 1) :- number(x), limit(l), x < l.
next(x, x + 1) :- number(x).
plus(x, 0, x) :- number(x).
plus(x, y, z) :- next(u, y), plus(x, u, v), next(v, z).
product(x, 0, 0) :- number(x).
product(x, y, z) :- next(u, y), product(x, u, v), plus(v, x, z).
power(x, 0, 1) :- number(x).
power(x, y, z) :- next(u, y), power(x, u, v), product(v, x, z).
logarithm(x, b, y) :- power(b, y, low), next(y, u), power(b, u, high), number(x), low <= x, x < high.
quotient(x, d, q) :- product(q, d, p), plus(p, r, x), r < d.
remainder(x, d, r) :- product(d, _, p), plus(p, r, x), r < d.
"""
"""Numbers up to a limit; addition, multiplication, powers, logarithm, division and remainder, each from the one before
(the idea of Souffle's example of sequences)."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *CORNERS], help=", ".join(CORNERS))
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--rules", type=int, default=20_000)
    parser.add_argument("--cliques", type=int, default=10_000)
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES))
    chosen = parser.parse_args(arguments)
    warm = tl.Engine(CLOSURE)
    warm.apply(insert={"edge": np.stack([np.arange(20_000), np.arange(20_000) % 1000], 1)})
    warm.apply(delete={"edge": [(7, 7)]})
    for name in chosen.names or CORNERS:
        for line in CORNERS[name](chosen):
            print(f"{name:>8}  {line}", flush=True)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and what the work gives."""
    begun = time.process_time()
    found = work()
    return time.process_time() - begun, found


def opening(chosen: argparse.Namespace) -> list[str]:
    """A state saved and opened, once as a base alone and once with some later changes."""
    lines = []
    count = chosen.facts // 4
    numbers = np.arange(count)
    names = pa.array([f"person number {number:08d}" for number in range(count)], pa.large_string())
    chains = np.stack([numbers, np.where(numbers % 5 == 4, count + 1 + numbers, numbers + 1)], 1)
    friends = pa.table([names, names.take(pa.array((numbers * 7919 + 1) % count))], names=["one", "other"])
    for what, rules, facts in (
        ("integers", CLOSURE, {"edge": chains}),
        ("texts", "knows(y, x) :- edge(x, y). known(x) :- knows(_, x).", {"edge": friends}),
    ):
        engine = tl.Engine(rules)
        loading, _ = seconds(lambda engine=engine, facts=facts: engine.apply(insert=facts))
        size = sum(len(engine[relation]) for relation in engine.relations)
        with tempfile.TemporaryDirectory() as directory:
            saving, _ = seconds(lambda engine=engine, directory=directory: engine.save(directory))
            base, _ = seconds(lambda directory=directory: tl.Engine.open(directory))
            for number in range(50):
                engine.apply(insert={"edge": [(-number, -number - 1)]})
                engine.save(directory)
            del engine
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            later, _ = seconds(lambda directory=directory: tl.Engine.open(directory))
            more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        lines.append(
            f"{what}: {size:,} facts, load {loading:.2f} s, save {saving:.2f} s, open {base:.2f} s, with 50 changes"
            f" {later:.2f} s, peak {more // 1024:,} MB above loading"
        )
    return lines


def rounds(chosen: argparse.Namespace) -> list[str]:
    """A counter, a counter with more arithmetic, and a chain walked from one end."""
    last, lines = chosen.rounds, []
    chain = np.stack([np.arange(last), np.arange(1, last + 1)], 1)
    for rules, facts in (
        (f"n(x + 1) :- n(x), x < {last}.", {"n": [(0,)]}),
        (
            f"n(y) :- n(x), y = x + 2, y % 7 != 1, step(s), x * s < {last}. n(x + 1) :- n(x), x < {last}."
            " step(c) :- c = count : { one(_) }.",
            {"n": [(0,)], "one": [(1,)]},
        ),
        ("n(y) :- n(x), edge(x, y).", {"n": [(0,)], "edge": chain}),
        ("n(y) :- m(x), edge(x, y). m(y) :- n(x), edge(x, y).", {"n": [(0,)], "edge": chain}),
    ):
        engine = tl.Engine(rules)
        took, _ = seconds(lambda engine=engine, facts=facts: engine.apply(insert=facts))
        lines.append(f"{rules[:60]:60} {len(engine['n']):10,} facts {took:8.2f} s")
    return lines


def numbers(chosen: argparse.Namespace, last: int = 120) -> list[str]:
    """Arithmetic as relations: from nothing, then one number less, and one more."""
    lines = []
    for strategy in chosen.strategies:
        engine = tl.Engine(NUMBERS, strategy=strategy)
        load, _ = seconds(lambda engine=engine: engine.apply(insert={"limit": [(last,)]}))
        size = sum(len(engine[relation]) for relation in engine.relations)
        less, _ = seconds(
            lambda engine=engine: engine.apply(delete={"limit": [(last,)]}, insert={"limit": [(last - 1,)]})
        )
        more, _ = seconds(
            lambda engine=engine: engine.apply(delete={"limit": [(last - 1,)]}, insert={"limit": [(last,)]})
        )
        lines.append(
            f"{strategy:10} {size:,} facts: load {load:5.2f} s, one less {less:5.2f} s, one more {more:5.2f} s"
        )
    return lines


def chain(chosen: argparse.Namespace) -> list[str]:
    """Rules that each read the relation before."""
    count = chosen.rules
    rules = "\n".join(f"r{number + 1}(x) :- r{number}(x)." for number in range(count))
    making, engine = seconds(lambda: tl.Engine(rules))
    filling, _ = seconds(lambda: engine.apply(insert={"r0": [(1,)]}))
    adding, _ = seconds(lambda: engine.apply(add_rules=f"r{count // 2}(x) :- s(x)."))
    return [f"{count:,} rules: made in {making:.2f} s, one fact in {filling:.2f} s, one rule added in {adding:.2f} s"]


def cliques(chosen: argparse.Namespace) -> list[str]:
    """Values that are dense in patches: more of them than one matrix may have."""
    starts, steps = 30 * np.arange(chosen.cliques)[:, None, None], np.column_stack([np.arange(29), np.arange(1, 30)])
    facts, best, room = {"e": (starts + steps).reshape(-1, 2)}, dict[Way, float](), dict[Way, float]()
    for way in (Way.ROWS, Way.AUTO) * 2:
        with computing(way):
            engine = tl.Engine(SYMMETRIC, threads=1)
            took, _ = seconds(lambda engine=engine: engine.apply(insert=facts))
        best[way], room[way] = min(best.get(way, took), took), engine._backend.store.nbytes / 1e6
        size = len(engine["p"])
        del engine
    return [
        f"{size:,} facts over {30 * chosen.cliques:,} values: rows {best[Way.ROWS]:.2f} s, {room[Way.ROWS]:,.0f} MB;"
        f" auto {best[Way.AUTO]:.2f} s, {room[Way.AUTO]:,.0f} MB"
    ]


def leaving(_: argparse.Namespace) -> list[str]:
    """All edges of one value go, five times, with `auto`; beside deriving everything by rows.

    The clique comes from a ring with chords, so that it loses the vertex and nothing else; the chain falls apart.
    """
    ring, chain = np.arange(1000), np.column_stack([np.arange(399), np.arange(1, 400)])
    with computing(Way.BITS):  # loads the kernels
        warm = tl.Engine(SYMMETRIC)
        warm.apply(insert={"e": chain[:200]})
        warm.apply(delete={"e": chain[100:102]})
    chords = np.vstack([np.column_stack([ring, (ring + step) % 1000]) for step in (1, 333)])
    lines = []
    for what, edges in (("a turbine of a chain of 400", chain), ("a vertex of a clique of 1,000", chords)):
        with computing(Way.ROWS):
            engine = tl.Engine(SYMMETRIC, threads=1)
            scratch, _ = seconds(lambda engine=engine, edges=edges: engine.apply(insert={"e": edges}))
        engine = tl.Engine(SYMMETRIC, threads=1)
        engine.apply(insert={"e": edges})
        took, size = [], len(engine["p"])
        for value in (200, 50, 350, 120, 270):
            gone = {"e": edges[(edges == value).any(axis=1)]}
            took.append(seconds(lambda engine=engine, gone=gone: engine.apply(delete=gone))[0])
        lines.append(
            f"{what}: {size:,} facts, rows from scratch {1e3 * scratch:,.0f} ms, slowest of the first five"
            f" {1e3 * max(took):.1f} ms, {100 * max(took) / scratch:.1f} %"
        )
    return lines


def first(chosen: argparse.Namespace) -> list[str]:
    """Single edges go and come after a load of chains, first without preparation and then with it."""
    count, lines = chosen.facts // 4, []
    places = np.arange(count)
    edges = np.stack([places, np.where(places % 5 == 4, count + 1 + places, places + 1)], 1)
    for prepares in (False, True):
        engine = tl.Engine(CLOSURE)
        engine.apply(insert={"edge": edges})
        preparing, _ = seconds(engine.prepare if prepares else lambda: None)
        took = []
        for number in range(50):
            edge = {"edge": [(5 * number + 2, 5 * number + 3)]}
            took.append(seconds(lambda edge=edge, engine=engine: engine.apply(delete=edge))[0])
            took.append(seconds(lambda edge=edge, engine=engine: engine.apply(insert=edge))[0])
        facts = sum(len(engine[relation]) for relation in engine.relations)
        how = f"after prepare(), {preparing:.2f} s" if prepares else "without prepare()"
        lines.append(
            f"{facts:,} facts, {how}: slowest of 100 updates {1e3 * max(took):,.2f} ms, median"
            f" {1e3 * sorted(took)[50]:.2f} ms"
        )
    return lines


CORNERS: dict[str, Callable[[argparse.Namespace], list[str]]] = {
    "open": opening,
    "rounds": rounds,
    "numbers": numbers,
    "chain": chain,
    "first": first,
    "cliques": cliques,
    "leaving": leaving,
}

if __name__ == "__main__":
    main()
