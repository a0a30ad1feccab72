"""One workload under one strategy, in a process of its own.

What      : `python -m benchmarks.circuits.measured WORKLOAD STRATEGY` prints one JSON object: CPU ms of materialising
            shares of the facts (Figure 4), of batches that come and go (Figure 5), bytes kept and the process's peak
            memory (Figure 6).
Idea      : peak memory belongs to a process, so every pair gets one.
Invariant : kernels are compiled before anything is measured, and what is short is measured several times.
"""

from __future__ import annotations

import json
import resource
import sys
from functools import partial
from typing import Any

from benchmarks.circuits import owl
from benchmarks.circuits.workloads import WORKLOADS, Workload
from benchmarks.maintenance.measure import loaded, milliseconds, tables, there_and_back
from tidelog.planning.lowered import is_of_rewrites

SHARES = (25, 50, 75, 100)
BATCHES = {"1 fact": 0.0, "1 %": 0.01, "50 %": 0.5}
_TRIES = 3


def measure(workload: Workload, strategy: str) -> dict[str, Any]:
    """All figures of a pair."""
    found: dict[str, Any] = {"materialise ms": {}}
    for share in SHARES:
        some = workload.changing[: len(workload.changing) * share // 100]
        facts = tables({workload.relation: workload.fixed + some})
        tries = [loaded(workload.program, facts, strategy) for _ in range(_TRIES if share == 100 else 1)]
        found["materialise ms"][str(share)] = milliseconds([seconds for seconds, _ in tries])
    store = tries[-1][1]._backend.store
    rewrites = [relation for name, relation in store.relations.items() if is_of_rewrites(name)]
    found |= {"bytes": store.nbytes, "rewrites": sum(relation.alive for relation in rewrites)}
    found |= {"facts": sum(relation.alive for relation in store.relations.values()) - found["rewrites"]}
    del tries, store
    found["batches"] = {label: _batch(workload, strategy, share) for label, share in BATCHES.items()}
    return found


def _batch(workload: Workload, strategy: str, share: float) -> dict[str, float]:
    size = max(1, round(share * len(workload.changing)))
    batch = {workload.relation: list(workload.changing[:size])}
    if size > 1:
        batch = tables(batch)
    initial, engine = loaded(
        workload.program, tables({workload.relation: workload.fixed + workload.changing[size:]}), strategy
    )
    engine.apply(insert=batch)
    trips = there_and_back(partial(engine.apply, delete=batch), partial(engine.apply, insert=batch), strategy)
    found = {"initial": milliseconds([initial]), "+": milliseconds(trips.back), "-": milliseconds(trips.there)}
    gone, come = engine.apply(delete=batch).stats, engine.apply(insert=batch).stats
    found |= {f"instances {sign}": sum(one.derivations.values()) for sign, one in (("+", come), ("-", gone))}
    return found | {"rounds +": come.rounds, "rounds -": gone.rounds}


def main(name: str, strategy: str) -> None:
    """Measure a pair, then what the process has taken."""
    found = measure(WORKLOADS[name](), strategy) if name in WORKLOADS else owl.measure(strategy, SHARES, BATCHES)
    found["peak MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
