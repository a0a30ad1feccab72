"""`python -m benchmarks.maintenance NAME ...`: run reports by name, or all of them."""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.maintenance import page
from benchmarks.maintenance.measure import compile_kernels

REPORTS = ("deletions", "streams", "batches", "rules")
"""The B/F paper, the Marking paper, DYRE, ZodiacEdge."""


def main(names: list[str]) -> int:
    """Run the reports; 1 if there is no such report."""
    unknown = [name for name in names if name not in REPORTS]
    if unknown:
        print(f"no such report: {', '.join(unknown)}; there are: {', '.join(REPORTS)}", file=sys.stderr)
        return 1
    compile_kernels()
    for name in names or REPORTS:
        print(f"== {name}")
        import_module(f"benchmarks.maintenance.{name}").run()
        page.write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
