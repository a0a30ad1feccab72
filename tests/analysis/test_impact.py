"""Before anything is changed: which relations can gain facts, which can lose some."""

import pytest

from tests.differential.updates import draw_case
from tidelog.analysis.impact import impact
from tidelog.analysis.program_check import problems
from tidelog.errors import UsageError
from tidelog.language.parser import parse
from tidelog.language.terms import Program
from tidelog.reference.facts import to_fact
from tidelog.reference.naive import materialise

PROGRAM = parse("""
    r1: a(x) :- e(x).
    r2: b(x) :- a(x).
    r3: c(x) :- e(x), !b(x).
    r4: d(n) :- n = count : { c(x) }.
    r5: far(x) :- e(x).
""")


def rules(text: str):
    return parse(text).rules


def test_adding_a_rule_spreads_upwards_with_its_sign():
    """b gains, so c can only lose; a count answers with a new number and withdraws the old one."""
    found = impact(PROGRAM, added=rules("a(x) :- f(x)."))
    assert found.gaining == {"a", "b", "d"}
    assert found.losing == {"c", "d"}
    assert "far" not in found.relations


def test_removing_a_rule_by_name_by_text_and_as_a_rule():
    """The three ways mean the same."""
    expected = impact(PROGRAM, removed=["r2"])
    assert expected.losing == {"b", "d"}
    assert expected.gaining == {"c", "d"}
    assert impact(PROGRAM, removed=["b(v0) :- a(v0)."]) == expected
    assert impact(PROGRAM, removed=[PROGRAM.rules[1]]) == expected


def test_removing_and_adding_the_same_rule_changes_nothing():
    """Also under another name and with other variables."""
    assert not impact(PROGRAM, added=rules("again: b(y) :- a(y)."), removed=["r2"]).relations


def test_another_rule_under_the_same_name_is_a_change():
    """Names identify rules, but it is what they say that matters."""
    found = impact(PROGRAM, added=rules("r5: far(x) :- f(x)."), removed=["r5"])
    assert found.gaining == found.losing == {"far"}


def test_a_rule_that_is_there_already_changes_nothing():
    """Facts are sets."""
    assert not impact(PROGRAM, added=rules("far(z) :- e(z).")).relations


def test_an_unknown_rule_is_refused():
    """A typo in a name would otherwise look like a harmless removal."""
    with pytest.raises(UsageError, match="there is no rule r9"):
        impact(PROGRAM, removed=["r9"])


def test_recursion_ends():
    """A cycle of relations is walked once."""
    program = parse("p(x) :- q(x). q(x) :- p(x). q(x) :- e(x).")
    assert impact(program, removed=["q(v0) :- e(v0)."]).losing == {"p", "q"}


@pytest.mark.parametrize("seed", range(40))
def test_relations_outside_the_impact_do_not_change(seed):
    """The law of this module: drawn programs with negation and aggregates, evaluated before and after."""
    case = draw_case(seed)
    inserted = [fact for update in case.updates for fact in update.insert]
    written = [(fact.relation, tuple(constant.value for constant in fact.values)) for fact in case.program.facts]
    facts = [to_fact(relation, values) for relation, values in (*inserted, *written)]
    rules = case.program.rules
    for count in range(1, len(rules)):
        fewer = Program(rules[:count])
        before, after = materialise(fewer.rules, facts), materialise(rules, facts)
        found = impact(fewer, added=rules[count:])
        assert {fact[0] for fact in after - before} <= found.gaining
        assert {fact[0] for fact in before - after} <= found.losing
        back = impact(Program(rules), removed=rules[count:])
        assert (back.gaining, back.losing) == (found.losing, found.gaining)


@pytest.mark.parametrize("seed", range(100))
def test_drawn_programs_have_no_problems(seed):
    """What the differential tests draw is safe, typed and stratified by construction: a problem here is ours."""
    assert problems(draw_case(seed).program) == ()
