"""Tidelog keeps Datalog materialisations true while facts and rules come and go.

The front door: `Engine` and what it takes and gives. A name is imported when it is first used, so that `import tidelog`
costs next to nothing and needs neither Spark, Numba nor Arrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.changes.change import Change, Stats
    from tidelog.changes.relation import Relation
    from tidelog.changes.update import Update, net, read_updates
    from tidelog.engine import Engine
    from tidelog.errors import (
        BudgetError,
        EvaluationError,
        LawError,
        PipelineError,
        Problem,
        ProgramError,
        StateError,
        TidelogError,
        TidelogWarning,
        UpdateError,
        UsageError,
    )
    from tidelog.language.parser import parse
    from tidelog.language.terms import Program
    from tidelog.limits import Limits
    from tidelog.maintenance.profiled_store import profiling

_HOMES = {
    "tidelog.changes.change": ("Change", "Stats"),
    "tidelog.changes.relation": ("Relation",),
    "tidelog.changes.update": ("Update", "net", "read_updates"),
    "tidelog.engine": ("Engine",),
    "tidelog.errors": (
        *("BudgetError", "EvaluationError", "LawError", "PipelineError", "Problem", "ProgramError", "StateError"),
        *("TidelogError", "TidelogWarning", "UpdateError", "UsageError"),
    ),
    "tidelog.language.parser": ("parse",),
    "tidelog.language.terms": ("Program",),
    "tidelog.limits": ("Limits",),
    "tidelog.maintenance.profiled_store": ("profiling",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BudgetError",
    "Change",
    "Engine",
    "EvaluationError",
    "LawError",
    "Limits",
    "PipelineError",
    "Problem",
    "Program",
    "ProgramError",
    "Relation",
    "StateError",
    "Stats",
    "TidelogError",
    "TidelogWarning",
    "Update",
    "UpdateError",
    "UsageError",
    "net",
    "parse",
    "profiling",
    "read_updates",
]


def __getattr__(name: str) -> object:
    """A public name, imported now and kept."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOME_OF[name]), name)
    if name in ("Engine", "Program", "parse"):
        import_module("tidelog.language.terms").Program.drawn = _drawn
    globals()[name] = found
    return found


def _drawn(program: "Program") -> str:
    """How a notebook draws a program; what draws is imported when something is drawn."""
    from tidelog.cli.drawing.inline import rule_graph

    return rule_graph(program)


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted({*globals(), *__all__})
