"""Look-ahead: the next update is offered when it is there, and never waited for."""

import queue
import threading

import pytest

from tidelog.changes.stream import look_ahead
from tidelog.changes.update import Update
from tidelog.errors import UpdateError

PATIENCE = 20.0


def numbered(count):
    return [Update.of(insert={"p": [(number,)]}) for number in range(count)]


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "tidelog-look-ahead"]


def wait_for(condition):
    """Wait until something that another thread does has happened."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if condition():
            return True
        pause.wait(0.005)
    return False


def test_lists_always_know_the_next():
    """The last update has no next one; asking twice changes nothing."""
    updates = numbered(3)
    seen = [(update, ahead(), ahead()) for update, ahead in look_ahead(updates)]
    assert seen == [
        (updates[0], updates[1], updates[1]),
        (updates[1], updates[2], updates[2]),
        (updates[2], None, None),
    ]


def test_generators_are_read_one_ahead():
    """While one update is worked on, the next is read, and not the one after it."""
    updates, produced = numbered(4), []

    def source():
        for update in updates:
            produced.append(update)
            yield update

    seen = []
    for update, ahead in look_ahead(source()):
        seen.append(update)
        if update is not updates[-1]:
            assert wait_for(lambda ahead=ahead: ahead() is not None)
            assert ahead() is updates[len(seen)]
            assert len(produced) == len(seen) + 1
    assert seen == updates
    assert wait_for(lambda: not threads())


def test_a_blocked_source_does_not_delay():
    """A source that waits gives no next update, and the current one goes on."""
    updates, gate = numbered(2), threading.Event()

    def source():
        yield updates[0]
        gate.wait(PATIENCE)
        yield updates[1]

    stream = look_ahead(source())
    first, ahead = next(stream)
    assert (first, ahead()) == (updates[0], None)
    gate.set()
    assert next(stream)[0] is updates[1]
    assert list(stream) == []


def test_errors_come_in_their_place():
    """An error of the source is raised where its update would be, not while an earlier one is worked on."""
    updates = numbered(2)

    def source():
        yield from updates
        raise RuntimeError("the source broke")

    stream = look_ahead(source())
    assert next(stream)[0] is updates[0]
    second, ahead = next(stream)
    assert wait_for(lambda: not threads())
    assert (second, ahead()) == (updates[1], None)
    with pytest.raises(RuntimeError, match="the source broke"):
        next(stream)


def test_stopping_early_ends_the_thread_and_closes_the_source():
    """Whoever leaves the loop leaves no thread behind, and the source may clean up."""
    closed = threading.Event()

    def source():
        try:
            yield from numbered(100)
        finally:
            closed.set()

    stream = look_ahead(source())
    next(stream)
    stream.close()
    assert closed.wait(PATIENCE)
    assert wait_for(lambda: not threads())


def test_queues_end_with_none():
    """A queue's next update is offered as soon as it is put, and stays in the queue until it is taken."""
    updates, source = numbered(3), queue.Queue()
    source.put(updates[0])
    stream = look_ahead(source)
    first, ahead = next(stream)
    assert (first, ahead()) == (updates[0], None)
    source.put(updates[1])
    assert ahead() is updates[1]
    assert source.qsize() == 1
    assert next(stream)[0] is updates[1]
    source.put(None)
    assert ahead() is None
    assert list(stream) == []


def test_mappings_are_updates_too():
    """Items may be the arguments of an update; anything else is refused."""
    (update, _), (empty, _) = look_ahead([{"insert": {"p": [(1,)]}}, {}])
    assert list(update.insert["p"]) == [(1,)]
    assert empty.is_empty
    with pytest.raises(UpdateError, match="no update"):
        list(look_ahead([{"inserts": {}}]))
    with pytest.raises(UpdateError, match="no update"):
        list(look_ahead(iter([("p", 1)])))


@pytest.mark.parametrize("make", [list, iter, None], ids=["list", "iterator", "queue"])
def test_peeking_neither_uses_up_facts_nor_raises(make):
    """Facts that come from an iterator can be read only once; a bad next update is no fault of the current one."""
    items = [{}, {"insert": {"p": (fact for fact in [(1,), (2,)])}}, "no update"]
    source = queue.Queue() if make is None else make(items)
    for item in items if make is None else ():
        source.put(item)
    stream = look_ahead(source)
    _, ahead = next(stream)
    assert wait_for(lambda: ahead() is not None)
    second, ahead = next(stream)
    assert list(second.insert["p"]) == [(1,), (2,)]
    assert ahead() is None
    with pytest.raises(UpdateError, match="str that is no update"):
        next(stream)
