"""What is materialised, one module per workload; `WORKLOADS` has all of them by name.

What      : every workload is a function that gives a `Workload`; sizes grow within a family.
Never     : no data is made before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.local.workloads import closure, points_to, rdfs, same_generation, turbines
from benchmarks.local.workloads.workload import Workload

WORKLOADS: dict[str, Callable[[], Workload]] = {
    **closure.WORKLOADS,
    **rdfs.WORKLOADS,
    **turbines.WORKLOADS,
    **same_generation.WORKLOADS,
    **points_to.WORKLOADS,
}
