"""Updates that arrive while others run: `python -m benchmarks.dynamic`.

What      : large deletions whose opposite arrives after 10, 50 and 90 % of them, deletions of which 10 % come back,
            urgent updates during bulk work, how long a step is, and what `apply` costs who uses none of it.
Idea      : the deletion alone is measured first; arrivals are placed by its duration. CPU time is compared with what
            was spent until the arrival, and with processing one update after the other. Waiting is wall-clock time.
            A picture of it is `benchmarks/results/dynamic.svg`.
Invariant : every case ends in the facts that consecutive processing gives, or the run stops.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import truediv
from pathlib import Path
from statistics import mean, median
from typing import Any

import pyarrow as pa

import tidelog as tl
from benchmarks.dynamic_figures import draw
from tidelog.arrivals.worker import Running

RESULTS = Path(__file__).parent / "results" / "dynamic.json"
SHARES = (0.1, 0.5, 0.9)
TURNS, LEAST_TURNS, SECONDS_OF_TURNS = 9, 5, 30
"""How often a tenth comes back at each share: nine times, or five if that takes longer than 30 seconds."""
BULK, COLOURS, MOST_COLOURS = 10, 18, 150
"""The bulk work takes ten seconds on the machine at hand: the graph gets as many colours as that takes, from 18 on, and
not more than fit into the memory of a small one."""
EACH, LEAST = 10, 0.9
"""How many urgent updates of the very stage come in that time; bulk work that takes less than 0.9 of it is enlarged."""
MOST_TRIES = 5
"""How often an opposite is sent again that came when the deletion, faster than the one before it, was over."""


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
    counted = (
        coloured
        + " n(c, x, k) :- e(c, x, _), k = count : { r(c, x, _) }. m(c, s) :- colour(c), s = sum k : { n(c, _, k) }."
    )
    dense, wide = graph(1000, 4000, 1), graph(50000, 250000, 3)
    three = coloured_graph(4)
    node, colour = {"node": table([(x,) for x in range(50000)])}, {"colour": table([(x,) for x in range(4)])}
    return [
        case("closure, a third of the edges, dred", closure + aside, "dred", "edge", dense),
        case("closure, a third of the edges, bf", closure + aside, "bf", "edge", dense),
        case("three columns, a third, dred", coloured + aside, "dred", "e", three),
        case("three columns with counts and sums, a third, auto", counted + aside, "auto", "e", three, colour),
        case("hops and counts, a third, auto", hops + aside, "auto", "edge", wide, node),
    ]


def bulk_cases(colours: int) -> list[Case]:
    """Deletions from graphs of many colours: in one stage, and in two that have nothing to do with each other."""
    coloured = "r(c, x, y) :- e(c, x, y). r(c, x, z) :- e(c, x, y), r(c, y, z). seen(x) :- alert(x, _), !quiet(x)."
    small = " p(x, y) :- f(x, y). p(x, z) :- f(x, y), p(y, z)."
    one = case("ten seconds, three columns, dred", coloured, "dred", "e", coloured_graph(colours))
    two = case("ten seconds beside a small part, dred", coloured + small, "dred", "e", coloured_graph(colours))
    edges = graph(300, 900, 5)
    two.facts["f"], two.deleted["f"] = table(edges), table(edges[::3])
    return [one, two]


def coloured_graph(colours: int) -> list[tuple[int, int, int]]:
    return [(colour, x, y) for colour in range(colours) for x, y in graph(500, 1800, 10 + colour)]


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


def steps(action: Callable[[], object]) -> dict[str, float]:
    """How long it takes from one look at what has arrived to the next, from the beginning to the end of an action."""
    looks, ask = [(time.perf_counter(), time.process_time())], Running.ask

    def noted(running: Running) -> None:
        looks.append((time.perf_counter(), time.process_time()))
        ask(running)

    Running.ask = noted  # type: ignore[method-assign]
    try:
        action()
    finally:
        Running.ask = ask  # type: ignore[method-assign]
    looks.append((time.perf_counter(), time.process_time()))
    wall, cpu = (sorted(after[at] - before[at] for before, after in pairwise(looks)) for at in (0, 1))
    place = len(wall) * 99 // 100
    return {
        "steps": len(wall), "p99 ms": 1e3 * wall[place], "p99 CPU ms": 1e3 * cpu[place], "longest ms": 1e3 * wall[-1],
        "longest CPU ms": 1e3 * cpu[-1], "over 20 ms": sum(one > 0.02 for one in wall),
    }  # fmt: skip


def sizes(engine: tl.Engine) -> dict[str, int]:
    return {name: len(engine[name]) for name in engine.relations}


def opposites(case: Case) -> dict[str, Any]:
    """The deletion alone, then with its opposite at some moments, then with a tenth of it taken back."""
    with closing(tl.Engine(case.rules, strategy=case.strategy)) as other:
        first = steps(lambda: other.submit(insert=case.facts).result())
    engine = tl.Engine(case.rules, strategy=case.strategy)
    loading = steps(lambda: engine.submit(insert=case.facts).result())
    before = sizes(engine)
    engine.submit(delete=case.deleted).result()  # the first time compiles and plans
    engine.submit(insert=case.deleted).result()
    deleting = steps(lambda: engine.submit(delete=case.deleted).result())
    inserting = steps(lambda: engine.submit(insert=case.deleted).result())
    wall, cpu = spent(lambda: engine.submit(delete=case.deleted).result())
    back = spent(lambda: engine.submit(insert=case.deleted).result())[1]
    found: dict[str, Any] = {
        "case": case.name, "facts": sum(before.values()), "deletion s": wall, "deletion CPU s": cpu, "back CPU s": back,
        "first loading, with kernels": first, "loading": loading, "deleting": deleting, "inserting": inserting,
    }  # fmt: skip
    assert sizes(engine) == before
    for share in SHARES:
        for _ in range(MOST_TRIES):
            is_late, visible, until, whole, shared = opposite(engine, case, share * wall)
            assert sizes(engine) == before
            if not is_late:
                break
            wall, cpu = spent(lambda: engine.submit(delete=case.deleted).result())  # `auto` has learnt a faster way
            engine.submit(insert=case.deleted).result()
        found[f"{share:.0%}"] = {
            "visible after s": visible, "CPU s": whole, "CPU until the arrival s": until,
            "over, part of the deletion": (whole - until) / cpu, "part of consecutive": whole / (cpu + back),
            "shared": shared, "came too late": is_late,
        }  # fmt: skip
    found["ways, in the middle"] = ways(engine, case, wall)
    assert sizes(engine) == before
    found["a tenth back"] = tenth(engine, case, wall)
    engine.close()
    return found


def opposite(engine: tl.Engine, case: Case, moment: float) -> tuple[bool, float, float, float, bool]:
    """The deletion, and its opposite some seconds later.

    Whether the deletion was over by then, after how many seconds the opposite is visible, CPU seconds until it came and
    of the whole, and whether both share a version.
    """
    started, spent_before = time.perf_counter(), time.process_time()
    first = engine.submit(delete=case.deleted)
    time.sleep(max(0.0, moment - (time.perf_counter() - started)))
    until, arrived, is_late = time.process_time() - spent_before, time.perf_counter(), first.done()
    second = engine.submit(insert=case.deleted)
    shared = second.result().version == first.result().version
    return is_late, time.perf_counter() - arrived, until, time.process_time() - spent_before, shared


def ways(engine: tl.Engine, case: Case, wall: float) -> dict[str, Any]:
    """The opposite in the middle of the deletion, as it is and in two simpler ways.

    The deletion is rolled back and begins again with the opposite; or it goes on, and only what waits is netted.
    """
    hall, found = engine._worker._hall, dict[str, Any]()
    others = {"begun again": replace(hall, turns_back=lambda: False), "only what waits": replace(hall, undone=_nothing)}
    for way, one in {"taken in": hall, **others}.items():
        engine._worker._hall, cpu = one, time.process_time()
        first = engine.submit(delete=case.deleted)
        time.sleep(0.5 * wall)
        arrived = time.perf_counter()
        engine.submit(insert=case.deleted).result()
        first.result()
        found[way] = {"visible after s": time.perf_counter() - arrived, "CPU s": time.process_time() - cpu}
    engine._worker._hall = hall
    return found


def _nothing(_: object) -> int:
    """No update undoes anything."""
    return 0


def tenth(engine: tl.Engine, case: Case, wall: float) -> dict[str, Any]:
    """A random tenth of the deletion comes back in the middle of it: never much worse than one after the other.

    Single runs of the same work differ by a third, and so does the machine from one minute to the next. So all ways are
    measured in turns, in another order each time, each is compared with the consecutive one of its own turn, and the
    median is taken.
    """
    part = {}
    for name, rows in case.deleted.items():
        part[name] = rows.take(sorted(random.Random(5).sample(range(rows.num_rows), rows.num_rows // 10)))

    def consecutive() -> None:
        engine.apply(delete=case.deleted)
        engine.apply(insert=part)

    def overlapped(share: float) -> None:
        engine.submit(delete=case.deleted)
        time.sleep(share * wall)
        engine.submit(insert=part)
        engine.settle()

    ways: dict[str, Callable[[], None]] = {"consecutive": consecutive}
    ways |= {f"{share:.0%}": partial(overlapped, share) for share in SHARES}
    found, after, started = {way: list[float]() for way in ways}, dict[str, int](), time.perf_counter()
    for turn in range(TURNS):
        if turn >= LEAST_TURNS and time.perf_counter() - started > SECONDS_OF_TURNS:
            break
        order = list(ways)
        for way in order[turn % len(order) :] + order[: turn % len(order)]:
            found[way].append(spent(ways[way])[1])
            after = after or sizes(engine)
            assert sizes(engine) == after
            engine.apply(insert=case.deleted)
    usual = found.pop("consecutive")
    ratios = {way: median(map(truediv, taken, usual)) for way, taken in found.items()}
    return {"consecutive CPU s": usual, **ratios, "CPU s": found}


@dataclass(frozen=True)
class Bulk:
    """Work that takes about ten seconds, ready to be disturbed."""

    case: Case
    engine: tl.Engine
    facts: int
    wall: float
    cpu: float


def bulk_work(at: int, colours: int) -> tuple[Bulk, int]:
    """One of the bulk cases, so large that its deletion takes about ten seconds, and its number of colours."""
    while True:
        bulk = undisturbed(bulk_cases(colours)[at])
        if bulk.wall >= LEAST * BULK or colours == MOST_COLOURS:
            return bulk, colours
        bulk.engine.close()
        colours = min(MOST_COLOURS, max(colours + 1, round(colours * BULK / bulk.wall)))


def undisturbed(case: Case) -> Bulk:
    """How long bulk work takes if nothing else is there: the mean of two times, unless it is too small anyway."""
    engine, times = tl.Engine(case.rules, strategy=case.strategy), list[tuple[float, float]]()
    engine.apply(insert=case.facts)
    for _ in range(3):  # the first time plans
        times.append(spent(lambda: engine.submit(delete=case.deleted).result()))
        engine.submit(insert=case.deleted).result()
        if len(times) == 2 and times[-1][0] < LEAST * BULK:
            break
    wall, cpu = map(mean, zip(*times[1:]))
    return Bulk(case, engine, sum(sizes(engine).values()), wall, cpu)


def urgent(bulk: Bulk, where: str, each: int) -> dict[str, Any]:
    """One-fact updates during bulk work: how long until they are visible, and how much later the bulk work ends.

    The urgent fact is of the relation `where`; `each` of them come during the bulk work, evenly and each when the last
    one is visible.
    """
    engine, case = bulk.engine, bulk.case
    before = sum(sizes(engine).values())
    engine.submit(insert={where: [_fact(where, 0)]}, urgent=True).result()  # the first time plans
    seen, started, cpu = list[float](), time.perf_counter(), time.process_time()
    running = engine.submit(delete=case.deleted)
    while not running.done() and len(seen) < each:
        time.sleep(max(0.0, started + bulk.wall * (len(seen) + 0.5) / each - time.perf_counter()))
        asked = time.perf_counter()
        engine.submit(insert={where: [_fact(where, len(seen) + 1)]}, urgent=True).result()
        seen.append(time.perf_counter() - asked)
    running.result()
    later, more = (time.perf_counter() - started) / bulk.wall - 1, (time.process_time() - cpu) / bulk.cpu - 1
    engine.submit(insert=case.deleted).result()
    engine.apply(delete={where: [_fact(where, number) for number in range(len(seen) + 1)]})
    assert sum(sizes(engine).values()) == before
    seen.sort()
    return {
        "case": case.name, "facts": bulk.facts, "urgent fact of": where, "urgent updates": len(seen),
        "bulk alone s": bulk.wall, "bulk alone CPU s": bulk.cpu, "visible p50 s": median(seen),
        "visible p99 s": seen[len(seen) * 99 // 100], "visible worst s": seen[-1], "visible s": seen,
        "bulk later, part": later, "more CPU, part": more,
    }  # fmt: skip


def _places(case: Case) -> list[tuple[str, int]]:
    """Where urgent facts of a bulk case come, and how many."""
    return [("alert", 60), ("f" if "f" in case.facts else "e", EACH)]


def _fact(relation: str, number: int) -> tuple[int, ...]:
    """A fact that nothing else knows."""
    return (0, 10**6 + 2 * number, 10**6 + 2 * number + 1) if relation == "e" else (10**6 + number, 2 * 10**6 + number)


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
    """Run everything, or the cases whose names contain a word; results take the place of older ones."""
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() and names else {}
    found = {part: found[part] for part in ("single", "opposites", "urgent") if isinstance(found.get(part), dict)}

    def note(part: str, name: str, result: Any) -> None:
        found.setdefault(part, {})[name] = {"load": os.getloadavg()[0], **result}
        print(json.dumps({name: found[part][name]}, indent=1), flush=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")

    def is_chosen(name: str) -> bool:
        return not names or any(one in name for one in names)

    if is_chosen("single"):
        note("single", "one fact", single())
    for one in cases():
        if is_chosen(one.name):
            note("opposites", one.name, opposites(one))
    colours = COLOURS
    for at, one in enumerate(bulk_cases(1)):
        chosen = {where: each for where, each in _places(one) if is_chosen(f"{one.name}, urgent {where}")}
        if chosen:
            bulk, colours = bulk_work(at, colours)
            for where, each in chosen.items():
                note("urgent", f"{one.name}, urgent {where}", urgent(bulk, where, each))
            bulk.engine.close()
    draw(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
