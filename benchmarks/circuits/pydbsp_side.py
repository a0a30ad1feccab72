"""pydbsp on its notebooks' workloads: run by a Python of its own, 3.12 or newer, with pydbsp 1.0.0.

What      : `python pydbsp_side.py WORKLOAD FILE...` prints one JSON object: CPU seconds of saturation and the size of
            the result, of the workloads in the notebooks `benchmark.ipynb` and `rdfs.ipynb` of pydbsp. Left out are
            two of which a faster form is there: RDFS as Datalog without indexes, and the closure of rmat1k without
            indexes, which takes 58 times as long as with them according to the notebook.
Idea      : pydbsp needs a newer Python than Tidelog's oldest, so this file imports nothing of ours.
Never     : no comparison here (__main__.py).
"""

import json
import sys
import time
from pathlib import Path


def rows(path: str, width: int) -> dict[tuple[int, ...], int]:
    """The first columns of a file of numbers, as a Z-set."""
    with Path(path).open(encoding="ascii") as file:
        return {tuple(map(int, line.split()[:width])): 1 for line in file if line.strip()}


def closure(path: str) -> tuple[object, object]:
    """Transitive closure as a Datalog program, facts and rules pushed at once."""
    from pydbsp.algorithms import Variable

    x, y, z = map(Variable, "XYZ")
    rules = [(("T", (x, y)), ("E", (x, y))), (("T", (x, z)), ("E", (x, y)), ("T", (y, z)))]
    return _datalog({("E", edge): 1 for edge in rows(path, 2)}, rules)


def rdfs(ontology: str, university: str) -> tuple[object, object]:
    """The six rules of RDFS as a Datalog program."""
    from pydbsp.algorithms import Variable
    from pydbsp.algorithms.rdfs import DOMAIN, RANGE, SCO, SPO, TYPE

    a, b, x, y, z = map(Variable, "abxyz")
    rules = [
        (("T", (x, SCO, z)), ("T", (x, SCO, y)), ("T", (y, SCO, z))),
        (("T", (x, SPO, z)), ("T", (x, SPO, y)), ("T", (y, SPO, z))),
        (("A", (x, b, y)), ("T", (a, SPO, b)), ("A", (x, a, y))),
        (("A", (y, TYPE, x)), ("T", (a, DOMAIN, x)), ("A", (y, a, z))),
        (("A", (z, TYPE, x)), ("T", (a, RANGE, x)), ("A", (y, a, z))),
        (("A", (z, TYPE, y)), ("T", (x, SCO, y)), ("A", (z, TYPE, x))),
    ]
    facts = {("T", triple): 1 for triple in rows(ontology, 3)} | {("A", triple): 1 for triple in rows(university, 3)}
    return _datalog(facts, rules)


def reach(path: str) -> tuple[object, object]:
    """Transitive closure as a circuit that is made by hand for it."""
    from pydbsp.algorithms.reachability_indexed import IncrementalReachabilityWithIndexing, saturate_reach
    from pydbsp.zset import ZSet

    circuit = IncrementalReachabilityWithIndexing()
    circuit.edges.push((0,), ZSet(rows(path, 2)))
    return circuit, saturate_reach


def reach_plain(path: str) -> tuple[object, object]:
    """The same without indexes."""
    from pydbsp.algorithms import IncrementalReachability, saturate_reach
    from pydbsp.zset import ZSet

    circuit = IncrementalReachability()
    circuit.edges.push((0,), ZSet(rows(path, 2)))
    return circuit, saturate_reach


def rdfs_by_hand(ontology: str, university: str) -> tuple[object, object]:
    """RDFS as a circuit that is made by hand for it."""
    from pydbsp.algorithms.rdfs import IncrementalRDFSMaterialization, saturate_rdfs
    from pydbsp.zset import ZSet

    circuit = IncrementalRDFSMaterialization()
    circuit.tbox.push((0,), ZSet(rows(ontology, 3)))
    circuit.abox.push((0,), ZSet(rows(university, 3)))
    return circuit, saturate_rdfs


def _datalog(facts: dict, rules: list) -> tuple[object, object]:
    from pydbsp.algorithms.datalog import saturate
    from pydbsp.algorithms.datalog_indexed import IncrementalDatalogWithIndexing
    from pydbsp.zset import ZSet

    circuit = IncrementalDatalogWithIndexing()
    circuit.edb.push((0,), ZSet(facts))
    circuit.program.push((0,), ZSet(dict.fromkeys(rules, 1)))
    return circuit, saturate


WORKLOADS = {
    "closure": closure,
    "rdfs": rdfs,
    "reach": reach,
    "reach-plain": reach_plain,
    "rdfs-by-hand": rdfs_by_hand,
}


def measured(workload: str, files: list[str]) -> dict[str, float]:
    """Saturate one workload."""
    from pydbsp.history import History

    circuit, saturate = WORKLOADS[workload](*files)
    started = time.process_time()
    saturate(circuit)
    seconds = time.process_time() - started
    history = History(circuit.observable)
    history.try_step()
    return {"seconds": seconds, "facts": len(history.at((0,)).inner)}


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], sys.argv[2:])))
