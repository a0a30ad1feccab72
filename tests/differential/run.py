"""The long tier: `python -m tests.differential.run --cases 10000 --engines reference --record FILE`

What      : runs engines over many cases, shows progress, and leaves a JSON record: cases, versions compared per engine,
            disagreements with their seeds, liveness, seconds, seed range.
Idea      : seeds are cut into chunks; a chunk is one task for one of `--jobs` processes.
Invariant : a disagreement does not stop the run; the exit code is 1 if there was one, or if the world was not alive.
Never     : nothing is drawn here; a case is its seed (updates.py).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.differential.engines import Factory, engine_named, reference_engines
from tests.differential.harness import Disagreement, agree
from tests.differential.liveness import Liveness, measure_case
from tests.differential.updates import draw_case

CHUNK = 50


@dataclass
class Result:
    """What a set of seeds showed."""

    cases: int = 0
    versions: Counter[str] = field(default_factory=Counter)
    disagreements: list[dict[str, object]] = field(default_factory=list)
    liveness: Liveness = field(default_factory=Liveness)

    def add(self, other: Result) -> None:
        """Add what other seeds showed."""
        self.cases += other.cases
        self.versions.update(other.versions)
        self.disagreements += other.disagreements
        self.liveness.add(other.liveness)

    @property
    def is_good(self) -> bool:
        """No disagreement, and over cases that are alive."""
        return not self.disagreements and self.liveness.is_alive


def engines_named(words: Iterable[str]) -> dict[str, Factory]:
    """Engines by name; `reference` stands for every reference algorithm."""
    found: dict[str, Factory] = {}
    for word in words:
        found.update(reference_engines() if word == "reference" else {word: engine_named(word)})
    return found


def run_chunk(first: int, last: int, words: tuple[str, ...]) -> Result:
    """Compare all engines on the seeds from first to before last; one by one, so that one fault hides no other."""
    engines, result = engines_named(words), Result()
    for seed in range(first, last):
        case = draw_case(seed)
        result.cases += 1
        result.liveness.add(measure_case(case))
        try:
            result.versions.update(agree(case, engines))
        except Disagreement:
            for name, factory in engines.items():
                try:
                    result.versions.update(agree(case, {name: factory}))
                except Disagreement as found:
                    result.disagreements.append({"seed": seed, "engine": name, "message": str(found)})
    return result


def run(first: int, cases: int, words: tuple[str, ...], jobs: int) -> Iterator[Result]:
    """The results of all chunks, in order."""
    bounds = [(start, min(start + CHUNK, first + cases)) for start in range(first, first + cases, CHUNK)]
    tasks = ([start for start, _ in bounds], [end for _, end in bounds], [words] * len(bounds))
    if jobs == 1:
        yield from map(run_chunk, *tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(run_chunk, *tasks)


def record(total: Result, first: int, words: tuple[str, ...], seconds: float) -> dict[str, object]:
    """The run as JSON says it."""
    return {
        "engines": list(words),
        "seeds": [first, first + total.cases - 1],
        "cases": total.cases,
        "versions_compared": dict(sorted(total.versions.items())),
        "disagreements": total.disagreements,
        "liveness": {
            "cases": total.liveness.cases,
            "deletions": total.liveness.deletions,
            **{words: round(share, 4) for words, share in total.liveness.shares.items()},
        },
        "seconds": round(seconds, 1),
    }


def main() -> int:
    """Run, show progress, write the record."""
    arguments = argparse.ArgumentParser(prog="python -m tests.differential.run", description=__doc__.split("\n")[0])
    arguments.add_argument("--cases", type=int, default=10_000)
    arguments.add_argument("--first", type=int, default=0, help="the first seed")
    arguments.add_argument(
        "--engines", nargs="+", default=["reference"], help="reference, or strategies of tidelog.Engine"
    )
    arguments.add_argument("--jobs", type=int, default=1, help="how many processes")
    arguments.add_argument("--record", type=Path, help="where to leave the JSON record")
    options = arguments.parse_args()
    words, total, began = tuple(options.engines), Result(), time.monotonic()
    for result in run(options.first, options.cases, words, options.jobs):
        total.add(result)
        seconds = time.monotonic() - began
        print(
            f"{total.cases}/{options.cases} cases, {len(total.disagreements)} disagreements, {seconds:.0f} s",
            flush=True,
        )
        for found in result.disagreements:
            print(found["message"], file=sys.stderr)
    print(total.liveness)
    if options.record:
        options.record.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record(total, options.first, words, time.monotonic() - began), indent=2)
        options.record.write_text(f"{text}\n", encoding="utf-8")
    return 0 if total.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
