"""The long tier's command: it counts what it compared, and a disagreement reaches its record and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.differential import run
from tests.differential.engines import Change, ReferenceEngine
from tidelog.language.terms import Program
from tidelog.reference.recompute import Recompute


class Silent(ReferenceEngine):
    """An engine that does not follow its second and later updates."""

    def __init__(self, program: Program) -> None:
        super().__init__(Recompute, program)
        self._last: Change | None = None

    def apply(self, *arguments: object, **named: object) -> Change:
        """The first change, again and again."""
        self._last = self._last or super().apply(*arguments, **named)  # type: ignore[arg-type]
        return self._last


def test_chunks_add_up() -> None:
    """Versions and liveness of all seeds are in the sum, whatever the chunks."""
    whole, parts = run.run_chunk(0, 12, ("reference-dred",)), run.Result()
    for first in range(0, 12, 4):
        parts.add(run.run_chunk(first, first + 4, ("reference-dred",)))
    assert whole == parts
    assert whole.cases == 12
    assert whole.versions["reference-dred"] > 24
    assert whole.disagreements == []


def test_disagreements_are_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wrong engine does not stop the run, and a right one beside it is still compared."""
    right = run.engine_named("reference-dred")
    monkeypatch.setattr(run, "engines_named", lambda _: {"silent": Silent, "right": right})
    record = tmp_path / "records" / "run.json"
    monkeypatch.setattr("sys.argv", ["run", "--cases", "8", "--engines", "silent", "--record", str(record)])
    assert run.main() == 1
    found = json.loads(record.read_text(encoding="utf-8"))
    assert found["cases"] == 8
    assert found["seeds"] == [0, 7]
    assert {entry["engine"] for entry in found["disagreements"]} == {"silent"}
    assert found["versions_compared"]["right"] > 16
