"""The papers, literally: short pure Python over sets of facts, one module per algorithm.

What      : the executable specification; `ALGORITHMS` names every algorithm that maintains a materialisation, so that a
            harness can run any of them over the same updates.
Idea      : no cleverness. Structure, letters and line numbers are the papers'; the fast code is tested against it.
Source    : five papers (docs/papers.md has their titles, the fast modules, and the commands that print their tables).
            Motik, Nenov, Piro, Horrocks 2015 (B/F): seminaive.py, dred.py, backward_forward.py. Illich, Glimm 2025
            (Marking): backward_forward_marking.py, backward_forward_depth_first.py, dred_marking.py; `python -m
            tidelog.reference.tables` prints Tables 1-3. Illich, Glimm 2023 (Fully dynamic): fully_dynamic.py and its
            neighbours, counting.py, recursive_counting.py; `python -m tidelog.reference.interleavings` prints Examples
            1-4. de Lima, Kramer, Apinis, Micinski 2024 (DYRE): zset.py, streams.py, operators.py, dyre.py and its
            neighbours. Xu, Cure 2023 (ZodiacEdge): zodiacedge.py, over the graphs of `tidelog.analysis.hypergraph`.
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
