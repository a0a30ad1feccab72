"""Progress tells a waiting person what happens, on a terminal and in a log file, and never changes the work."""

import io

import pytest

from tidelog.observe.progress import Bar, Lines, progress_for


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self):
        return True


class Clock:
    """A clock that the test moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_lines_come_at_the_pace_asked_for():
    """A million small reports must not print a million lines: between two lines lies at least the chosen time."""
    stream, clock = io.StringIO(), Clock()
    with Lines(stream, every=5, clock=clock).stage("reading", total=100) as advance:
        for _ in range(10):
            clock.now += 1
            advance(10)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "reading ..."
    assert [line for line in lines if "of 100" in line] == [
        "reading: 50 of 100 (50%) facts, 5.0 s",
        "reading: 100 of 100 (100%) facts, 10.0 s",
    ]
    assert lines[-1] == "reading: done, 100 facts, 10.0 s"


def test_a_stage_that_fails_says_so_and_lets_the_error_through():
    """A log that reads `done` after an error would be a lie."""
    stream = io.StringIO()

    def work():
        with Lines(stream).stage("reading") as advance:
            advance(3)
            raise KeyError("x")

    with pytest.raises(KeyError):
        work()
    assert "reading: stopped, 3 facts" in stream.getvalue()


@pytest.mark.parametrize("total", [None, 40])
def test_a_bar_is_drawn_with_names_taken_literally(total):
    """Square brackets are markup to the drawing library; a relation may be called anything."""
    stream = Terminal()
    with Bar(stream).stage("reading [bold]x[/bold]", total=total, unit="[rows]") as advance:
        advance(40)
    assert "[bold]x[/bold]" in stream.getvalue()
    assert "[rows]" in stream.getvalue()
    assert "40" in stream.getvalue()


def test_the_stream_decides():
    """Bars belong on terminals; pipes and files get lines."""
    assert isinstance(progress_for(Terminal()), Bar)
    assert isinstance(progress_for(io.StringIO()), Lines)
