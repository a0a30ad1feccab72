"""The program files of a pipeline.

What      : `read_programs` reads several files as one checked program.
Idea      : what the files said last is part of the stored state (state/programs.py); so a change of the files and the
            version that follows from it are committed together.
Never     : nothing is compared or applied here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidelog.analysis.program_check import check
from tidelog.language.read import read_program
from tidelog.language.terms import Program


def read_programs(files: Sequence[Path]) -> Program:
    """Several files as one checked program."""
    parts = [read_program(file) for file in files]
    program = Program(
        *(
            tuple(one for part in parts for one in getattr(part, name))
            for name in ("rules", "facts", "declarations", "inputs", "outputs")
        )
    )
    check(program)
    return program
