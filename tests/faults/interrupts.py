"""Random interrupts inside random updates: `python -m tests.faults.interrupts --hits 300`.

What      : an engine follows random updates while exceptions are injected into its thread at random moments, the way
            Ctrl-C and signal handlers raise them: between any two bytecodes. Every second hit is followed by another
            one while the engine undoes the first.
Idea      : `sys.setprofile`-like tools would change what runs; `PyThreadState_SetAsyncExc` from another thread and
            `signal.setitimer` in the main thread hit the very code that users run. Moments are spread over the time
            that the same update takes undisturbed.
Expected  : after each hit the engine is the version before or after the update, `verify()` passes, the next update
            works, and the process lives.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tidelog import Engine
from tidelog.maintenance.registry import STRATEGIES

RULES = """
    path(x, y) :- edge(x, y).
    path(x, z) :- edge(x, y), path(y, z).
    end(x) :- edge(_, x), !edge(x, _).
    reach(x, n) :- node(x), n = count : { path(x, _) }.
    far(x, n + 1) :- reach(x, n), n > 2.
"""
EXTRA = "twice(x, y) :- path(x, y), path(y, x)."


class Hit(BaseException):
    """What is injected; no handler of ours knows it."""


class Gun:
    """Fires `Hit` into the main thread at given moments, from a thread that is there all the time."""

    def __init__(self) -> None:
        self._target = threading.get_ident()
        self._moments: list[tuple[float, bool]] = []
        self._armed, self._idle = threading.Event(), threading.Event()
        signal.signal(signal.SIGUSR1, self._raise)
        threading.Thread(target=self._run, daemon=True).start()

    def arm(self, moments: list[tuple[float, bool]]) -> None:
        """Fire after each of these delays, by a signal or by an injected exception."""
        self._moments = moments
        self._idle.clear()
        self._armed.set()

    def wait(self) -> None:
        """Until everything was fired and nothing can come any more."""
        while True:
            try:
                self._moments = []
                while not self._idle.is_set():
                    time.sleep(1e-4)
                for _ in range(100):  # a shot that is under way arrives
                    time.sleep(0)
                return
            except Hit:
                continue

    def _run(self) -> None:
        self._idle.set()
        while True:
            self._armed.wait()
            self._armed.clear()
            started = time.perf_counter()
            for delay, by_signal in sorted(self._moments):
                while time.perf_counter() - started < delay and self._moments:
                    time.sleep(min(5e-5, delay))
                if not self._moments:
                    break
                if by_signal:
                    signal.pthread_kill(self._target, signal.SIGUSR1)
                else:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._target), ctypes.py_object(Hit))
            self._idle.set()

    def _raise(self, number: int, frame: object) -> None:
        raise Hit


def updates(seed: int) -> Iterator[dict[str, Any]]:
    """Random updates without end: few facts, many facts, rules that come and go, constants that are new."""
    rng = random.Random(seed)
    size, has_extra = 60, False
    for number in range(10**9):
        few = [(rng.randrange(size), rng.randrange(size)) for _ in range(rng.choice((1, 3, 40, 400)))]
        update: dict[str, Any] = {rng.choice(("insert", "delete")): {"edge": few}}
        if rng.random() < 0.3:
            update.setdefault("insert", {})["node"] = [(rng.randrange(size),), (f"new {number}",)]
        if rng.random() < 0.15:
            update |= {"remove_rules": [EXTRA]} if has_extra else {"add_rules": EXTRA}
        yield update
        if "add_rules" in update or "remove_rules" in update:
            has_extra = not has_extra


def facts(engine: Engine) -> dict[str, frozenset[Any]]:
    """All facts by relation; relations without any count as not there."""
    found = {name: frozenset(engine[name]) for name in engine.relations}
    return {name: some for name, some in found.items() if some}


def attack(strategy: str, hits: int, seed: int, **options: Any) -> Counter[str]:
    """Hit an engine that many times; what happened, by kind."""
    rng = random.Random(seed)
    engine = Engine(RULES, strategy=strategy, **options)
    engine.apply(insert={"node": [(n,) for n in range(60)], "edge": [(n, n + 1) for n in range(30)]})
    stream, seen, pending, gun, span = updates(seed), Counter[str](), None, Gun(), 0.0
    while seen["hits"] < hits:
        update = pending or next(stream)
        pending = None
        before, version, rules = facts(engine), engine.version, engine.rules
        if seen["updates"] % 7 == 0:
            span = _span(engine, update, options)
        seen["updates"] += 1
        moments = [(rng.random() * span * 1.5, rng.random() < 0.5)]
        if rng.random() < 0.5:
            moments.append((moments[0][0] + rng.random() * 0.002, rng.random() < 0.5))
        if not _hit(engine, update, gun, moments):
            continue
        seen["double hits"] += len(moments) > 1
        seen["hits"] += 1
        try:
            after = facts(engine)
            if engine.version == version:
                assert after == before, "another version with the same number"
                assert engine.rules == rules
                seen["before"] += 1
                if rng.random() < 0.5:
                    pending = update
                else:
                    engine.apply(**update)
            else:
                assert engine.version == version + 1
                seen["after"] += 1
            engine.verify()
        except BaseException as error:
            print(json.dumps({"strategy": strategy, "seed": seed, "hits": seen["hits"], "error": repr(error)[:400]}))
            raise
    return seen


def _hit(engine: Engine, update: dict[str, Any], gun: Gun, moments: list[tuple[float, bool]]) -> bool:
    """Apply an update under fire; whether it was hit."""
    hit, is_calm = True, False
    try:
        try:
            gun.arm(moments)
            engine.apply(**update)
            hit = False
        except Hit:
            pass
    except Hit:  # the second one, in the handler of the first
        pass
    while not is_calm:
        try:
            gun.wait()
            is_calm = True
        except Hit:
            continue
    return hit


def _span(engine: Engine, update: dict[str, Any], options: dict[str, Any]) -> float:
    """How long such an update takes undisturbed, on a copy."""
    twin = Engine(strategy=engine.strategy, **options)
    twin.apply(
        insert={name: list(engine.explicit(name)) for name in ("edge", "node")}, add_rules="\n".join(engine.rules)
    )
    started = time.perf_counter()
    twin.apply(**update)
    return time.perf_counter() - started


def main() -> None:
    """Attack every strategy, or those that are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hits", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES))
    given = parser.parse_args()
    each = -(-given.hits // len(given.strategies))
    for number, strategy in enumerate(given.strategies):
        found = attack(strategy, each, given.seed + number)
        print(json.dumps({"strategy": strategy, **found}), flush=True)


if __name__ == "__main__":
    sys.setswitchinterval(1e-5)
    main()
