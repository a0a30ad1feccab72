"""A rule over a relation without facts is neither planned nor run, and a program is checked once.

A chain of 20,000 rules took 16 s to become an engine: half of it went into plans of rules that had nothing to match,
and the whole program was checked twice.
"""

from tidelog import Engine
from tidelog.analysis import program_check
from tidelog.backends.local.joins import preparation

CHAIN = "\n".join(f"r{number + 1}(x) :- r{number}(x)." for number in range(30))


def counted(monkeypatch, module, name):
    """Count the calls of a function."""
    calls, real = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: calls.append(given) or real(*given))
    return calls


def test_rules_without_facts_get_no_plan(monkeypatch):
    """They get one when facts come; until then their relations are known, and empty."""
    planned = counted(monkeypatch, preparation, "plan_all")
    engine = Engine(CHAIN)
    assert not planned
    assert len(engine["r30"]) == 0
    engine.apply(insert={"r0": [(1,)]})
    assert list(engine["r30"]) == [(1,)]
    engine.apply(delete={"r0": [(1,)]})
    assert list(engine["r30"]) == []


def test_a_program_is_checked_once(monkeypatch):
    """The check of the constructor is the one that its first version is made with."""
    inferred = counted(monkeypatch, program_check, "TypeInference")
    Engine(CHAIN)
    assert len(inferred) == 1
