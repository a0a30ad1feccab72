"""Rooms stay small: nobody understands a thousand lines at once. The caps are hard; a report shows what nears them."""

import ast
from statistics import quantiles

from tests.house.sources import Module, modules

MODULE_CAP, FUNCTION_CAP = 400, 70


def module_sizes(several: tuple[Module, ...]) -> dict[str, int]:
    """Lines of every module."""
    return {module.name: module.text.count("\n") for module in several}


def function_sizes(several: tuple[Module, ...]) -> dict[str, int]:
    """Lines of every function, however deeply nested, from `def` to its end."""
    return {
        f"{module.name}.{node.name}:{node.lineno}": (node.end_lineno or node.lineno) - node.lineno + 1
        for module in several
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def report(title: str, sizes: dict[str, int]) -> str:
    """Median, ninetieth percentile and the five largest."""
    cuts = quantiles(sizes.values(), n=10) if len(sizes) > 1 else [0] * 9
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
    lines = [f"{title}: median {cuts[4]:.0f}, 90th percentile {cuts[8]:.0f} lines"]
    return "\n".join(lines + [f"  {size:4d}  {name}" for name, size in largest])


def test_modules_and_functions_stay_under_their_caps():
    """Run with `-s` to see the report."""
    rooms, functions = module_sizes(modules()), function_sizes(modules())
    print(f"\n{report('modules', rooms)}\n{report('functions', functions)}")
    assert {name: size for name, size in rooms.items() if size > MODULE_CAP} == {}
    assert {name: size for name, size in functions.items() if size > FUNCTION_CAP} == {}


def test_sizes_count_what_they_claim():
    """A module of four lines with a function of two, nested or not."""
    planted = (Module.of("x = 1\nclass A:\n    def f(self):\n        return 1\n"),)
    assert module_sizes(planted) == {"tidelog.planted": 4}
    assert function_sizes(planted) == {"tidelog.planted.f:3": 2}
