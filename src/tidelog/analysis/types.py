"""Which type has each column, and does everything agree?

What      : the types of all columns as far as declarations, constants, arithmetic, aggregates and comparisons
            determine them, and every contradiction (E203, with the places that determined both sides).
Idea      : a variable has the type of each column it occurs in; functions and comparisons add requirements. `number`
            and `float` are different types, functions on numbers take either. See unification.py.
Invariant : in a program without problems every column is open or has at most one type.
Never     : no facts from outside the program; they are checked when they arrive.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.analysis.arities import arities
from tidelog.analysis.type_inference import TypeInference
from tidelog.analysis.unification import NUMERIC, Clash
from tidelog.errors import Problem
from tidelog.language.terms import Program

_SHOWN = {
    NUMERIC: "a number or float",
    "number": "a number",
    "float": "a float",
    "symbol": "a symbol",
    "bool": "a bool",
}


def relation_types(program: Program) -> dict[str, tuple[str | None, ...]]:
    """The type of every column of every relation; None where nothing determines it, `any` where it is open."""
    inference = TypeInference(program)
    return {
        relation: tuple(inference.column_type((relation, index)) for index in range(arity))
        for relation, arity in arities(program).items()
    }


def problems(program: Program, walked: TypeInference | None = None) -> Iterator[Problem]:
    """Contradictions between types (E203), unknown types (E109) and negative constants in unsigned columns (E203).

    `walked` is the walk over the program, if the caller has made it already.
    """
    inference = walked or TypeInference(program)
    yield from inference.declaration_problems
    seen = set()
    for clash in inference.unification.clashes:
        key = clash.subject, clash.place, clash.context
        if key not in seen:
            seen.add(key)
            yield _problem(clash)


def _problem(clash: Clash) -> Problem:
    sentence = f"{clash.subject} is {_SHOWN[clash.found.type]} but {clash.context} needs {_SHOWN[clash.needed.type]}"
    related = tuple(
        dict.fromkeys(
            (evidence.place, f"{evidence.why} is {_SHOWN[evidence.type]}")
            for evidence in (clash.found, clash.needed)
            if evidence.place is not None and evidence.place != clash.place
        )
    )
    return Problem("E203", sentence, clash.place, "use one type, or declare the column with type any", related)
