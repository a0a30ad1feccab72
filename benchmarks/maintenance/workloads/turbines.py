"""The wind turbines of ZodiacEdge: DS1 for rule set 1, DS2 for rule sets 2 and 3.

What      : chains of turbines; DS2 has chains p1, p2 and p3 that meet in one turbine, and p5 apart from them.
Source    : ZodiacEdge, section 6.1 and appendices A-C. The paper prints no file: p5 is placed where it blocks nothing,
            because only then the published sizes come out (checked by `SIZES`).
Invariant : the materialisation of rule set 2 over DS2 has 424,300 facts, as published.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.maintenance.workloads.workload import Fact

PROGRAMS = Path(__file__).parents[3] / "tests" / "programs" / "zodiacedge"

SIZES = {
    "rs2": {"p11": 40_200, "p12": 20_100, "p13": 400, "p14": 400, "p20": 60_700, "p21": 60_700, "p22": 60_700}
    | {"p25": 40_000, "p26": 200, "p30": 101_100, "p31": 39_800},
    "rs3": {"p11": 40_200, "p12": 20_100, "p13": 400, "p14": 400, "p20": 60_500, "p21": 60_500, "p22": 60_500}
    | {"p25": 40_000, "p26": 200, "p30": 100_501, "p31": 39_800},
}
"""The published numbers of derived facts."""


def rules(name: str) -> dict[str, str]:
    """The rules of a rule set, by name."""
    text = (PROGRAMS / name / "program.dl").read_text()
    code = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    statements = [part.strip() for part in code.split(".\n")]
    return {part.partition(":")[0]: part.rstrip(".") + "." for part in statements if part}


def chains(turbines: int = 200) -> dict[str, list[Fact]]:
    """DS2: chains p1, p2, p3 of a number of steps, one after the other, then p5."""
    names = ("p1", "p2", "p3", "p5")
    return {name: _chain(at * turbines, turbines) for at, name in enumerate(names)}


def neighbours(turbines: int, first: int = 0) -> dict[str, list[Fact]]:
    """DS1: a chain of neighbours, each with a temperature; every tenth sensor is off."""
    return {
        "hasNeighbour": _chain(first, turbines - 1),
        "hasAirTemperatureMesurement": [
            (f"turbine{at}", 15 + at % 3 + 9 * (at % 10 == 0)) for at in range(first, first + turbines)
        ],
    }


def _chain(first: int, steps: int) -> list[Fact]:
    return [(f"turbine{at}", f"turbine{at + 1}") for at in range(first, first + steps)]
