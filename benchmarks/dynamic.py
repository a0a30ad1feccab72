"""Updates that arrive while others run: `python -m benchmarks.dynamic`.

What      : large deletions whose opposite arrives after 10, 50 and 90 % of them, deletions of which 10 % come back,
            urgent updates during bulk work, and what `apply` costs who uses none of it.
Idea      : the deletion alone is measured first; arrivals are placed by its duration. CPU time is compared with what
            was spent until the arrival, and with processing one update after the other. Waiting is wall-clock time.
Invariant : every case ends in the facts that consecutive processing gives, or the run stops.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

import tidelog as tl

RESULTS = Path(__file__).parent / "results" / "dynamic.json"
SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Case:
    """A program, its facts, and a large deletion."""

    name: str
    rules: str
    strategy: str
    facts: dict[str, pa.Table]
    deleted: dict[str, pa.Table]


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table({f"c{at}": pa.array(column) for at, column in enumerate(zip(*rows))})


def graph(nodes: int, edges: int, seed: int) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    return sorted({(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(edges)})


def cases() -> list[Case]:
    """Deletions that take seconds."""
    closure = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
    coloured = "r(c, x, y) :- e(c, x, y). r(c, x, z) :- e(c, x, y), r(c, y, z)."
    hops = """
        two(x, z) :- edge(x, y), edge(y, z). three(x, z) :- two(x, y), edge(y, z).
        n(x, k) :- node(x), k = count : { three(x, _) }.
    """
    aside = " seen(x) :- alert(x, _), !quiet(x)."
    dense, wide = graph(1000, 4000, 1), graph(20000, 100000, 3)
    three = [(colour, x, y) for colour in range(4) for x, y in graph(500, 1800, 10 + colour)]
    node = {"node": table([(x,) for x in range(20000)])}
    return [
        case("closure, a third of the edges, dred", closure + aside, "dred", "edge", dense),
        case("closure, a third of the edges, bf", closure + aside, "bf", "edge", dense),
        case("three columns, a third, dred", coloured + aside, "dred", "e", three),
        case("hops and counts, a third, auto", hops + aside, "auto", "edge", wide, node),
    ]


def case(
    name: str, rules: str, strategy: str, relation: str, rows: list[Any], more: dict[str, pa.Table] | None = None
) -> Case:
    """A case in which a third of a relation is deleted."""
    deleted = sorted(random.Random(1).sample(rows, len(rows) // 3))
    return Case(name, rules, strategy, {relation: table(rows), **(more or {})}, {relation: table(deleted)})


def spent(action: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds of an action."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def longest_step(engine: tl.Engine, action: Callable[[], object]) -> float:
    """The longest time between two looks at what has arrived, from the beginning to the end of an action."""
    looks = [time.perf_counter()]
    engine.watcher = lambda _: looks.append(time.perf_counter())
    action()
    engine.watcher = None
    looks.append(time.perf_counter())
    return max(after - before for before, after in pairwise(looks))


def sizes(engine: tl.Engine) -> dict[str, int]:
    return {name: len(engine[name]) for name in engine.relations}


def opposites(case: Case) -> dict[str, Any]:
    """The deletion alone, then with its opposite at some moments, then with a tenth of it taken back."""
    engine = tl.Engine(case.rules, strategy=case.strategy)
    engine.apply(insert=case.facts)
    before = sizes(engine)
    for _ in range(2):  # the first time compiles and plans
        gap = longest_step(engine, lambda: engine.submit(delete=case.deleted).result())
        engine.submit(insert=case.deleted).result()
        wall, cpu = spent(lambda: engine.submit(delete=case.deleted).result())
        back = spent(lambda: engine.submit(insert=case.deleted).result())[1]
    found: dict[str, Any] = {
        "case": case.name, "facts": sum(before.values()), "deletion s": wall, "deletion CPU s": cpu, "back CPU s": back,
        "longest step s": gap,
    }  # fmt: skip
    assert sizes(engine) == before
    for share in SHARES:
        started, spent_before = time.perf_counter(), time.process_time()
        first = engine.submit(delete=case.deleted)
        time.sleep(max(0.0, share * wall - (time.perf_counter() - started)))
        until, arrived = time.process_time() - spent_before, time.perf_counter()
        second = engine.submit(insert=case.deleted)
        second.result(), first.result()
        visible, whole = time.perf_counter() - arrived, time.process_time() - spent_before
        assert sizes(engine) == before
        found[f"{share:.0%}"] = {
            "visible after s": visible, "CPU s": whole, "CPU until the arrival s": until,
            "over, part of the deletion": (whole - until) / cpu, "part of consecutive": whole / (cpu + back),
            "shared": first.result().version == second.result().version,
        }  # fmt: skip
    found["a tenth back"] = tenth(engine, case, wall)
    engine.close()
    return found


def tenth(engine: tl.Engine, case: Case, wall: float) -> dict[str, Any]:
    """A random tenth of the deletion comes back in the middle of it: never much worse than one after the other."""
    part = {}
    for name, rows in case.deleted.items():
        part[name] = rows.take(sorted(random.Random(5).sample(range(rows.num_rows), rows.num_rows // 10)))
    undo = case.deleted
    found: dict[str, Any] = {}
    consecutive = spent(lambda: (engine.apply(delete=case.deleted), engine.apply(insert=part)))[1]
    after = sizes(engine)
    engine.apply(insert=undo)
    for share in SHARES:
        cpu = time.process_time()
        engine.submit(delete=case.deleted)
        time.sleep(share * wall)
        engine.submit(insert=part)
        engine.settle()
        found[f"{share:.0%}"] = (time.process_time() - cpu) / consecutive
        assert sizes(engine) == after
        engine.apply(insert=undo)
    return found


def urgent(case: Case, *, own: bool, rounds: int = 6) -> dict[str, Any]:
    """One-fact updates during bulk work: how long until they are visible, and how much later the bulk work ends.

    The urgent fact is of the relation that the bulk work changes (`own`), or of another part of the program.
    """
    engine = tl.Engine(case.rules, strategy=case.strategy)
    name, rows = next(iter(case.deleted.items()))
    columns, seen, delays = rows.num_columns, list[float](), list[float]()
    engine.apply(insert=case.facts)
    for _ in range(2):
        alone, _ = spent(lambda: engine.submit(delete=case.deleted).result())
        engine.submit(insert=case.deleted).result()
    rng = random.Random(2)
    for number in range(rounds):
        started = time.perf_counter()
        bulk = engine.submit(delete=case.deleted)
        time.sleep(rng.random() * 0.9 * alone)
        asked = time.perf_counter()
        fact = {name: [tuple(10**6 + number + at for at in range(columns))]} if own else {"alert": [(number, 0)]}
        engine.submit(insert=fact, urgent=True).result()
        seen.append(time.perf_counter() - asked)
        bulk.result()
        delays.append((time.perf_counter() - started) / alone - 1)
        engine.submit(insert=case.deleted).result()
    engine.verify()
    engine.close()
    seen.sort()
    return {
        "case": case.name,
        "urgent fact": "same relation" if own else "another part",
        "bulk alone s": alone,
        "visible p50 s": median(seen),
        "visible worst s": seen[-1],
        "bulk later, part: median": median(delays),
        "bulk later, part: worst": max(delays),
    }


def single(rounds: int = 4000) -> dict[str, float]:
    """Microseconds of one-fact updates: `apply`, and `submit` with its result awaited."""
    engine = tl.Engine("path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z).")
    ways: dict[str, Callable[..., object]] = {
        "apply": engine.apply,
        "submit and wait": lambda **update: engine.submit(**update).result(),
    }
    found = {}
    for way, act in ways.items():
        for _ in range(2):
            times = []
            for at in range(rounds):
                started = time.perf_counter()
                act(**{("insert", "delete")[at % 2]: {"edge": [(1, 2)]}})
                times.append(time.perf_counter() - started)
        found[f"{way} us"] = 1e6 * median(times)
    waits = []
    for at in range(rounds):
        started = time.perf_counter()
        future = engine.submit(insert={"edge": [(2 * at, 2 * at + 1)]})
        future.add_done_callback(lambda _, started=started: waits.append(time.perf_counter() - started))
        if at % 10 == 9:
            future.result()
    engine.settle()
    waits.sort()
    found["bursts of 10, visible p50 us"] = 1e6 * median(waits)
    found["bursts of 10, visible p99 us"] = 1e6 * waits[len(waits) * 99 // 100]
    engine.close()
    return found


def main(names: list[str]) -> int:
    """Run everything, or the cases whose names contain a word; the results are stored."""
    chosen = [one for one in cases() if not names or any(name in one.name for name in names)]
    found: dict[str, Any] = {"load": os.getloadavg()[0], "single": single(), "opposites": [], "urgent": []}
    print(json.dumps(found["single"], indent=1), flush=True)
    for one in chosen:
        found["opposites"].append(opposites(one))
        print(json.dumps(found["opposites"][-1], indent=1), flush=True)
        for own in (False, True):
            found["urgent"].append(urgent(one, own=own))
            print(json.dumps(found["urgent"][-1], indent=1), flush=True)
    if not names:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
