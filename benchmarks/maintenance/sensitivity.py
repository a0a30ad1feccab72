"""What changes when a constant of `auto` is halved or doubled.

What      : every constant of choose.py and costs.py and every price of the local store, times 1/2 and times 2, over
            small versions of the reports' workloads; how many choices differ, and how much more or less work follows.
Idea      : work is counted, not timed: derivations, facts and rounds at the standard prices. So the table is the same
            on every machine, and a constant whose row shows nothing is one that need not be exact.
Invariant : a case is the same sequence of updates for every setting; settings are put back.
Never     : no clock is read. How prices relate to time is what the other reports measure.

`python -m benchmarks.maintenance.sensitivity` runs for some minutes and writes benchmarks/results.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from math import prod
from pathlib import Path
from typing import Any

from benchmarks.maintenance import report
from benchmarks.maintenance.workloads.lubm import lubm
from benchmarks.maintenance.workloads.places import PROGRAM as PLACES
from benchmarks.maintenance.workloads.universities import universities
from benchmarks.maintenance.workloads.workload import Fact
from tidelog.analysis.program_check import check
from tidelog.backends.local.backend import LocalBackend
from tidelog.backends.local.store import LocalStore
from tidelog.language.parser import parse
from tidelog.limits import Budget
from tidelog.maintenance import choose, costs
from tidelog.maintenance.counters import Counters
from tidelog.maintenance.prices import LOCAL_PRICES
from tidelog.maintenance.rule_book import RuleBook
from tidelog.maintenance.schedule import Schedule
from tidelog.maintenance.transaction import maintain

NAME = "sensitivity"
CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z)."
LABELLED = """
    same(x, y, l) :- link(x, y, l).
    same(y, x, l) :- same(x, y, l).
    same(x, z, l) :- same(x, y, l), same(y, z, l).
"""
GRAPHS = Path(__file__).parents[1] / "data" / "graphs"
CONSTANTS = {
    choose: (
        *("SHARE", "SPARSE", "TRIFLE", "WORTH", "PRICE", "PATIENCE", "COUNTING_SHARE", "CURIOSITY"),
        *("INDEXED", "MARGIN", "GONE", "DOUBTFUL"),
    ),
    costs: ("LEARNING", "RENEWAL", "FEW", "GROWTH", "ROUNDS"),
}
PRICES = tuple(one.name for one in fields(LOCAL_PRICES) if one.init and getattr(LOCAL_PRICES, one.name))
Facts = Mapping[str, Sequence[Fact]]
Case = tuple[str, Facts, list[Facts]]
"""A program, its facts, and deletions each of which is done and undone."""


@dataclass
class Followed:
    """What one case came to: the choices in order, and the work."""

    choices: list[tuple[str, str, tuple[str, ...]]]
    work: float


def cases() -> dict[str, Case]:
    """Small versions of the workloads of the reports, and a clique that is not derived in bits: there counting pays."""
    clique = "\n".join(line for line in PLACES.splitlines() if line.startswith(("place2", "place3")))
    ring: list[Fact] = [(at, (at * step + 1) % 110) for step in (1, 7) for at in range(110)]
    corner = [edge for edge in ring if 5 in edge]
    found: dict[str, Case] = {
        "clique survives": (clique, {"relatedPlaces": ring}, [{"relatedPlaces": ring[9:10]}] * 12),
        "clique shrinks": (clique, {"relatedPlaces": ring}, [{"relatedPlaces": corner}] * 30),
        "labelled clique shrinks": (LABELLED, {"link": _labelled(ring)}, [{"link": _labelled(corner)}] * 30),
        "chain, end": (CLOSURE, {"edge": _chain(300)}, [{"edge": _chain(300)[-3:]}] * 40),
        "chain, middle": (CLOSURE, {"edge": _chain(300)}, [{"edge": _chain(300)[150:151]}] * 100),
    }
    for name in ("rand1k", "rmat1k"):
        rows = csv.reader((GRAPHS / f"{name}.tsv").read_text().splitlines(), delimiter="\t")
        edges: list[Fact] = [(int(x) % 150, int(y) % 150) for x, y in rows]
        edges = sorted(set(random.Random(3).sample(edges, 300)))
        parts = [{"edge": edges[at : at + size]} for size in (1, 10, 100, 120) for at in range(0, 100, 10)]
        found[name] = CLOSURE, {"edge": edges}, parts
    for load, sizes in ((lubm(), (1, 100, 5_000)), (universities(), (1, 100, 2_000))):
        found[load.name] = load.program, load.facts, [load.deletion(size) for size in sizes for _ in range(8)]
    return found


def _labelled(edges: list[Fact]) -> list[Fact]:
    return [(*edge, "road") for edge in edges]


def _chain(length: int) -> list[Fact]:
    return [(at, at + 1) for at in range(length)]


def run() -> dict[str, Any]:
    """Follow every case with every setting, store the table and print it."""
    chosen = cases()
    standard = {name: follow(case) for name, case in chosen.items()}
    rows = []
    for name, change in settings():
        row: dict[str, Any] = {"constant": name}
        for factor in (0.5, 2.0):
            with change(factor):
                row[f"times {factor:g}"] = _compared(standard, {key: follow(case) for key, case in chosen.items()})
        rows.append(row)
        print(_line(row), file=sys.stderr, flush=True)
    content = {"choices": sum(len(one.choices) for one in standard.values()), "cases": list(chosen), "rows": rows}
    report.write(NAME, content)
    print(f"of {content['choices']} choices, other ones, and the work: in all, in the worst and the best case")
    print(*map(_line, rows), sep="\n")
    return content


def follow(case: Case) -> Followed:
    """Load a case, then do and undo each of its deletions."""
    program, facts, deletions = case
    book, backend, auto = RuleBook.of(check(parse(program))), LocalBackend(LocalStore()), choose.Auto()
    price = LOCAL_PRICES.round + LOCAL_PRICES.literal * max(stage.literals for stage in book.schedule.stages)
    followed = Followed([], 0.0)

    def apply(previous: Schedule, insert: Facts, delete: Facts) -> None:
        budget = Budget()
        outcome = maintain(
            backend.store,
            book.schedule,
            auto,
            delete={name: backend.find(name, some, None, None) for name, some in delete.items()},
            insert={name: backend.intern(name, some, None, None) for name, some in insert.items()},
            previous=previous,
            budget=budget,
        )
        backend.commit()
        followed.work += _work(outcome.counters, budget.rounds, price)
        followed.choices += [(one.component, one.strategy, one.cut_off) for one in outcome.counters.choices]

    apply(Schedule(()), facts, {})
    for part in deletions:
        apply(book.schedule, {}, part)
        apply(book.schedule, part, {})
    return followed


def _work(counters: Counters, rounds: int, price: float) -> float:
    """The work of an update at the standard prices; its rounds are those of a counted stage if one is counted."""
    values, derived = counters.values, counters.derivations
    counted = sum(number for (_, phase), number in derived.items() if phase == "count")
    made = rounds - (1 - LOCAL_PRICES.swift) * values["swift rounds"]
    is_counted = any(choice.strategy == "counting" for choice in counters.choices)
    return (
        values["derivations"]
        + (LOCAL_PRICES.counted - 1) * counted
        + sum(weight * values[name] for name, weight in LOCAL_PRICES.handled)
        + (LOCAL_PRICES.counted_round if is_counted else 1) * price * made
    )


def settings() -> Iterator[tuple[str, Callable[[float], Any]]]:
    """Every constant by name, and what multiplies it for a while."""
    for module, names in CONSTANTS.items():
        for name in names:
            yield f"{module.__name__.rpartition('.')[2]}.{name}", _multiplied(module, name)
    for name in PRICES:
        yield f"prices.{name}", _price(name)


def _multiplied(module: object, name: str) -> Callable[[float], Any]:
    @contextmanager
    def change(factor: float) -> Iterator[None]:
        before = getattr(module, name)
        setattr(module, name, before * factor)
        try:
            yield
        finally:
            setattr(module, name, before)

    return change


def _price(name: str) -> Callable[[float], Any]:
    @contextmanager
    def change(factor: float) -> Iterator[None]:
        LocalStore.prices = replace(LOCAL_PRICES, **{name: getattr(LOCAL_PRICES, name) * factor})
        try:
            yield
        finally:
            LocalStore.prices = LOCAL_PRICES

    return change


def _compared(before: Mapping[str, Followed], after: Mapping[str, Followed]) -> dict[str, Any]:
    ratios = {name: after[name].work / before[name].work for name in before}
    differing = {
        name: sum(one != other for one, other in zip(before[name].choices, after[name].choices)) for name in before
    }
    worst, best = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
    return {
        "other choices": sum(differing.values()),
        "by case": {name: number for name, number in differing.items() if number},
        "work": round(prod(ratios.values()) ** (1 / len(ratios)), 3),
        "worst": [round(ratios[worst], 2), worst],
        "best": [round(ratios[best], 2), best],
    }


def _line(row: Mapping[str, Any]) -> str:
    parts = []
    for factor in ("0.5", "2"):
        told = row[f"times {factor}"]
        (worst, where), (best, there) = told["worst"], told["best"]
        text = f"x{factor}: {told['other choices']:>4} other, work {told['work']:.3f}"
        parts.append(f"{text} ({worst:.2f} {where}, {best:.2f} {there})" if told["other choices"] else text)
    return f"{row['constant']:<24}" + "; ".join(parts)


if __name__ == "__main__":
    run()
