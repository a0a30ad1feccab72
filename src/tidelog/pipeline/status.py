"""What a run says while it runs.

What      : a `Status` takes events (loaded, batch, rules, ...) and shows them: lines, JSON lines, or a live table; it
            keeps the metrics of the run.
Idea      : one event, many readers. The job reports what happened and never asks who listens.
Invariant : results go to stdout only as `--json` asks; everything else goes to stderr. Metrics count each version
            once.
Never     : no decision depends on what is shown, and `rich` is imported only for a terminal.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TextIO

from tidelog.observe.metrics import Registry
from tidelog.visible import visible, visible_json

_RECENT = 8


class Viewer(Protocol):
    """Shows events."""

    def show(self, kind: str, told: Mapping[str, Any]) -> None:
        """Show one event."""

    def close(self) -> None:
        """The run is over."""


class Status:
    """The events of one run: shown, counted, and written for Prometheus."""

    def __init__(self, viewer: Viewer, prometheus: Path | None = None) -> None:
        self._viewer, self._file = viewer, prometheus
        self.registry = Registry()

    def tell(self, kind: str, **told: Any) -> None:  # noqa: ANN401 - an event holds whatever describes it
        """Something happened."""
        self._count(kind, told)
        self._viewer.show(kind, told)
        if self._file is not None and kind in ("loaded", "continued", "batch", "rules", "stopped"):
            partial = self._file.with_name(f".{self._file.name}.partial")
            partial.write_text(self.registry.render(), encoding="utf-8")
            partial.replace(self._file)

    @property
    def takes_stdout(self) -> bool:
        """Whether programs read events from stdout, so that nothing else may go there."""
        return isinstance(self._viewer, JsonEvents)

    def close(self) -> None:
        """No more events come."""
        self._viewer.close()

    def _count(self, kind: str, told: Mapping[str, Any]) -> None:
        registry = self.registry
        if "facts" in told and kind in ("loaded", "continued", "batch", "rules"):
            registry.gauge("tidelog_facts", "Facts in all relations.").set(told["facts"])
            registry.gauge("tidelog_version", "The last stored version.").set(told["version"])
            lacking = sum(one["count"] for one in told.get("without_value", {}).values())
            registry.gauge("tidelog_without_value", "Rule instances whose arithmetic has no value.").set(lacking)
        if kind == "rejects":
            registry.counter("tidelog_rejects_total", "Bad records.").add(told["count"])
        if kind == "batch":
            registry.counter("tidelog_batches_total", "Micro-batches applied.").add()
            registry.counter("tidelog_changes_total", "Facts that came or went.").add(told["inserted"], op="insert")
            registry.counter("tidelog_changes_total", "Facts that came or went.").add(told["deleted"], op="delete")
            registry.histogram("tidelog_batch_seconds", "Seconds per micro-batch.").observe(told["seconds"])


class Lines:
    """One plain line per event, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr

    def show(self, kind: str, told: Mapping[str, Any]) -> None:
        """Print the line."""
        print(visible(sentence(kind, told)), file=self._stream, flush=True)

    def close(self) -> None:
        """Nothing is held open."""


class JsonEvents:
    """One JSON object per event, for programs."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout

    def show(self, kind: str, told: Mapping[str, Any]) -> None:
        """Print the object."""
        entry = {"time": round(time.time(), 3), "event": kind, **told}
        print(visible_json(json.dumps(entry, ensure_ascii=False, default=str)), file=self._stream, flush=True)

    def close(self) -> None:
        """Each event is complete in itself; nothing follows."""


class Live:
    """A table on a terminal that follows the run."""

    def __init__(self, stream: TextIO | None = None) -> None:
        from rich.console import Console
        from rich.live import Live as Display

        self._recent: deque[Mapping[str, Any]] = deque(maxlen=_RECENT)
        self._heading = "starting"
        self._changes: deque[tuple[float, int]] = deque(maxlen=50)
        self._display = Display(console=Console(file=stream or sys.stderr), refresh_per_second=4)
        self._display.start()

    def show(self, kind: str, told: Mapping[str, Any]) -> None:
        """Renew the table; events that are no batch stay above it."""
        if kind == "batch":
            self._recent.append(told)
            self._changes.append((time.monotonic(), told["inserted"] + told["deleted"]))
            self._heading = f"version {told['version']:,}, {told['facts']:,} facts, {self._rate():,.0f} changes/s"
        else:
            from rich.markup import escape

            self._display.console.print(escape(visible(sentence(kind, told))), highlight=False)
        self._display.update(self._table())

    def close(self) -> None:
        """Leave the last table standing."""
        self._display.stop()

    def _rate(self) -> float:
        if len(self._changes) < 2:
            return 0.0
        seconds = self._changes[-1][0] - self._changes[0][0]
        return sum(count for _, count in list(self._changes)[1:]) / seconds if seconds else 0.0

    def _table(self) -> Any:  # noqa: ANN401 - a renderable of rich, which is imported late
        from rich.markup import escape
        from rich.table import Table

        table = Table(title=self._heading, title_justify="left")
        for name in ("batch", "version", "+", "-", "ms", "strategy"):
            table.add_column(name, justify="left" if name == "strategy" else "right")
        for told in self._recent:
            numbers = (told["batch"], told["version"], told["inserted"], told["deleted"])
            cells = [f"{number:,}" for number in numbers]
            table.add_row(*cells, f"{told['seconds'] * 1000:,.0f}", escape(told["strategy"]))
        return table


def viewer_for(json_events: bool) -> Viewer:
    """JSON if asked for, a live table on a terminal, else plain lines."""
    if json_events:
        return JsonEvents()
    return Live() if sys.stderr.isatty() else Lines()


def sentence(kind: str, told: Mapping[str, Any]) -> str:
    """An event in words."""
    match kind:
        case "source":
            return f"{told['relation']}({told['types']}): {_counted(told['count'], 'fact')} read"
        case "backend":
            return f"backend {told['backend']}: {told['reason']}"
        case "loaded":
            return f"version {told['version']}: {told['facts']:,} facts, {told['seconds']:.1f} s{_lacking(told)}"
        case "continued":
            last = "" if told["batch"] is None else f", micro-batch {told['batch']} was the last"
            return f"continuing at version {told['version']} with {told['facts']:,} facts{last}{_lacking(told)}"
        case "rules":
            rules = f"{_counted(told['added'], 'rule')} added, {told['removed']} removed"
            counts = f"+{told['inserted']:,} -{told['deleted']:,} facts"
            return f"version {told['version']}: the rule file has changed: {rules}, {counts}{_lacking(told)}"
        case "note":
            return f"note: {told['text']}"
        case "rejects":
            return f"{_counted(told['count'], 'bad record')} in {told['part']} went to the rejects"
        case "batch":
            counts = f"+{told['inserted']:,} -{told['deleted']:,}, {told['seconds'] * 1000:,.0f} ms"
            return f"batch {told['batch']}, version {told['version']}: {counts}, {told['strategy']}{_lacking(told)}"
    return f"{kind}: " + ", ".join(f"{name} {value}" for name, value in told.items())


def _lacking(told: Mapping[str, Any]) -> str:
    """How many instances lack a value, and the first rule's first one."""
    found = told.get("without_value") or {}
    if not found:
        return ""
    rule, first = next(iter(found.items()))
    total = sum(one["count"] for one in found.values())
    return f"; {_counted(total, 'instance')} without a value, as of {rule} ({first['first']})"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("" if count == 1 else "s")
