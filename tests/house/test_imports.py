"""Imports point downwards, so that a room can be understood without the rooms above it.

The order is the one of ARCHITECTURE.md. Rooms on one floor may use each other as long as no circle arises.
"""

import ast
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.house.sources import Module, modules

FLOORS = (
    {"beginning", "errors", "limits", "observe", "turns", "visible"},
    {"language"},
    {"analysis"},
    {"planning", "changes"},
    {"maintenance"},
    {"backends", "provenance", "state", "asking", "circuits"},
    {"engine", "arrivals", "attempt", "foresight", "restoring"},
    {"rdf"},
    {"cli", "pipeline", "console"},
)
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
REFERENCE_MAY_USE = {"reference", "language", "analysis", "errors"}
REFERENCE_IS_USED_FROM = FLOOR_OF["engine"]
FRONT_DOORS = {"tidelog", "tidelog.__main__"}
HEAVY = {"pyspark": ("tidelog.backends.spark", "tidelog.pipeline"), "numba": ("tidelog.backends.local",)}


def imported(module: Module) -> set[str]:
    """Dotted names that a module imports, wherever the statement stands."""
    names = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = module.name.split(".")
            if node.level:
                base = base[: len(base) - node.level + module.is_package]
                origin = ".".join([*base, *([node.module] if node.module else [])])
            else:
                origin = node.module or ""
            names |= {f"{origin}.{alias.name}" for alias in node.names}
    return names


def room(name: str) -> str:
    """The part of the package that a module belongs to; the front door is the package itself."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "tidelog"


def upward_imports(module: Module) -> list[str]:
    """Imports of our own package that break the order."""
    here = room(module.name)
    found = []
    for name in sorted(imported(module)):
        there = room(name)
        if name.split(".")[0] != "tidelog" or there == here or module.name in FRONT_DOORS:
            continue
        if here == "reference":
            allowed = there in REFERENCE_MAY_USE
        elif there == "reference":
            allowed = FLOOR_OF.get(here, -1) >= REFERENCE_IS_USED_FROM
        else:
            allowed = there in FLOOR_OF and here in FLOOR_OF and FLOOR_OF[there] <= FLOOR_OF[here]
        if not allowed:
            found.append(f"{module.name} imports {name}")
    return found


def misplaced_heavy_imports(module: Module) -> list[str]:
    """Imports of Spark and Numba outside the rooms that may know them."""
    return [
        f"{module.name} imports {name}"
        for name in sorted(imported(module))
        for heavy, homes in HEAVY.items()
        if name.split(".")[0] == heavy and not any(f"{module.name}.".startswith(f"{home}.") for home in homes)
    ]


def test_every_room_has_a_floor():
    """A new room gets its place in the order here before anything depends on it."""
    unknown = {room(module.name) for module in modules()} - set(FLOOR_OF) - {"tidelog", "reference", "__main__"}
    assert not unknown, f"give these rooms a floor in FLOORS and in ARCHITECTURE.md: {sorted(unknown)}"


def test_imports_point_downwards():
    """No module imports a room above its own."""
    assert [line for module in modules() for line in upward_imports(module)] == []


def test_rooms_form_no_circle():
    """Rooms of one floor may use each other only one way."""
    uses = {}
    for module in modules():
        if module.name not in FRONT_DOORS:
            targets = {room(name) for name in imported(module) if name.startswith("tidelog.")}
            uses.setdefault(room(module.name), set()).update(targets - {room(module.name)})
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        pytest.fail(f"these rooms import each other in a circle: {error.args[1]}")


def test_spark_and_numba_stay_in_their_rooms():
    """Only two rooms know Spark and only one knows Numba, so each can be absent or replaced."""
    assert [line for module in modules() for line in misplaced_heavy_imports(module)] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tidelog.language.parser", "from tidelog.analysis import safety"),
        ("tidelog.language.parser", "from ..analysis.safety import check"),
        ("tidelog.language.parser", "def late():\n    import tidelog.engine"),
        ("tidelog.reference.dred", "from tidelog.planning.plan import Plan"),
        ("tidelog.planning.plan", "from tidelog import Engine"),
        ("tidelog.maintenance.dred", "from tidelog.reference.dred import DRed"),
    ],
)
def test_an_upward_import_is_found(name, text):
    """The check sees absolute, relative and late imports, and imports of the front door."""
    assert upward_imports(Module.of(text, name))


@pytest.mark.parametrize("text", ["import pyspark.sql", "from numba import njit", "def f():\n    import numba"])
def test_a_misplaced_heavy_import_is_found(text):
    """A neighbour whose name only begins like an allowed room is not allowed."""
    assert misplaced_heavy_imports(Module.of(text, "tidelog.backends.sparkle"))
