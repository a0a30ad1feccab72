"""Tidelog keeps Datalog materialisations true while facts and rules come and go.

The front door: `Engine` and what it takes and gives. Importing it needs neither Spark nor Numba.
"""

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
    "read_updates",
]
