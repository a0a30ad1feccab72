"""Circuits: a small DBSP library.

Z-sets, streams of changes, and operators that are incremental by construction; usable without an engine:

    circuit = Circuit()
    edge = circuit.input("edge", 2)
    path = circuit.fixpoint(2, lambda path: edge + edge.join(path, on=[(1, 0)]).select(0, 3))
    circuit.output("path", path)
    circuit.push(edge=[("a", "b"), ("b", "c")])["path"].to_arrow()
    circuit.push(edge=circuit.change("edge", delete=[("a", "b")]))
"""

from tidelog.circuits.circuit import Circuit, Wire
from tidelog.circuits.zset import ZSet

__all__ = ["Circuit", "Wire", "ZSet"]
