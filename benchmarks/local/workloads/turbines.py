"""RS2 and RS3 of ZodiacEdge over DS2, with 200 turbines per chain.

What      : the rule sets in tests/programs/zodiacedge over the chains of the maintenance workload, names as numbers.
Source    : ZodiacEdge, section 6.1 and appendices B, C; RS2 has 424,300 facts.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.local.workloads.workload import Workload
from benchmarks.maintenance.workloads.turbines import SIZES, chains, rules


def rule_set(name: str) -> Workload:
    """A rule set over DS2."""
    facts = {
        relation: np.array([[int(str(end).removeprefix("turbine")) for end in fact] for fact in some], np.int64)
        for relation, some in chains().items()
    }
    text = "\n".join(rules(name).values())
    return Workload(name, text, facts, "p30", expected=SIZES[name]["p30"], souffle_types=dict.fromkeys(SIZES[name], 2))


WORKLOADS = {name: partial(rule_set, name) for name in ("rs2", "rs3")}
