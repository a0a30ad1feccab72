"""Seconds, processor seconds and memory of what this process and everything it started did.

Idea      : on a shared machine wall time says little; the processor time of the driver, of Java and of the Python
            workers together says what a way of working costs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


def measured(action: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """The result of an action, its wall seconds and its processor seconds."""
    cpu, started = processor_seconds(), time.perf_counter()
    result = action()
    wall = time.perf_counter() - started
    return result, {"seconds": round(wall, 3), "cpu": round(processor_seconds() - cpu, 3)}


def processor_seconds() -> float:
    """What this process and its descendants have used so far, those that have ended included."""
    return sum(used for used, _ in _processes()) / _TICKS


def peak_bytes() -> int:
    """The most memory that this process and its living descendants have held, each at its own peak."""
    total = 0
    for _, process in _processes():
        try:
            status = Path(f"/proc/{process}/status").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
    return total


def _processes() -> list[tuple[int, int]]:
    """The ticks used by this process and each of its descendants, with its number."""
    children: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
            used[int(folder.name)] = sum(int(number) for number in fields[11:15])
    found, waiting = [], [os.getpid()]
    while waiting:
        process = waiting.pop()
        found.append((used.get(process, 0), process))
        waiting.extend(children.get(process, ()))
    return found
