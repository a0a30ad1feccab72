"""Logging stays out of a host program's way and speaks once when it is asked to speak."""

import io
import json
import logging

import pytest

from tidelog.observe.logs import configure, log


@pytest.fixture(autouse=True)
def _restore():
    root = logging.getLogger("tidelog")
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_configuring_twice_speaks_once():
    """A second `configure` replaces the first; otherwise every line would come twice."""
    first, second = io.StringIO(), io.StringIO()
    configure("info", stream=first)
    configure("info", stream=second)
    log("tidelog.engine").info("hello")
    assert first.getvalue() == ""
    assert second.getvalue().count("hello") == 1


def test_json_lines_survive_hostile_text():
    """A message with quotes and newlines is still one line and one object."""
    stream = io.StringIO()
    configure("info", form="json", stream=stream)
    log("engine").warning('a "quoted"\nline')
    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert (entry["logger"], entry["level"], entry["message"]) == ("tidelog.engine", "warning", 'a "quoted"\nline')


def test_an_exception_is_part_of_its_json_line():
    """The traceback travels inside the object instead of breaking the lines."""
    stream = io.StringIO()
    configure("error", form="json", stream=stream)
    try:
        raise ValueError("broken")
    except ValueError:
        log("engine").exception("failed")
    assert "ValueError: broken" in json.loads(stream.getvalue())["error"]


def test_the_level_filters():
    """What is below the level is not written."""
    stream = io.StringIO()
    configure("warning", stream=stream)
    log("engine").info("quiet")
    log("engine").warning("loud")
    assert "quiet" not in stream.getvalue()
    assert "loud" in stream.getvalue()
