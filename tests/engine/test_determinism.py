"""The same program and updates give the same changes, in the same order, in every process and with every strategy.

Python salts the hashes of strings per process: whatever iterates over a set of names gives another order there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import tidelog as tl
from tests.differential.engines import STRATEGIES
from tests.differential.harness import keys
from tests.differential.updates import draw_case

SEEDS = range(4_000_000, 4_000_006)


def transcript() -> list[object]:
    """Everything that engines say on some random cases: facts in order, counters, rounds."""
    found: list[object] = []
    for seed in SEEDS:
        case = draw_case(seed)
        for strategy in STRATEGIES:
            engine = tl.Engine(case.program, strategy=strategy)
            for update in case.updates:
                if update.refused:
                    continue
                change = engine.apply(**update.arguments)  # type: ignore[arg-type]
                for tables in (change.inserted, change.deleted):
                    found.extend([name, [list(fact) for fact in tables[name]]] for name in tables)
                found.append(sorted([*rule, count] for rule, count in change.stats.derivations.items()))
                found.append(change.stats.rounds)
            found.append([[name, [list(fact) for fact in engine[name]]] for name in engine.relations])
    return found


def test_processes_agree_to_the_letter() -> None:
    """Two processes with other salts write the same transcript."""
    code = "import json, tests.engine.test_determinism as t; print(json.dumps(t.transcript()))"
    written = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt in ("1", "4242")
    ]
    one, other = map(json.loads, written)
    assert one == other
    assert len(one) > len(SEEDS) * len(STRATEGIES)


def test_strategies_agree_on_changes() -> None:
    """As sets of facts; how they were found differs, and is in the stats."""
    for seed in SEEDS:
        case = draw_case(seed)
        engines = [tl.Engine(case.program, strategy=strategy) for strategy in STRATEGIES]
        for update in case.updates:
            if not update.refused:
                changes = [engine.apply(**update.arguments) for engine in engines]  # type: ignore[arg-type]
                said = [(keys(change.inserted), keys(change.deleted)) for change in changes]
                assert all(one == said[0] for one in said), seed
