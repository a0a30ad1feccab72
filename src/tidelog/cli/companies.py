"""The world of the demonstration: companies that own and supply each other.

What      : `write_world` writes a pipeline with its rules, facts and fifty updates; the same ones every time.
Idea      : a seeded generator makes names, shares and deliveries; a handful of updates are scripted and tell the
            story, the others are the noise of a normal day.
Invariant : everything follows from `SEED`; two runs write equal files.
Never     : no engine and no Spark here: only files.
"""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SEED, COMPANIES, UPDATES = 7, 3000, 50
KINDS = ("goods", "parts", "goods", "advice")
"""What is delivered, in turn; the pipeline leaves advice out."""

RULES = """// Who controls whom, and who depends on a sanctioned company.
.decl owns(owner: symbol, company: symbol, class: symbol, percent: number)
.decl supplies(supplier: symbol, customer: symbol)
.decl sanctioned(company: symbol)

stake:      stake(x, y, t) :- owns(x, y, _, _), t = sum p : { owns(x, y, _, p) }.
majority:   controls(x, y) :- stake(x, y, t), t > 50.
chain:      controls(x, z) :- controls(x, y), controls(y, z).
listed:     blocked(x) :- sanctioned(x).
owned:      blocked(y) :- sanctioned(x), controls(x, y).
supplier:   exposed(y) :- supplies(x, y), blocked(x).
downstream: exposed(y) :- supplies(x, y), exposed(x).
company:    company(x) :- supplies(x, _).
customer:   company(y) :- supplies(_, y).
safe:       safe(x) :- company(x), !blocked(x), !exposed(x).
"""

PIPELINE = """program = "rules.dl"
state = "state"
on_bad = "reject"
rejects = "rejects"

[sources.owns]
format = "csv"
path = "facts/owns.csv"
options = { header = true }

[sources.supplies]
format = "csv"
path = "facts/supplies.csv"
columns = ["from", "to"]
where = [{ column = "kind", op = "in", value = ["goods", "parts"] }]
options = { header = true }

[updates]
path = "updates"

[[sinks]]
what = "changes"
format = "parquet"
path = "out/changes"
relations = ["blocked"]

[[sinks]]
what = "relations"
format = "parquet"
path = "out/relations"
relations = ["exposed", "safe"]

[spark]
master = "local[2]"
memory = "800m"
"""

DE_FACTO = """
held:     held(y) :- controls(_, y).
de_facto: leads(x, y) :- stake(x, y, t), t > 40, !held(y).
led:      blocked(y) :- sanctioned(x), leads(x, y).
"""

_FIRST = (
    "North", "Harbour", "Silver", "Green", "Atlas", "Delta", "Royal", "Pioneer",
    "Summit", "Coral", "Union", "Baltic", "Orion", "Cedar", "Falcon", "Granite",
)  # fmt: skip
_SECOND = (
    "Steel", "Foods", "Lines", "Energy", "Timber", "Motors", "Glass", "Textiles",
    "Shipping", "Cement", "Optics", "Paper", "Copper", "Grain", "Tools",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scene:
    """One update: its file's content, and for scripted ones a title and the relation whose change is worth a proof."""

    update: dict[str, Any]
    title: str = ""
    why: str = ""


@dataclass(slots=True)
class World:
    """Companies, shares and deliveries."""

    names: list[str]
    owns: list[tuple[str, str, str, int]] = field(default_factory=list)
    supplies: list[tuple[str, str]] = field(default_factory=list)


def world(seed: int = SEED, companies: int = COMPANIES) -> World:
    """The companies at the beginning: owners and suppliers come earlier in the list than what they own and supply."""
    draw = random.Random(seed)  # noqa: S311 - a story, not a secret
    made = World([f"{_FIRST[i % 16]} {_SECOND[i // 16 % 15]} {i // 240 + 1}" for i in range(companies)])
    for number in range(1, companies):
        owner = made.names[draw.randrange(max(0, number - 40), number)]
        total = draw.choice((100, 75, 60, 51, 45, 30))
        first = draw.randrange(5, total - 4)
        made.owns += [(owner, made.names[number], "A", first), (owner, made.names[number], "B", total - first)]
        for _ in range(draw.choice((0, 1, 1, 2))):
            supplier = made.names[draw.randrange(max(0, number - 60), number)]
            made.supplies.append((supplier, made.names[number]))
    return made


def scenes(made: World, seed: int = SEED, updates: int = UPDATES) -> list[Scene]:
    """The updates in order."""
    draw = random.Random(seed + 1)  # noqa: S311
    story = _story(made)
    near = made.names.index(story[1].update["insert"][0][1])
    trade = World(made.names, _untouched(made, story), _traded(made))
    return [story.get(number) or Scene(_noise(trade, draw, near)) for number in range(1, updates + 1)]


def _traded(made: World) -> list[tuple[str, str]]:
    """The deliveries that the pipeline loads."""
    return [pair for number, pair in enumerate(made.supplies) if KINDS[number % len(KINDS)] != "advice"]


def _untouched(made: World, story: dict[int, Scene]) -> list[tuple[str, str, str, int]]:
    """The shares that the story says nothing of."""
    owner = story[5].update["insert"][0][1]
    return [one for one in made.owns if owner not in one]


def write_world(folder: Path) -> list[Scene]:
    """Write everything into a folder; gives the scenes."""
    made = world()
    told = scenes(made)
    for name in ("facts", "updates"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "rules.dl").write_text(RULES, encoding="utf-8")
    (folder / "pipeline.toml").write_text(PIPELINE, encoding="utf-8")
    _write(folder / "facts" / "owns.csv", ("owner", "company", "class", "percent"), made.owns)
    deliveries = [(*pair, KINDS[number % len(KINDS)]) for number, pair in enumerate(made.supplies)]
    _write(folder / "facts" / "supplies.csv", ("from", "to", "kind"), deliveries)
    with (folder / "facts" / "owns.csv").open("a", encoding="utf-8") as file:
        file.write("North Steel 1,Harbour Steel 1,A,many\n")
    for number, scene in enumerate(told, 1):
        (folder / "updates" / f"{number:03}.jsonl").write_text(json.dumps(scene.update) + "\n", encoding="utf-8")
    return told


def _story(made: World) -> dict[int, Scene]:
    """The scripted updates, by their numbers; their companies are chosen so that there is something to see."""
    reach = _reach(made)
    culprit = min(made.names, key=lambda name: (abs(len(reach[name]) - 40), name))
    owner, tranche = _owner(made, reach, culprit)
    return {
        1: Scene({"insert": [["sanctioned", culprit]]}, f"{culprit} is sanctioned", "exposed"),
        5: Scene({"insert": [["sanctioned", owner]]}, f"{owner}, an owner of others, is sanctioned", "blocked"),
        12: Scene({"delete": [["owns", *tranche]]}, f"{owner} sells a tranche of {tranche[1]}", "blocked"),
        20: Scene({"add_rules": DE_FACTO}, "a rule comes: 40 % is enough where nobody has control", "blocked"),
        35: Scene({"remove_rules": ["downstream"]}, "a rule goes: only direct customers count as exposed", "exposed"),
        48: Scene({"delete": [["sanctioned", culprit]]}, f"the sanction on {culprit} is lifted", "safe"),
    }


def _reach(made: World) -> dict[str, set[str]]:
    """Who is supplied by a company, directly or not; suppliers come earlier in the list, so one pass backwards does."""
    customers: dict[str, list[str]] = {name: [] for name in made.names}
    for supplier, customer in _traded(made):
        customers[supplier].append(customer)
    reach: dict[str, set[str]] = {}
    for name in reversed(made.names):
        reach[name] = set(customers[name]).union(*(reach[customer] for customer in customers[name]))
    return reach


def _owner(made: World, reach: dict[str, set[str]], culprit: str) -> tuple[str, tuple[str, str, str, int]]:
    """An owner that controls a company by two tranches together, and leads another one without control."""
    stakes: dict[str, dict[str, list[tuple[str, str, str, int]]]] = {}
    for one in made.owns:
        stakes.setdefault(one[0], {}).setdefault(one[1], []).append(one)
    for owner, companies in stakes.items():
        totals = {company: sum(one[3] for one in tranches) for company, tranches in companies.items()}
        led = [company for company, total in totals.items() if 40 < total <= 50 and 2 <= len(reach[company]) <= 30]
        split = [
            tranches[0]
            for company, tranches in companies.items()
            if totals[company] > 50 and totals[company] - tranches[0][3] <= 40 and 5 <= len(reach[company]) <= 60
        ]
        if led and split and owner not in reach[culprit]:
            return owner, split[0]
    raise LookupError("no owner fits the story")


def _noise(made: World, draw: random.Random, near: int) -> dict[str, Any]:
    """A normal day: a few deliveries end, a few begin around the company in the news, now and then shares are sold."""
    gone = [made.supplies.pop(draw.randrange(len(made.supplies))) for _ in range(draw.randrange(1, 4))]
    number = draw.randrange(near + 5, near + 120)
    come = [(made.names[draw.randrange(number - 60, number)], made.names[number]) for _ in range(draw.randrange(1, 4))]
    made.supplies += come
    update: dict[str, Any] = {
        "delete": [["supplies", *pair] for pair in gone],
        "insert": [["supplies", *pair] for pair in come],
    }
    if draw.random() < 0.3:
        old = made.owns.pop(draw.randrange(len(made.owns)))
        update["delete"].append(["owns", *old])
    return update


def _write(file: Path, heading: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(heading)
        writer.writerows(rows)
