"""Shrinking leaves what matters: a small, valid case that still shows the fault."""

from __future__ import annotations

from tests.differential.case import Case, Update
from tests.differential.engines import ReferenceEngine
from tests.differential.harness import agree
from tests.differential.shrink import disagrees, is_valid, minimal, shrink
from tests.differential.updates import draw_case
from tidelog.language.parser import parse
from tidelog.language.terms import Atom, Program
from tidelog.reference.recompute import Recompute


class LeavesRulesOut(ReferenceEngine):
    """An engine with a fault: it leaves out every rule with a negation, a comparison or an aggregate."""

    def __init__(self, program: Program) -> None:
        kept = (rule for rule in program.rules if all(isinstance(literal, Atom) for literal in rule.body))
        super().__init__(Recompute, Program(tuple(kept), program.facts, program.declarations))


def failing_case() -> Case:
    """The first drawn case on which the faulty engine fails at the first materialisation."""
    fails = disagrees("wrong", LeavesRulesOut)
    return next(case for case in map(draw_case, range(1000)) if fails(case))


def test_a_drawn_failure_becomes_small() -> None:
    """A rule or two, a fact or two, and no update are enough to show this fault."""
    case = failing_case()
    small = shrink(case, disagrees("wrong", LeavesRulesOut))
    assert disagrees("wrong", LeavesRulesOut)(small)
    assert is_valid(small)
    assert len(small.updates) == 0
    assert len(small.program.rules) <= 2
    assert len(small.program.facts) <= 2
    agree(small, {"right": lambda program: ReferenceEngine(Recompute, program)})


def test_minimal_finds_the_pair_that_matters() -> None:
    """Items that matter only together are both kept, wherever they are."""
    assert minimal(range(100), lambda kept: 3 in kept and 77 in kept) == (3, 77)
    assert minimal(range(5), lambda _: True) == ()


def test_updates_shrink_inside() -> None:
    """Facts and rules of an update go one by one; rules without a name can still be removed by one."""
    program = parse("p(x) :- q(x), r(x). q(1). r(1). r(2).")
    updates = (
        Update(insert=(("q", (2,)), ("q", (3,))), delete=(("r", (1,)),)),
        Update(remove_rules=("p(v0) :- q(v0), r(v0).",)),
    )

    def fails(case: Case) -> bool:
        return any(update.remove_rules for update in case.updates)

    small = shrink(Case(program, updates), fails)
    assert small.program.facts == ()
    assert [len(rule.body) for rule in small.program.rules] == [1]
    assert [bool(update.insert or update.delete) for update in small.updates] == [False]


def test_refusals_stay_deserved() -> None:
    """A case in which a harmless rule is said to be refused is not valid, so shrinking never ends there."""
    harmless = parse("p(x) :- q(x).").rules
    assert not is_valid(Case(Program(), (Update(add_rules=harmless, refused="ProgramError"),)))
    assert not is_valid(Case(Program(), (Update(remove_rules=("unknown",)),)))
