"""Metrics: numbers that a watching program reads.

What      : counters, gauges and histograms in a `Registry`, rendered in the Prometheus text format (version 0.0.4).
Idea      : a metric is a name, a sentence and one value per set of labels; nothing more is needed to see a run.
Invariant : a counter never falls; one name has one kind; rendering is ordered, so equal states give equal text.
Never     : no server, no thread and no file here (pipeline/endpoint.py and pipeline/status.py have these).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from threading import Lock
from typing import TypeVar

from tidelog.errors import UsageError

Labels = tuple[tuple[str, str], ...]
SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)
"""Upper bounds that suit durations from a small local update to a bulk Spark round."""

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")


class Metric:
    """What the three kinds share: a name, a sentence, and values kept per set of labels."""

    kind = "untyped"

    def __init__(self, name: str, sentence: str) -> None:
        if not _NAME.fullmatch(name):
            raise _misuse(f"{name!r} is not a metric name", "use letters, digits, underscores and colons")
        self.name = name
        self.sentence = sentence
        self._values: dict[Labels, float] = {}
        self._lock = Lock()

    def value(self, **labels: str) -> float:
        """The present value under these labels; 0 when nothing was recorded."""
        return self._values.get(_key(labels), 0.0)

    def samples(self) -> Iterator[tuple[str, Labels, float]]:
        """Every sample as (name, labels, value), ordered by labels."""
        for labels, value in sorted(self._values.items()):
            yield self.name, labels, value


class Counter(Metric):
    """A number that only grows: derivations, rounds, applied updates."""

    kind = "counter"

    def add(self, amount: float = 1, **labels: str) -> None:
        """Count `amount` more."""
        if amount < 0:
            raise _misuse(f"counter {self.name} cannot fall by {-amount}", "use a gauge for a value that falls")
        key = _key(labels)
        with self._lock:
            self._values[key] = self._values.get(key, 0.0) + amount


class Gauge(Metric):
    """A number that rises and falls: facts held, bytes used."""

    kind = "gauge"

    def set(self, value: float, **labels: str) -> None:
        """Record the present value."""
        with self._lock:
            self._values[_key(labels)] = value


class Histogram(Metric):
    """How often a value fell under each of a few bounds: seconds per update, facts per change."""

    kind = "histogram"

    def __init__(self, name: str, sentence: str, bounds: tuple[float, ...] = SECONDS) -> None:
        super().__init__(name, sentence)
        if list(bounds) != sorted(set(bounds)):
            raise _misuse(f"the bounds of {name} are not rising", "list each bound once, smallest first")
        self.bounds = bounds
        self._buckets: dict[Labels, list[int]] = {}

    def observe(self, value: float, **labels: str) -> None:
        """Record one value; `value(...)` then gives the sum of the observed values."""
        key = _key(labels)
        with self._lock:
            buckets = self._buckets.setdefault(key, [0] * (len(self.bounds) + 1))
            buckets[bisect_left(self.bounds, value)] += 1
            self._values[key] = self._values.get(key, 0.0) + value

    def samples(self) -> Iterator[tuple[str, Labels, float]]:
        """Cumulative buckets, sum and count for every set of labels."""
        for labels, buckets in sorted(self._buckets.items()):
            reached = 0
            for bound, count in zip((*map(_number, self.bounds), "+Inf"), buckets, strict=True):
                reached += count
                yield f"{self.name}_bucket", (*labels, ("le", bound)), reached
            yield f"{self.name}_sum", labels, self._values[labels]
            yield f"{self.name}_count", labels, reached


Kind = TypeVar("Kind", bound=Metric)


class Registry:
    """The metrics of one engine or process, each known by its name."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}

    def counter(self, name: str, sentence: str) -> Counter:
        """The counter of this name, made on first use."""
        return self._keep(Counter(name, sentence))

    def gauge(self, name: str, sentence: str) -> Gauge:
        """The gauge of this name, made on first use."""
        return self._keep(Gauge(name, sentence))

    def histogram(self, name: str, sentence: str, bounds: tuple[float, ...] = SECONDS) -> Histogram:
        """The histogram of this name, made on first use."""
        return self._keep(Histogram(name, sentence, bounds))

    def render(self) -> str:
        """Everything in the Prometheus text format."""
        return "".join(f"{line}\n" for name in sorted(self._metrics) for line in _exposition(self._metrics[name]))

    def _keep(self, metric: Kind) -> Kind:
        known = self._metrics.setdefault(metric.name, metric)
        if type(known) is not type(metric):
            raise _misuse(f"metric {metric.name} is already a {known.kind}", "give the new metric a name of its own")
        return known


def _exposition(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {_escape(metric.sentence)}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for name, labels, value in metric.samples():
        inside = ",".join(f'{label}="{_escape(text, quote=True)}"' for label, text in labels)
        yield f"{name}{{{inside}}} {_number(value)}" if inside else f"{name} {_number(value)}"


def _escape(text: str, quote: bool = False) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
    return escaped.replace('"', '\\"') if quote else escaped


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(int(value)) if float(value).is_integer() else repr(float(value))


def _key(labels: dict[str, str]) -> Labels:
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise _misuse(f"{label!r} is not a label name", "use letters, digits and underscores")
    return tuple(sorted(labels.items()))


def _misuse(sentence: str, remedy: str) -> UsageError:
    return UsageError.of("E841", sentence, remedy=remedy)
