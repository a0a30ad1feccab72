"""Random interrupts inside random calls: `python -m tests.faults.interrupts --hits 300`.

What      : an engine follows random updates while exceptions are injected into its thread at random moments, the way
            Ctrl-C and signal handlers raise them: between any two bytecodes. Every second hit is followed by another
            one while the engine undoes the first. Questions, look-ahead, changes of strategy and saves are hit, too.
Idea      : `sys.setprofile`-like tools would change what runs; `PyThreadState_SetAsyncExc` from another thread and
            `signal.pthread_kill` hit the very code that users run. A twin does the same work undisturbed: it tells how
            long that takes, so that moments are spread over it, and what the version after is.
Expected  : after each hit the engine is the version before or after, fact by fact and rule by rule, `verify()` passes,
            the same update works, a save can be repeated and opened, and the process lives.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from tests.sharing import sharing
from tidelog import Engine
from tidelog.changes.update import Update
from tidelog.errors import TidelogError
from tidelog.maintenance.registry import STRATEGIES

RULES = """
    path(x, y) :- edge(x, y).
    path(x, z) :- edge(x, y), path(y, z).
    end(x) :- edge(_, x), !edge(x, _).
    reach(x, n) :- node(x), n = count : { path(x, _) }.
    far(x, n + 1) :- reach(x, n), n > 2.
"""
NODES = 24
EXTRA = "twice(x, y) :- path(x, y), path(y, x)."


class Hit(BaseException):
    """What is injected; no handler of ours knows it."""


class Gun:
    """Fires `Hit` into the main thread at given moments, from a thread that is there all the time."""

    def __init__(self) -> None:
        self._target = threading.get_ident()
        self._moments: list[tuple[float, bool]] = []
        self.is_live = False
        self._armed, self._idle = threading.Event(), threading.Event()
        signal.signal(signal.SIGUSR1, self._raise)
        threading.Thread(target=self._run, daemon=True).start()

    def arm(self, moments: list[tuple[float, bool]]) -> None:
        """Fire after each of these delays, by a signal or by an injected exception."""
        self._moments, self.is_live = moments, True
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
                self.is_live = False
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
        if self.is_live:  # a signal may come late on a busy machine; then it hits nothing
            raise Hit


def updates(seed: int) -> Iterator[dict[str, Any]]:
    """Random updates without end: few facts, many facts, rules that come and go, constants that are new."""
    rng = random.Random(seed)
    size, has_extra = NODES, False
    for number in range(10**9):
        few = [(rng.randrange(size), rng.randrange(size)) for _ in range(rng.choice((1, 3, 20, 150)))]
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


class Attack:
    """An engine under fire, and a twin that is left in peace."""

    def __init__(self, strategy: str, seed: int, folder: Path, **options: Any) -> None:
        self.rng, self.gun, self.seen, self.folder = random.Random(seed), Gun(), Counter[str](), folder
        self.engine, self.twin = (Engine(RULES, strategy=strategy, **options) for _ in range(2))
        start = {"node": [(n,) for n in range(NODES)], "edge": [(n, n + 1) for n in range(NODES // 2)]}
        for engine in (self.engine, self.twin):
            engine.apply(insert=start)
        self.before, self.stream = facts(self.twin), updates(seed)

    def update(self) -> None:
        """Fire at one update until it is there."""
        update = next(self.stream)
        version, rules = self.twin.version, self.twin.rules
        span = _span(lambda: self.twin.apply(**update))
        expected = facts(self.twin)
        for _ in range(3):
            if not self._fire(lambda: self.engine.apply(**update), span):
                break
            found, is_before = facts(self.engine), self.engine.version == version
            if is_before:
                assert found == self.before, "another version with the same number"
                assert self.engine.rules == rules
            else:
                self._is_twin(found, expected)
            self.engine.verify()
            self.seen["before" if is_before else "after"] += 1
            if not is_before:
                break
        if self.engine.version == version:
            self.engine.apply(**update)
        self._is_twin(facts(self.engine), expected)
        self.before = expected

    def call(self) -> None:
        """Fire at a call that changes nothing."""
        name = self.rng.choice(list(CALLS))
        span = _span(lambda: CALLS[name](self.twin))
        if self._fire(lambda: CALLS[name](self.engine), span):
            self._is_twin(facts(self.engine), self.before)
            self.engine.verify()
            self.seen["in other calls"] += 1

    def save(self) -> None:
        """Fire at a save; repeat it and open the state."""
        span = _span(lambda: self.twin.save(self.folder / "twin"))
        if self._fire(self._save, span):
            self.engine.save(self.folder / "state")
            with Engine.open(self.folder / "state") as opened:
                self._is_twin(facts(opened), self.before)
            self.seen["in saves"] += 1

    def _save(self) -> None:
        """Save; a hit that the library for tables took for a bad argument is a hit."""
        try:
            self.engine.save(self.folder / "state")
        except TidelogError as error:
            if error.code == "E606" and isinstance(error.__cause__, ValueError):
                raise Hit from error
            raise

    def _is_twin(self, found: dict[str, frozenset[Any]], expected: dict[str, frozenset[Any]]) -> None:
        differing = {
            name: (len(found.get(name, ())), len(expected.get(name, ())))
            for name in {*found, *expected}
            if found.get(name) != expected.get(name)
        }
        assert not differing, f"not what the twin has: {differing}; by the law {_lawful(self.engine, self.twin)}"
        assert (self.engine.version, self.engine.rules) == (self.twin.version, self.twin.rules)

    def _fire(self, call: Callable[[], object], span: float) -> bool:
        """Call under fire; whether it was hit. Half of the moments are near the end, where versions are decided."""
        first = span * (self.rng.random() * 1.1 if self.rng.random() < 0.5 else 0.7 + 0.4 * self.rng.random())
        moments = [(first, self.rng.random() < 0.5)]
        if self.rng.random() < 0.5:
            moments.append((first + self.rng.random() * 0.002, self.rng.random() < 0.5))
        is_hit = _hit(call, self.gun, moments)
        self.seen["hits"] += is_hit
        self.seen["double hits"] += is_hit and len(moments) > 1
        return is_hit


CALLS: dict[str, Callable[[Engine], object]] = {
    "query": lambda engine: list(engine.query("path(x, y), edge(y, z), x < z")),
    "look": lambda engine: (len(engine["path"]), (1, 2) in engine["path"], list(engine.query("path(1, x)"))),
    "look ahead": lambda engine: engine.look_ahead(Update.of(delete={"edge": [(0, 1), (1, 2)]})),
    "strategy": lambda engine: setattr(engine, "strategy", engine.strategy),
    "verify": lambda engine: engine.verify(),
}


def attack(strategy: str, hits: int, seed: int, **options: Any) -> Counter[str]:
    """Hit an engine that many times; what happened, by kind."""
    with tempfile.TemporaryDirectory() as folder:
        under = Attack(strategy, seed, Path(folder), **options)
        while under.seen["hits"] < hits:
            chance = under.rng.random()
            try:
                under.save() if chance < 0.01 else under.call() if chance < 0.2 else under.update()
            except BaseException as error:
                told = {"strategy": strategy, "seed": seed, "hits": under.seen["hits"], "error": repr(error)[:400]}
                print(json.dumps(told), flush=True)
                raise
            under.seen["calls"] += 1
        under.engine.close()
        return under.seen


def _lawful(*engines: Engine) -> list[str]:
    """What `verify` says of each engine."""
    said = []
    for engine in engines:
        try:
            engine.verify()
            said.append("right")
        except TidelogError as error:
            said.append(str(error)[:300])
    return said


def _hit(call: Callable[[], object], gun: Gun, moments: list[tuple[float, bool]]) -> bool:
    """Call something under fire; whether it was hit. Every moment of this function can be hit, but twice at most."""
    done: list[bool] = []

    def work() -> None:
        gun.arm(moments)
        call()
        done.append(True)

    try:
        try:
            _guarded(work)
            _guarded(gun.wait)
        except Hit:
            _guarded(gun.wait)
    except Hit:
        try:
            _guarded(gun.wait)
        except Hit:  # a signal of the call before, which came late on a busy machine
            _guarded(gun.wait)
    while gun.is_live:  # a hit at its very entrance ended the waiting, and another may be under way
        _guarded(gun.wait)
    return not done


def _guarded(work: Callable[[], object]) -> None:
    """Do something that two hits may end, the second of them in the handler of the first."""
    try:
        try:
            try:  # noqa: SIM105 - a context manager can be hit before it is entered
                work()
            except Hit:
                pass
        except Hit:
            pass
    except Hit:
        pass


def _span(call: Callable[[], object]) -> float:
    """How long a call takes undisturbed."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    """Attack every strategy, or those that are named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hits", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default="local")
    parser.add_argument("--threads", type=int, help="share even small work between this number of threads")
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES))
    given = parser.parse_args()
    each = -(-given.hits // len(given.strategies))
    with sharing(least=2, chunk=8) if given.threads else nullcontext():
        for number, strategy in enumerate(given.strategies):
            found = attack(strategy, each, given.seed + number, backend=given.backend, threads=given.threads)
            print(json.dumps({"strategy": strategy, **found}), flush=True)


if __name__ == "__main__":
    sys.setswitchinterval(1e-5)
    main()
