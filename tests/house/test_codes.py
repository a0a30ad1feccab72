"""A code means one thing: its first digit says which error carries it, and one error only.

The ranges are those of `tidelog/errors.py`. A sentence may vary with the place; the kind of error may not, because
programs match codes and the command line turns kinds into exit codes.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.house.sources import Module, modules

RANGES = {
    "ProgramError": "12",
    "UpdateError": "3",
    "BudgetError": "4",
    "EvaluationError": "5",
    "StateError": "6",
    "PipelineError": "7",
    "UsageError": "8",
    "LawError": "9",
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
