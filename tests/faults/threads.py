"""Writers and readers of one engine: `python -m tests.faults.threads --threads 8 --seconds 20`.

What      : some threads apply updates, the others read in every way there is, all without a lock of their own.
Idea      : every update inserts or deletes a whole batch of facts, so a reader that sees a part of a batch has seen
            something between two versions. Some facts are always there and some never; a wrong answer about one of
            them is a look-up that a writer disturbed. A native crash ends the process, which is why this is one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections import Counter
from typing import Any

from tidelog import Engine
from tidelog.errors import TidelogError
from tidelog.maintenance.registry import STRATEGIES

BATCH, BATCHES = 60, 12
RULES = """
    copy(b, i) :- item(b, i).
    chain(b, i, j) :- item(b, i), next(i, j), item(b, j).
    chain(b, i, k) :- chain(b, i, j), next(j, k), item(b, k).
    many(b, n) :- batch(b), n = count : { item(b, _) }.
    empty(b) :- batch(b), !item(b, _).
"""


class Trial:
    """One engine and those who use it."""

    def __init__(self, strategy: str, seed: int, **options: Any) -> None:
        self.engine = Engine(RULES, strategy=strategy, **options)
        self.seed, self.seen, self.wrong = seed, Counter[str](), []
        self.stop = threading.Event()
        stable = [("stable", i) for i in range(BATCH)]
        self.engine.apply(
            insert={
                "item": stable,
                "batch": [("stable",), *((b,) for b in range(BATCHES))],
                "next": [(i, i + 1) for i in range(8)],
            }
        )

    def write(self, number: int) -> None:
        """Batches come and go, as a whole."""
        rng = random.Random(self.seed * 100 + number)
        while not self.stop.is_set():
            batch = rng.randrange(BATCHES)
            facts = [(batch, i) for i in range(BATCH)]
            key = rng.choice(("insert", "delete"))
            self.engine.apply(**{key: {"item": facts, "noise": [(rng.random(), str(rng.random()))]}})
            if rng.random() < 0.02:
                self.engine.strategy = self.engine.strategy
            self.seen["updates"] += 1

    def read(self, number: int) -> None:
        """Ask in every way, and note what cannot be."""
        rng = random.Random(self.seed * 100 + 50 + number)
        engine = self.engine
        while not self.stop.is_set():
            kind = rng.randrange(7)
            if kind == 0:
                for name in ("item", "copy"):
                    sizes = Counter(b for b, _ in engine[name])
                    self.expect(all(size == BATCH for size in sizes.values()), f"part of a batch in {name}")
            elif kind == 1:
                batch, i = rng.randrange(BATCHES), rng.randrange(BATCH)
                self.expect(("stable", i) in engine["copy"], "a fact that is always there was missing")
                self.expect((batch, BATCH + i) not in engine["copy"], "a fact that is never there was found")
            elif kind == 2:
                found = len(list(engine.query(f"copy({rng.randrange(BATCHES)}, x)")))
                self.expect(found in (0, BATCH), f"a query saw {found} of {BATCH}")
            elif kind == 3:
                self.expect(engine.explain("chain", ("stable", 0, rng.randrange(1, 8))) is not None, "no proof")
            elif kind == 6:
                found = len(engine.query("copy(b, i), i < 7, batch(b)"))
                self.expect(found % 7 == 0, f"a question saw {found} facts of batches of 7")
            elif kind == 4:
                counts = {n for _, n in engine["many"]}
                self.expect(counts <= {0, BATCH}, f"counts {counts}")
            else:
                table = engine["chain"].to_arrow()
                self.expect(table.num_rows % 36 == 0, f"{table.num_rows} facts of chain")
            self.seen["answers"] += 1

    def expect(self, holds: bool, what: str) -> None:
        if not holds:
            self.wrong.append(what)

    def guard(self, work: Any, number: int) -> None:
        try:
            work(number)
        except (TidelogError, Exception) as error:
            self.wrong.append(repr(error)[:300])
            self.stop.set()

    def run(self, threads: int, seconds: float) -> dict[str, Any]:
        writers = max(1, threads // 3)
        works = [self.write] * writers + [self.read] * (threads - writers)
        running = [threading.Thread(target=self.guard, args=(work, n)) for n, work in enumerate(works)]
        for thread in running:
            thread.start()
        self.stop.wait(seconds)
        self.stop.set()
        for thread in running:
            thread.join(60)
        self.engine.verify()
        return {**self.seen, "wrong": self.wrong[:5], "hanging": sum(thread.is_alive() for thread in running)}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, nargs="*", default=[2, 8])
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES))
    given = parser.parse_args()
    failed = 0
    for strategy in given.strategies:
        for threads in given.threads:
            found = Trial(strategy, given.seed).run(threads, given.seconds / len(given.strategies) / len(given.threads))
            failed += bool(found["wrong"] or found["hanging"])
            print(json.dumps({"strategy": strategy, "threads": threads, **found}), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    started = time.time()
    sys.setswitchinterval(1e-5)
    sys.exit(main())
