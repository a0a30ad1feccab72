"""A query in a process that can be killed.

What      : `evaluated` answers a SPARQL query in a child process, within limits of time, memory and size of the result.
Idea      : the child is a copy of this process, made while the store is held, so it sees one whole version whatever
            writers do meanwhile, and nothing has to be sent to it. It writes the answer into a pipe and ends. If the
            store is in a folder, the child opens a snapshot of it, which nobody writes to.
Invariant : a query that crosses a limit is gone when the call returns: the child is killed and waited for.
Never     : nothing is changed by a query, and the child runs nothing but it.

Codes: E836 a limit of a query is crossed.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import select
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from tidelog.errors import TidelogError, UsageError
from tidelog.rdf.mirror import Mirror
from tidelog.rdf.sparql import evaluate, is_triples, serialised

_PIECE = 1 << 16
_TABLE, _TRIPLES, _REFUSED = b"+", b"*", b"-"


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """What a query may use."""

    seconds: float = 30.0
    memory: int = 2 << 30
    """Bytes beyond what the store itself takes."""
    result: int = 256 << 20
    """Bytes of the answer as text."""


def evaluated(mirror: Mirror, text: str, form: str, limits: QueryLimits) -> tuple[bool, bytes]:
    """Whether a query answers with triples, and its answer: in a result format, or as N-Triples."""
    with mirror.snapshot() as folder:
        reading, writing = os.pipe()
        with mirror.store() as store:
            child = os.fork()
            if child == 0:
                _answer(store if folder is None else folder, text, form, limits, writing)
        os.close(writing)
        try:
            found = _received(reading, limits)
        finally:
            os.close(reading)
            status = _ended(child)
    if found[:1] == _REFUSED:
        raise UsageError.of("E831", found[1:].decode(errors="replace"), remedy="mend the query")
    if found[:1] not in (_TABLE, _TRIPLES) or status != 0:
        sentence = f"the query needs more than {limits.memory:,} bytes, or failed"
        raise UsageError.of("E836", sentence, remedy="ask for less, or allow more memory")
    return found[:1] == _TRIPLES, found[1:]


def _answer(store: ox.Store | Path, text: str, form: str, limits: QueryLimits, writing: int) -> None:
    """The child's whole life."""
    code = 1
    try:
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + limits.memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            opened = ox.Store.read_only(str(store)) if isinstance(store, Path) else store
            results = evaluate(opened, text)
            answer = (_TRIPLES if is_triples(results) else _TABLE) + serialised(results, form)
        except TidelogError as error:
            answer = _REFUSED + error.problems[0].sentence.encode()
        view = memoryview(answer)
        while view:
            view = view[os.write(writing, view[:_PIECE]) :]
        code = 0
    finally:
        os._exit(code)


def _received(reading: int, limits: QueryLimits) -> bytes:
    """What the child writes, as long as it may."""
    deadline = time.monotonic() + limits.seconds
    parts: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            sentence = f"the query takes longer than {limits.seconds:g} seconds"
            raise UsageError.of("E836", sentence, remedy="ask for less, or allow more time")
        part = os.read(reading, _PIECE)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > limits.result:
            sentence = f"the answer is larger than {limits.result:,} bytes"
            raise UsageError.of("E836", sentence, remedy="use LIMIT, or allow larger answers")


def _ended(child: int) -> int:
    """End the child if it still runs; its exit status."""
    done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    return status
