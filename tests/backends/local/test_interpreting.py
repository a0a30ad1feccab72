"""Kernels are interpreted until there is much to do, and nobody can tell but by the clock.

Every test runs processes of its own, because the change from interpreted to compiled kernels is for good.
"""

import json
import os
import subprocess
import sys

import pytest

PLAY = """
import hashlib, json, sys
import tidelog as tl

RULES = '''
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
back(x, y, z) :- edge(x, y), path(y, z), path(z, x).
apart(x, y) :- node(x, _), node(y, _), x < y, !path(x, y).
sized(x, n, s, m, d) :- node(x, _), n = count : { edge(x, _) }, s = sum y : { edge(x, y) },
    m = max y : { edge(x, y) }, d = median y : { edge(x, y) }.
far(x, x * 3 - 7, f / 2.0, cat(w, "!")) :- node(x, w), weight(x, f), f > 0.5, x % 3 = 1.
alone(x) :- node(x, _), !edge(x, _).
'''

def bits(engine):
    digest = {}
    for name, relation in sorted(engine._backend.store.relations.items()):
        count = relation.count
        parts = [relation.rows[:count], relation.marks[:count], relation.slots]
        parts += [part for _, index in sorted(relation._indexes.items()) for part in (index.slots, index.links[:count])]
        digest[name] = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
    return digest

def play(strategy):
    engine = tl.Engine(RULES, strategy=strategy)
    edges = [(n, n + 1) for n in range(12)] + [(n, (n * 5) % 13) for n in range(0, 12, 4)]
    names = [(n, "n" * (n % 9) + str(n % 4)) for n in range(14)]
    engine.apply(insert={"edge": edges, "node": names, "weight": [(n, n / 4) for n in range(14)]})
    engine.apply(delete={"edge": [(3, 4), (7, 8)]}, insert={"edge": [(3, 8), (-5, 2**62), ("a", 1.5)]})
    engine.apply(add_rules="extra: loop(x) :- path(x, x).", delete={"node": [(2, "nn2")]})
    engine.apply(remove_rules=["extra"], insert={"edge": [(7, 8)]})
    asked = engine.query("path(1, x), n = count : { edge(x, _) }")
    told = {name: sorted(map(repr, engine[name])) for name in ("path", "back", "apart", "sized", "far", "alone")}
    engine.verify()
    return [told, sorted(map(repr, asked)), bits(engine)]
"""


def run(code, **environment):
    """Run Python code in a fresh interpreter; what it prints."""
    known = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=known)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "strategies", [("dred",), pytest.param(("bf", "counting", "recompute", "auto"), marks=pytest.mark.long)]
)
def test_interpreted_and_compiled_kernels_leave_the_same_bits(strategies):
    """Rows, marks, hash tables and links: a table that one way has filled is read by the other."""
    code = PLAY + f"print(json.dumps([play(strategy) for strategy in {strategies!r}]))"
    ways = [json.loads(run(code, TIDELOG_KERNELS=way)) for way in ("interpreted", "compiled")]
    assert ways[0] == ways[1]
    assert len(ways[0][0][0]["path"]) > 50


def test_a_small_engine_never_imports_numba():
    """A first result on a fresh installation waits for no compiler."""
    first = "engine = tl.Engine('p(x, y) :- e(x, y).')\nengine.apply(insert={'e': [('a', 'b')]})\n"
    assert run(PLAY + first + "print(sorted({'numba', 'llvmlite'} & set(sys.modules)))") == "[]\n"


def test_growing_engines_change_in_the_middle_of_an_update():
    """Thirty facts that derive thousands: the join begins interpreted and ends compiled, in tables made by both."""
    code = """
import tidelog as tl
from tidelog.backends.local.kernels import interpreting
from tidelog.backends.local.joins import machine
interpreting._PATIENCE = interpreting._PATIENCE_COLD = 0.02
engine = tl.Engine("p(a, b, c) :- n(a), n(b), n(c), a != b.\\nq(x) :- p(x, _, _).")
before = type(machine.run)
engine.apply(insert={"n": [(k,) for k in range(30)]})
assert len(engine["p"]) == 30 * 29 * 30, len(engine["p"])
assert before is interpreting.Kernel
assert type(machine.run) is not before
engine.apply(delete={"n": [(3,)]})
engine.verify()
print(len(engine["q"]))
"""
    assert run(code) == "29\n"


def test_an_interrupt_waits_for_the_kernel():
    """Compiled code is never interrupted in the middle; interpreted code must not be, either.

    Two thousand rows take a tenth of a second to store; an exception sent meanwhile arrives when all of them are there.
    """
    code = """
import ctypes, threading
import numpy as np
from tidelog.backends.local.kernels import interpreting
from tidelog.backends.local.relations.relation import Relation
from tidelog.planning.views import ANY, Mark
relation = Relation("r", 2)
table = np.arange(4000, dtype=np.int32).reshape(2000, 2)
caller = threading.get_ident()
def interrupt():
    while relation.count < 5:
        pass
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(caller), ctypes.py_object(KeyboardInterrupt))
threading.Thread(target=interrupt).start()
try:
    relation.store(table, ANY, Mark.NOW)
    threading.Event().wait(10)
except KeyboardInterrupt:
    print(relation.count, len(relation.journal))
"""
    assert run(code, TIDELOG_KERNELS="interpreted") == "2000 2000\n"


def test_undoing_waits_for_a_kernel_that_was_left_behind():
    """A second interrupt can end the waiting for a kernel; what undoes the update waits for it again."""
    code = """
import threading
import tidelog as tl
from tidelog.backends.local.kernels import interpreting
engine = tl.Engine("p(x) :- q(x).")
engine.apply(insert={"q": [(1,)]})
for undo in (engine._backend.store.rollback, engine._backend.store.distrust):
    begun, done = threading.Event(), []
    def slow():
        begun.set()
        threading.Event().wait(0.3)
        done.append(True)
    interpreting._INTERPRETER._thread().put(slow)
    assert begun.wait(10)
    undo()
    assert done
engine.verify()
print("waited")
"""
    assert run(code, TIDELOG_KERNELS="interpreted") == "waited\n"


def test_a_child_of_a_fork_interprets_with_a_thread_of_its_own():
    """Threads do not survive a fork; Spark's workers are forks."""
    code = """
import os
import tidelog as tl
def play():
    engine = tl.Engine("p(x) :- q(x).")
    engine.apply(insert={"q": [(1,), (2,)]})
    return len(engine["p"])
play()
child = os.fork()
if child == 0:
    os._exit(play())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(code, TIDELOG_KERNELS="interpreted") == "2\n"
