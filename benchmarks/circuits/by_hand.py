"""Circuits made by hand with `tidelog.circuits`, as pydbsp's notebooks make theirs: reachability and RDFS.

What      : `python -m benchmarks.circuits.by_hand WORKLOAD FILE...` prints one JSON object: CPU seconds of a push of
            everything, and the size of the result. Workloads and files are those of pydbsp_side.py.
Idea      : the same dataflow as theirs, operator by operator, so that two libraries of circuits are compared, and not
            a library with an engine for rules.
Invariant : as there, the input is a Z-set before the clock starts. Kernels are compiled by a first push that does not
            count.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.maintenance.measure import cpu
from tidelog.circuits import Circuit
from tidelog.circuits.circuit import Wire

SCO, SPO, TYPE, DOMAIN, RANGE = 0, 1, 4, 2, 3
"""The numbers of the RDFS vocabulary in pydbsp's files."""
_TRIES = 3


def rows(path: str, width: int) -> pa.Table:
    """The first columns of a file of numbers."""
    found = np.loadtxt(Path(path), np.int64, usecols=range(width), ndmin=2)
    return pa.table({f"c{at}": found[:, at] for at in range(width)})


def reach() -> Circuit:
    """Transitive closure: what is reached by one edge more."""
    circuit = Circuit()
    edge = circuit.input("edges", 2)
    circuit.output("found", circuit.fixpoint(2, lambda path: edge + path.join(edge, on=[(1, 0)]).select(0, 3)))
    return circuit


def rdfs() -> Circuit:
    """The six rules of RDFS over one table of triples."""
    circuit = Circuit()
    tbox, abox, kind_of = circuit.input("tbox", 3), circuit.input("abox", 3), circuit.input("kind", 1)
    domain, of_range = (tbox.where(1, one).join(kind_of, on=[]) for one in (DOMAIN, RANGE))

    def body(triple: Wire) -> Wire:
        below, part, kind = (triple.where(1, one) for one in (SCO, SPO, TYPE))
        other = triple.filter(_is_plain)
        return (
            tbox
            + abox
            + below.join(below, on=[(2, 0)]).select(0, 1, 5)
            + part.join(part, on=[(2, 0)]).select(0, 1, 5)
            + part.join(other, on=[(0, 1)]).select(3, 2, 5)
            + below.join(kind, on=[(0, 2)]).select(3, 4, 2)
            + domain.join(other, on=[(0, 1)]).select(4, 3, 2)
            + of_range.join(other, on=[(0, 1)]).select(6, 3, 2)
        )

    circuit.output("found", circuit.fixpoint(3, body))
    return circuit


def _is_plain(triples: pa.Table) -> pa.ChunkedArray:
    """Whether a triple's predicate is not of the vocabulary."""
    return pc.invert(pc.is_in(triples["c2"], value_set=pa.array([SCO, SPO, TYPE, DOMAIN, RANGE])))


WORKLOADS = {"reach": (reach, {"edges": 2}), "rdfs-by-hand": (rdfs, {"tbox": 3, "abox": 3})}
CONSTANTS = {"kind": [(TYPE,)]}
"""What a circuit is given besides files."""


def measured(workload: str, files: Sequence[str]) -> dict[str, float]:
    """One push of everything; the best of a few, the first of which compiles."""
    build, inputs = WORKLOADS[workload]
    given: dict[str, object] = {name: rows(path, width) for (name, width), path in zip(inputs.items(), files)}
    found = []
    for _ in range(_TRIES):
        circuit = build()
        given |= {name: constants for name, constants in CONSTANTS.items() if name in circuit.inputs}
        changes = {name: circuit.change(name, insert=some) for name, some in given.items()}
        seconds, out = cpu(partial(circuit.push, **changes))
        found.append((seconds, len(out["found"])))
    return {"seconds": min(seconds for seconds, _ in found[1:]), "facts": found[-1][1]}


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], sys.argv[2:])))
