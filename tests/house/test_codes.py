"""A code means one thing: its first digit says which error carries it, and one error only.

The ranges are those of `tidelog/errors.py`. A sentence may vary with the place; the kind of error may not, because
programs match codes and the command line turns kinds into exit codes.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.house.sources import ROOT, Module, modules

RANGES = {
    "ProgramError": "12",
    "UpdateError": "3",
    "BudgetError": "4",
    "EvaluationError": "5",
    "StateError": "6",
    "PipelineError": "7",
    "UsageError": "8",
    "LawError": "9",
    "TidelogWarning": "123",
}


def raised(module: Module) -> Iterator[tuple[str, str]]:
    """The kind and the code of every error that a module makes from a literal code."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=kind), attr="of"), args=[ast.Constant(value=str(code)), *_]
            ):
                yield kind, code
            case ast.Call(
                func=ast.Name(id=kind),
                args=[ast.Call(func=ast.Name(id="Problem"), args=[ast.Constant(value=str(code)), *_])],
            ):
                yield kind, code


def misfits(module: Module) -> list[str]:
    """Errors whose code belongs to another kind."""
    return [f"{kind} {code}" for kind, code in raised(module) if kind in RANGES and code[1] not in RANGES[kind]]


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_a_code_fits_its_error(module):
    """E3xx is an UpdateError wherever it is raised, and so on."""
    assert misfits(module) == []


def test_a_planted_misfit_is_found():
    """The check reads both ways of making an error."""
    planted = Module.of('raise UsageError.of("E307", "x")\nraise UpdateError(Problem("E801", "x"))')
    assert misfits(planted) == ["UsageError E307", "UpdateError E801"]
    assert misfits(Module.of('raise UpdateError.of("E307", "x")')) == []


def used(text: str) -> set[str]:
    """The codes that a module's strings begin with; docstrings only mention codes, so they do not count."""
    tree = ast.parse(text)
    mentioned = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return {
        match[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in mentioned
        if (match := re.match(r"[EW][1-9]\d\d\b", node.value))
    }


def test_every_code_is_on_the_page_of_errors():
    """Each once, with a meaning and a remedy, under the heading of its kind; none that no module raises."""
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([EW]\d{3}) \| (\S.*?) \| (\S.*?) \|$", page, re.MULTILINE)
    listed = [code for code, _, _ in rows]
    assert listed == sorted(set(listed))
    source = set().union(*(used(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py")))
    assert set(listed) == source
    kind = ""
    for line in page.splitlines():
        kind = match[1] if (match := re.search(r"^## .*\(`(\w+)`\)$", line)) else kind
        if re.match(r"\| [EW]\d", line):
            assert line[3] in RANGES[kind], line


def test_codes_are_found_in_strings_but_not_in_docstrings():
    """The comparison above sees what a module raises, not what it talks about."""
    assert used('"""Codes: E601 no."""\nx = {"E602": 1}\nraise E.of("E603", f"E604")\nprint(f"E605  {x}")') == {
        "E602",
        "E603",
        "E604",
        "E605",
    }
