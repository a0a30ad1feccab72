"""What a run says: lines for people, JSON for programs, metrics for watchers, a table on a terminal."""

import io
import json
from urllib.request import urlopen

import pytest

from tidelog.backends.choice import fitting_backend
from tidelog.errors import PipelineError
from tidelog.observe.metrics import Registry
from tidelog.pipeline.endpoint import serve
from tidelog.pipeline.status import JsonEvents, Lines, Live, Status

BATCH = {"batch": 3, "version": 5, "updates": 1, "inserted": 7, "deleted": 2, "facts": 90, "seconds": 0.25,
         "maintenance": 0.1, "strategy": "[bf]"}  # fmt: skip


def told(viewer, prometheus=None):
    status = Status(viewer, prometheus)
    status.tell("backend", backend="local", reason="it fits")
    status.tell("loaded", version=1, facts=85, seconds=1.0)
    status.tell("batch", **BATCH)
    status.tell("rejects", count=2, part="batch 3")
    status.tell("rules", version=6, added=1, removed=0, inserted=4, deleted=0, facts=91)
    status.close()
    return status


def test_lines():
    """One sentence per event."""
    out = io.StringIO()
    told(Lines(out))
    lines = out.getvalue().splitlines()
    assert lines[0] == "backend local: it fits"
    assert lines[2] == "batch 3, version 5: +7 -2, 250 ms, [bf]"
    assert "the rule file has changed: 1 rule added, 0 removed, +4 -0 facts" in lines[4]


def test_instances_without_a_value_are_told_and_measured():
    """Their number and the first one, in the line of whatever brought them; a gauge has the present number."""
    out, lacking = io.StringIO(), {"r(v0) :- q(v0).": {"count": 2, "first": "division by zero: 10 / 0"}}
    status = Status(Lines(out))
    status.tell("batch", **BATCH, without_value=lacking)
    assert "2 instances without a value, as of r(v0) :- q(v0). (division by zero: 10 / 0)" in out.getvalue()
    assert "tidelog_without_value 2" in status.registry.render()
    status.tell("batch", **BATCH, without_value={})
    assert "tidelog_without_value 0" in status.registry.render()


def test_json_events():
    """Every line is an object with its event and time."""
    out = io.StringIO()
    told(JsonEvents(out))
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [event["event"] for event in events] == ["backend", "loaded", "batch", "rejects", "rules"]
    assert events[2]["inserted"] == 7


def test_a_table_on_a_terminal():
    """The live table shows the batches; what looks like markup in a strategy is text."""
    out = io.StringIO()
    told(Live(out))
    assert "[bf]" in out.getvalue()
    assert "90 facts" in out.getvalue()


def test_metrics_in_a_file_and_on_loopback(tmp_path):
    """The file is replaced whole; the port answers on this machine only, and only for the metrics."""
    status = told(Lines(io.StringIO()), tmp_path / "m.prom")
    text = (tmp_path / "m.prom").read_text()
    assert "tidelog_facts 91" in text
    assert 'tidelog_changes_total{op="delete"} 2' in text
    assert [file.name for file in tmp_path.iterdir()] == ["m.prom"]
    with serve(status.registry, 0) as port:
        assert "tidelog_rejects_total 2" in urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        with pytest.raises(Exception, match="404"):
            urlopen(f"http://127.0.0.1:{port}/../etc")
        with pytest.raises(PipelineError, match="E731"), serve(status.registry, port):
            pass


def test_metrics_on_another_address():
    """The address that was asked for answers, and no other one."""
    status = told(Lines(io.StringIO()))
    with serve(status.registry, 0, "127.0.0.2") as port:
        assert "tidelog_rejects_total 2" in urlopen(f"http://127.0.0.2:{port}/metrics").read().decode()
        with pytest.raises(OSError, match="refused"):
            urlopen(f"http://127.0.0.1:{port}/metrics")


def test_an_address_of_another_machine_is_refused():
    """With what to do about it."""
    with pytest.raises(PipelineError, match="an address of this machine") as caught, serve(Registry(), 0, "192.0.2.77"):
        pass
    assert caught.value.code == "E731"


def test_the_backend_is_chosen_by_what_fits():
    """The reason is part of the answer, and a user's word is final."""
    assert fitting_backend("auto", 1000, memory=10**9)[0] == "local"
    backend, reason = fitting_backend("auto", 10**8, memory=10**9)
    assert backend == "spark"
    assert "does not fit" in reason
    assert fitting_backend("local", 10**12)[0] == "local"
