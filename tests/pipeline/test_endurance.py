"""The main job at size and over time; the commands in benchmarks/pipeline, with their answers asserted."""

from __future__ import annotations

import pytest

from benchmarks.pipeline.big import measure
from benchmarks.pipeline.soak import soak, verdict


@pytest.mark.long
def test_a_million_facts_two_hundred_files_and_three_kills(tmp_path):
    """Killed three times at random, the run ends with the state, the feed and the counts of an undisturbed one."""
    result = measure(tmp_path, facts=1_000_000, count=200, kills=3)
    assert result["equal"], result
    assert result["kills"] == 3


@pytest.mark.long
def test_half_an_hour_of_following(tmp_path):
    """Memory and latency of the last ten minutes are those of the ten before; SIGTERM ends the run cleanly."""
    result = soak(tmp_path, minutes=30, facts=100_000, every=0.5)
    assert result["exit_code"] == 0, result
    assert result["is_flat"], result


def test_a_leak_would_be_seen():
    """The verdict is no formality: growing memory or latency is not flat, noise is."""
    flat = [{"python_mb": 200 + n % 3, "java_mb": 900 - n % 7, "latency_ms": 20 + n % 5} for n in range(30)]
    assert verdict(flat)["is_flat"]
    assert not verdict([{**one, "java_mb": 500 + 40 * n} for n, one in enumerate(flat)])["is_flat"]
    assert not verdict([{**one, "latency_ms": 10 + 4 * n} for n, one in enumerate(flat)])["is_flat"]
