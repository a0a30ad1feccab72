"""The difference between two programs, applied to the one, gives the other."""

from __future__ import annotations

import pytest

from tests.differential.updates import draw_case
from tests.state.streams import sight
from tidelog import Engine
from tidelog.errors import StateError
from tidelog.language.parser import parse
from tidelog.language.printer import print_program
from tidelog.state.programs import program_change
from tidelog.state.versions import fingerprint


@pytest.mark.parametrize("seed", range(12))
def test_the_difference_leads_from_one_program_to_another(seed):
    """From the program of a random case to the one that its updates leave, facts included, in a single update."""
    case = draw_case(seed)
    before = parse(print_program(case.program))
    after = parse(print_program(draw_case(seed).program).replace('"a"', '"z"'))
    kept = after.rules[::2]
    after = type(after)(kept, after.facts, after.declarations, after.inputs, after.outputs)
    change = program_change(before, after)
    engine = Engine(before)
    engine.apply(None, change.delete, change.add_rules, change.remove_rules)
    wanted = Engine(after)
    found, expected = sight(engine), sight(wanted)
    assert (found.facts, found.explicit) == (expected.facts, expected.explicit)
    assert fingerprint(engine.program) == fingerprint(wanted.program)


def test_the_same_rules_make_no_difference():
    """Order, spelling and names of variables are no change; a rule's own name is one."""
    before = parse("p(x) :- q(x). r: p(x) :- s(x).")
    assert not program_change(before, parse("r: p(y) :- s(y). p(z) :- q(z)."))
    assert fingerprint(before) == fingerprint(parse("r: p(y) :- s(y). p(z) :- q(z)."))
    assert program_change(before, parse("p(x) :- q(x). renamed: p(x) :- s(x)."))
    assert fingerprint(before) != fingerprint(parse("p(x) :- q(x). renamed: p(x) :- s(x)."))


def test_a_new_declaration_is_added_and_an_old_one_stays():
    """Facts were let in under the old one."""
    before = parse(".decl q(x: number)")
    change = program_change(before, parse(".decl q(x: number)\n.decl s(x: symbol)"))
    assert change.add_rules == ".decl s(x: symbol)\n"
    for other in (".decl q(x: symbol)", ""):
        with pytest.raises(StateError, match="E605"):
            program_change(before, parse(other))
