"""Rules that come and go: Figures 7-10 and Tables 2-3 of the ZodiacEdge paper.

What      : rule sets 2 and 3 over the paper's data, with the paper's insertions and deletions of rules, against
            reasoning from scratch; rule set 1 with 50 to 400 turbines, and with turbines that come and go.
Source    : ZodiacEdge, section 6.2.2. The authors' seconds are of another machine and are not repeated here.
Must reach: rule set 2: r18 at least 300 times faster than from scratch; r4, r15, r10 at least 5 times; no listed change
            more than 10 % slower.
"""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

import tidelog as tl
from benchmarks.maintenance import report
from benchmarks.maintenance.measure import cpu, loaded, milliseconds, tables, there_and_back
from benchmarks.maintenance.workloads.turbines import SIZES, chains, neighbours, rules

NAME = "rules"
CHANGES: dict[str, tuple[tuple[str, ...], ...]] = {
    "rs2": (
        ("r18",), ("r15",), ("r10",), ("r4",), ("r3",), ("r6",), ("r17",),
        ("r10", "r15", "r17"), ("r10", "r15", "r18"),
    ),
    "rs3": (("r6",), ("r10_new",)),
}  # fmt: skip
"""The rules that are inserted and deleted together."""
TURBINES = (50, 100, 200, 400)
SHARES = (10, 20, 30, 40, 50)


def run() -> dict[str, Any]:
    """Measure everything, store the results and plot them."""
    changes = [_rule_change(name, changed) for name, all_changes in CHANGES.items() for changed in all_changes]
    sizes = [_neighbours(turbines) for turbines in TURBINES]
    growth = _growth()
    content = {
        "rule changes": changes,
        "rule set 1": sizes,
        "turbines come and go": growth,
        "must reach": _reached(changes),
    }
    report.write(NAME, content)
    _plot(changes, sizes, growth)
    for rows in (changes, sizes, growth):
        print(report.table(tuple(rows[0]), [tuple(row.values()) for row in rows]), end="\n\n")
    print(content["must reach"])
    return content


def _rule_change(name: str, changed: tuple[str, ...]) -> dict[str, Any]:
    """Delete rules and insert them again, against a fresh engine with the rules as they are then."""
    everything, facts = rules(name), tables(chains())
    text = "\n".join(everything[rule] for rule in changed)
    rest = "\n".join(rule for key, rule in everything.items() if key not in changed)
    without, _ = loaded(rest, facts, "auto")
    with_all, engine = loaded("\n".join(everything.values()), facts, "auto")
    _check(engine, name)
    trips = there_and_back(partial(engine.apply, remove_rules=changed), partial(engine.apply, add_rules=text))
    delete, insert = trips.there, trips.back
    _check(engine, name)
    row: dict[str, Any] = {"rules": f"{name}: {' '.join(changed)}", "scratch with ms": milliseconds([with_all])}
    row |= {"insert ms": milliseconds(insert), "insert ratio": round(with_all / median(insert), 1)}
    row |= {"scratch without ms": milliseconds([without]), "delete ms": milliseconds(delete)}
    return row | {"delete ratio": round(without / median(delete), 1)}


def _check(engine: tl.Engine, name: str) -> None:
    """Refuse to report about a result of the wrong size."""
    sizes = {relation: len(engine[relation]) for relation in SIZES[name]}
    if sizes != SIZES[name]:
        raise SystemExit(f"{name}: sizes {sizes} are not the published ones")


def _neighbours(turbines: int) -> dict[str, Any]:
    """Rule set 1: from scratch, one neighbour more or less at the end, and the symmetric or transitive rule deleted."""
    rule_set, facts = rules("rs1"), tables(neighbours(turbines))
    program = "\n".join(rule_set.values())
    initial, engine = loaded(program, facts, "auto")
    one = tables({"hasNeighbour": [(f"turbine{turbines - 1}", f"turbine{turbines}")]})
    engine.apply(insert=one)
    trips = there_and_back(partial(engine.apply, delete=one), partial(engine.apply, insert=one))
    row: dict[str, Any] = {"turbines": turbines, "scratch ms": milliseconds([initial])}
    row |= {"insert fact ms": milliseconds(trips.back), "delete fact ms": milliseconds(trips.there)}
    engine.apply(delete=one)
    for rule, label in (("r1", "symmetric"), ("r2", "transitive")):
        rest = "\n".join(text for name, text in rule_set.items() if name != rule)
        scratch = loaded(rest, facts, "auto")[0]
        trips = there_and_back(
            partial(engine.apply, remove_rules=[rule]),
            partial(engine.apply, add_rules=rule_set[rule]),
        )
        row |= {f"delete {label} ms": milliseconds(trips.there), f"insert {label} ms": milliseconds(trips.back)}
        row |= {f"scratch without {label} ms": milliseconds([scratch])}
    return row


def _growth() -> list[dict[str, Any]]:
    """Figure 10: from 10 % to 50 % more turbines beside 200, then without them again."""
    program = "\n".join(rules("rs1").values())
    base, whole = neighbours(200), []
    _, engine = loaded(program, tables(base), "auto")
    for share in SHARES:
        more = tables(
            {
                relation: [fact for fact in facts if fact not in set(base[relation])]
                for relation, facts in neighbours(200 + 2 * share).items()
            }
        )
        engine.apply(insert=more)
        trips = there_and_back(partial(engine.apply, delete=more), partial(engine.apply, insert=more))
        fresh = tl.Engine(program)
        scratch, _ = cpu(partial(fresh.apply, insert=tables(neighbours(200 + 2 * share))))
        engine.apply(delete=more)
        row = {"more %": share, "insert ms": milliseconds(trips.back), "delete ms": milliseconds(trips.there)}
        whole.append(row | {"scratch ms": milliseconds([scratch])})
    return whole


def _reached(changes: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = {row["rules"]: (row["insert ratio"], row["delete ratio"]) for row in changes}
    wanted = {f"rs2: {rule}": ratios[f"rs2: {rule}"] for rule in ("r18", "r15", "r10", "r4")}
    return {**wanted, "slowest of all": min(min(pair) for pair in ratios.values())}


def _plot(changes: list[dict[str, Any]], sizes: list[dict[str, Any]], growth: list[dict[str, Any]]) -> None:
    drawn, axes = report.figure(4, columns=2, height=3.9)
    labels = [row["rules"].replace("rs2: ", "").replace("rs3: ", "RS3 ") for row in changes]
    for axis, what, against in ((axes[0], "insert", "with"), (axes[1], "delete", "without")):
        places = range(len(changes))
        scratch, ours = [row[f"scratch {against} ms"] for row in changes], [row[f"{what} ms"] for row in changes]
        axis.bar([at - 0.2 for at in places], scratch, 0.4, color=report.COLOURS["recompute"], label="from scratch")
        bars = axis.bar([at + 0.2 for at in places], ours, 0.4, color=report.COLOURS["auto"], label=f"{what} rules")
        axis.bar_label(bars, [f"{row[f'{what} ratio']:,.0f}x" for row in changes], fontsize=7, padding=1)
        axis.set_xticks(list(places), labels, rotation=40, ha="right", fontsize=8)
        axis.set_title(f"Rules {what}{'ed' if what == 'insert' else 'd'}, RS2 and RS3")
        axis.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)
        axis.set_yscale("log")  # before the limits, or the lower one is almost nothing
        axis.set_ylim(min(ours) / 2, max(scratch) * 8)
    lines = ("scratch ms", "insert fact ms", "delete fact ms", "delete symmetric ms", "delete transitive ms")
    for key in lines:
        axes[2].plot([row["turbines"] for row in sizes], [row[key] for row in sizes], marker="o", ms=4, label=key[:-3])
    axes[2].set_title("RS1: a chain of turbines")
    axes[2].set_xlabel("turbines")
    for key in ("scratch ms", "insert ms", "delete ms"):
        axes[3].plot([row["more %"] for row in growth], [row[key] for row in growth], marker="o", ms=4, label=key[:-3])
    axes[3].set_title("RS1: more turbines beside 200, and less again")
    axes[3].set_xlabel("more turbines, %")
    for axis in axes:
        axis.set_ylabel("CPU ms")
    for axis in axes[2:]:
        axis.set_yscale("log")
        axis.legend(frameon=False, fontsize=8)
    report.finish(drawn, NAME, "Rules come and go")
