"""Records are resumed on the same source, begin again on another, and keep failures."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.records import __main__ as command
from tests.records.tiers import TIERS

HERE = Path(__file__).parent


@pytest.fixture
def source(monkeypatch):
    """A source that a test can exchange, and steps that cost nothing."""
    now = {"commit": "c", "src": "one"}
    monkeypatch.setattr(command, "source", lambda: dict(now))
    monkeypatch.setattr(command, "step", lambda name, number: (Counter(hits=1), "bad" if number == 3 else None))
    return now


def test_a_tier_goes_on_where_it_stopped(source, tmp_path):
    """Without time nothing is done; what was done stays done; a failure does not stop the tier."""
    path = tmp_path / "fuzz.json"
    assert command.run("fuzz", 0, again=False, folder=tmp_path)["steps"] == 0
    command.run("fuzz", 60, again=False, folder=tmp_path)
    half = json.loads(path.read_text())
    assert (half["steps"], half["done"]) == (50, {"hits": 50})
    assert [failure["step"] for failure in half["failures"]] == [3]
    path.write_text(json.dumps({**half, "steps": 20, "done": {"hits": 20}}))
    assert command.run("fuzz", 60, again=False, folder=tmp_path)["done"] == {"hits": 50}


def test_another_source_begins_again(source, tmp_path):
    """What was true of other code says nothing."""
    command.run("poison", 60, again=False, folder=tmp_path)
    assert command.run("poison", 0, again=False, folder=tmp_path)["steps"] == 20
    source["src"] = "two"
    assert command.run("poison", 0, again=False, folder=tmp_path)["steps"] == 0
    source["src"] = "one"
    assert command.run("poison", 0, again=True, folder=tmp_path)["steps"] == 0


def test_a_step_that_dies_is_a_failure():
    """A tier that is not there makes a process that ends badly."""
    did, failure = command.step("no such tier", 0)
    assert did == Counter()
    assert failure is not None
    assert "KeyError" in failure


def test_committed_records_are_of_a_tier_and_without_failures():
    """A record with failures is mended before it is committed."""
    for path in HERE.glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        assert (record["tier"], record["figure"]) == (path.stem, TIERS[path.stem].figure)
        assert record["failures"] == []
        assert "+" not in record["commit"]
