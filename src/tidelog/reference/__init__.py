"""The papers, literally: short pure Python over sets of facts, one module per algorithm.

What      : the executable specification; `ALGORITHMS` names every algorithm that maintains a materialisation, so that a
            harness can run any of them over the same updates.
Idea      : no cleverness. Structure, letters and line numbers are the papers'; the fast code is tested against it.
Invariant : all algorithms agree with `recompute` after every update.
Never     : the fast code imports nothing from here; tests, benchmarks and tables.py do.
"""

from tidelog.reference.algorithm import Algorithm
from tidelog.reference.backward_forward import BackwardForward
from tidelog.reference.backward_forward_marking import BackwardForwardMarking, BackwardForwardSharedMarks
from tidelog.reference.counting import Counting
from tidelog.reference.dred import DRed, DRedRepeating
from tidelog.reference.dred_marking import DRedMarking
from tidelog.reference.dyre_strata import Dyre, DyreIndexed, DyreNaive
from tidelog.reference.fully_dynamic_programs import FullyDynamicCounting, FullyDynamicDRed
from tidelog.reference.recompute import Recompute
from tidelog.reference.recursive_counting import RecursiveCounting
from tidelog.reference.zodiacedge import ZodiacEdge

__all__ = ["ALGORITHMS", "Algorithm"]

ALGORITHMS: dict[str, type[Algorithm]] = {
    "recompute": Recompute,
    "dred": DRed,
    "dred-repeating": DRedRepeating,
    "dred-mark": DRedMarking,
    "bf": BackwardForward,
    "bf-mark": BackwardForwardMarking,
    "bf-mark-shared": BackwardForwardSharedMarks,
    "counting": Counting,
    "recursive-counting": RecursiveCounting,
    "dyre-naive": DyreNaive,
    "dyre": Dyre,
    "dyre-indexed": DyreIndexed,
    "dynamic-dred": FullyDynamicDRed,
    "dynamic-counting": FullyDynamicCounting,
    "zodiacedge": ZodiacEdge,
}
