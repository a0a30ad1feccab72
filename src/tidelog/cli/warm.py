"""`tidelog warm`: compile every kernel now, so that nobody waits for it later.

What      : runs a little of everything that the compiled store does; what was compiled stays in the cache on disk.
Idea      : Numba compiles a kernel for the types that it is called with, so the surest way to compile what will be used
            is to use it: every kind of rule, value, aggregate and strategy, on few facts and on many.
Invariant : a second run compiles nothing (but with `--portable`, which begins anew).
Never     : no file of the user is touched; nothing is interpreted (backends/local/kernels/interpreting.py).
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

from tidelog.cli import Subparsers
from tidelog.errors import UsageError

_RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
closed(x, z) :- closed(x, y), closed(y, z).
closed(x, y) :- edge(x, y), x < 60, y < 60.
apart(x, y) :- node(x, _), node(y, _), x < y, y < 20, !path(x, y).
sized(x, n, s, a, b, m, d) :- node(x, _), n = count : { edge(x, _) }, s = sum y : { edge(x, y) },
    a = min y : { edge(x, y) }, b = max y : { edge(x, y) }, m = mean y : { edge(x, y) }, d = median y : { edge(x, y) }.
shared(x, z) :- node(x, w), node(z, w), x != z, x < 40.
label(x, cat(w, "-", w), strlen(w), substr(w, 0, 1)) :- node(x, w), match("n.*", w), contains("n", w).
number(x, x + 1, x - 1, x * 2, x / 2, x % 3, x ^ 2, -x, min(x, 3), max(x, 3), abs(x)) :- node(x, _), x < 20.
real(f, f * 1.5, f / 2.0) :- weight(_, f), f > 0.25.
four(a, b, c, d) :- edge(a, b), edge(b, c), edge(c, d), a < 5.
"""
_PAIRS = """
path(x, z) :- path(x, y), path(z, y), !edge(x, z), y != z.
path(x, y) :- edge(x, y).
loop(x, x) :- path(x, _), edge(x, y), path(y, x).
"""
_STRATEGIES = ("recompute", "dred", "bf", "dred-mark", "bf-mark", "counting", "circuit", "auto")
_MANY = 6000
_LARGE = 600
_SHARED = 40_000
_STEPS = 80


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("warm", help="compile everything now, once per installation")
    parser.add_argument(
        "--portable",
        nargs="?",
        const="",
        metavar="DIR",
        help="compile for every processor of this kind, into the installed package, for all users (or into DIR)",
    )


def run(args: argparse.Namespace) -> int:
    """Use everything once."""
    from tidelog.backends.local.kernels.compiling import counted
    from tidelog.backends.local.kernels.interpreting import compile_from_now_on

    _choose_place(args.portable)
    compile_from_now_on()
    started, compiled = time.perf_counter(), 0

    def begun() -> None:
        nonlocal compiled
        compiled += 1
        if sys.stderr.isatty():
            print(f"\rcompiling, once per installation: {compiled} functions", end="", file=sys.stderr, flush=True)

    with counted(begun):
        for strategy in _STRATEGIES:
            _use(strategy)
        _use_bits()
        _use_threads()
        _use_arrivals()
        _use_files()
    if compiled and sys.stderr.isatty():
        print(file=sys.stderr)
    seconds = time.perf_counter() - started
    print(f"{compiled} functions compiled in {seconds:.1f} s" if compiled else "everything is compiled already")
    return 0


def _choose_place(portable: str | None) -> None:
    """Compile for this processor, where Numba keeps it; or for its kind, into a folder."""
    from tidelog.backends.local.kernels.kernel_cache import AHEAD, compile_ahead, leave_ahead_alone

    if portable is None:
        leave_ahead_alone()
        return
    folder = Path(portable or AHEAD)
    try:
        compile_ahead(folder)
    except OSError as error:
        sentence = f"kernels cannot be written to {folder}: {error.strerror}"
        raise UsageError.of("E806", sentence, remedy="name another folder, or be who installed the package") from error


def _use(strategy: str) -> None:
    """A small engine and, once, a larger one."""
    from tidelog.engine import Engine

    engine = Engine(_RULES, strategy=strategy)
    engine.apply(insert=_facts(60))
    engine.apply(delete={"edge": [(3, 4), (10, 11)]}, insert={"edge": [(3, 11)]})
    engine.apply(add_rules="extra: far(x) :- path(1, x), !node(x, _).")
    engine.apply(remove_rules=["extra"])
    engine.apply(insert={"edge": [("a", "b")]}, delete={"node": [(1, "n1")]})
    engine.query("path(1, x), n = count : { edge(x, _) }, !node(x, 'n3')")
    engine.verify()
    if strategy in ("auto", "counting"):
        larger = Engine("p(x, y) :- e(x, y).\np(x, z) :- e(x, y), p(y, z), z < 40.\nq(x) :- p(x, _), !e(_, x).")
        larger.strategy = strategy
        larger.apply(insert={"e": [(number, (number * 7) % _MANY) for number in range(_MANY)]})
        larger.apply(delete={"e": [(number, (number * 7) % _MANY) for number in range(0, _MANY, 3)]})
        larger["p"].to_arrow()
        _use_groups(strategy)


def _use_groups(strategy: str) -> None:
    """Large groups, of numbers and of texts."""
    from tidelog.engine import Engine

    names = ("sum", "mean", "max", "median")
    rules = [f"{name}_of(g, n) :- group(g), n = {name} v : {{ member(g, _, v) }}." for name in names]
    engine = Engine("\n".join(rules), strategy=strategy)
    numbers, texts = [(0, one, one / 3) for one in range(_LARGE)], [(1, one, str(one)) for one in range(_LARGE)]
    engine.apply(insert={"group": [(0,), (1,)], "member": [*numbers, *texts]})
    for value in ("x", 2, 0.5):
        engine.apply(insert={"member": [(0, "new", 1), (1, "new", value)]})
        engine.apply(delete={"member": [(0, "new", 1), (1, "new", value)]})


def _use_files() -> None:
    """What tasks of Spark do besides: hashes of texts, rows that are sorted into files, keys that are looked up."""
    import numpy as np
    import pyarrow as pa

    from tidelog.backends.local.constants.same_texts import is_first
    from tidelog.backends.local.constants.text_hashes import leading_bits
    from tidelog.backends.local.relations.key_search import KeySearch
    from tidelog.backends.local.relations.row_sorting import sorted_rows

    texts = pa.array([f"n{number}" for number in range(_MANY)])
    is_first(texts, leading_bits(texts, "s").view(np.int64))
    sorted_rows(np.arange(3 * _MANY).reshape(3, _MANY) % 7, 2)
    KeySearch(np.arange(_MANY)).find(np.arange(3))


def _use_bits() -> None:
    """Stages of pairs, in bits."""
    from tidelog.backends.local.bits.rows_or_bits import Way, computing
    from tidelog.engine import Engine

    with computing(Way.BITS):
        engine = Engine(_PAIRS, strategy="recompute")
        engine.apply(insert=_facts(150))
        engine.apply(delete={"edge": [(3, 4)]})


def _use_threads() -> None:
    """Work that is large enough to be shared."""
    from tidelog.engine import Engine

    engine = Engine("p(x, y) :- e(x, y).\nq(x, y, z) :- p(x, y), p(y, z).", strategy="dred", threads=2)
    edges = [(number, number + 1) for number in range(_SHARED)]
    engine.apply(insert={"e": edges})
    engine.apply(delete={"e": edges[: _SHARED // 2]})


def _use_arrivals() -> None:
    """Urgent updates that pass bulk work, at some of its steps."""
    from tidelog.engine import Engine

    engine, steps = Engine(_PAIRS + "out(x) :- loop(x, x), !node(x, _).", strategy="dred"), count()
    facts = _facts(60)
    engine.apply(insert=facts)

    def watch(_: int) -> None:
        step = next(steps)
        if step % 8 == 0 and step <= _STEPS:
            engine.submit(insert={"edge": [(1000 + step, 1001 + step)]}, urgent=True)

    engine.watcher = watch
    engine.submit(delete={"edge": facts["edge"][:30]}).result()
    engine.watcher = None
    engine.settle()


def _facts(count: int) -> dict[str, Any]:
    """A chain with shortcuts, names and weights."""
    edges = [(number, number + 1) for number in range(count)] + [(number, number + 5) for number in range(0, count, 7)]
    return {
        "edge": edges,
        "node": [(number, f"n{number % 9}") for number in range(count)],
        "weight": [(number, number / 7) for number in range(count)],
    }
