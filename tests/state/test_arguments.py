"""Numbers of versions and batches, and names of sources: what a log cannot hold is refused with a code, before work."""

from __future__ import annotations

import pytest

from tidelog import Engine, UsageError


@pytest.mark.parametrize("number", ["2", 2.0, True, -1, 2**70], ids=str)
def test_what_is_no_number_of_a_version_or_a_batch_is_refused(tmp_path, number):
    """A string and an integer of 71 bits raised whatever the storage raises."""
    engine = Engine("p(1).")
    with pytest.raises(UsageError, match="E816"):
        engine.save(tmp_path / "state", batch=number)
    engine.save(tmp_path / "state", batch=2**63 - 1)
    with pytest.raises(UsageError, match="E816"):
        Engine.open(tmp_path / "state", version=number)
    assert Engine.open(tmp_path / "state", version=0).version == 0


@pytest.mark.parametrize("source", ["", 1, None, "\ud800"], ids=repr)
def test_what_names_no_source_is_refused(tmp_path, source):
    """The name goes into the log with its batch."""
    with pytest.raises(UsageError, match="E816"):
        Engine("p(1).").save(tmp_path / "state", batch=1, source=source)
