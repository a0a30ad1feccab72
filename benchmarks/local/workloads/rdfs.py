"""LUBM(1) under RDFS: six rules over one relation of triples.

What      : the program and data of the maintenance workload `lubm`, as arrays.
Source    : DYRE, equation (5); the result has 126,732 triples.
"""

from __future__ import annotations

import numpy as np

from benchmarks.local.workloads.workload import Workload
from benchmarks.maintenance.workloads.lubm import RDFS, ontology, university

ASP = """
t(Y, 4, X) :- t(A, 2, X), t(Y, A, Z).
t(Z, 4, X) :- t(A, 3, X), t(Y, A, Z).
t(X, 1, Z) :- t(X, 1, Y), t(Y, 1, Z).
t(X, 0, Z) :- t(X, 0, Y), t(Y, 0, Z).
t(Z, 4, Y) :- t(X, 0, Y), t(Z, 4, X).
t(X, B, Y) :- t(A, 1, B), t(X, A, Y).
"""


def lubm1() -> Workload:
    """One university."""
    triples = np.array(ontology() + university(), np.int64)
    return Workload("lubm1", RDFS, {"t": triples}, "t", ASP, expected=126_732)


WORKLOADS = {"lubm1": lubm1}
