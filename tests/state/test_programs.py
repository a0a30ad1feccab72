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


def test_what_updates_did_to_the_rules_is_no_difference():
    """A rule that an update removed stays removed, one that it added is not added again, until the file changes it."""
    said = parse("a: p(x) :- q(x). b: p(x) :- s(x).")
    present = parse("b: p(x) :- s(x). c: p(x) :- t(x).")
    assert not program_change(said, said, present)
    assert not program_change(said, parse("a: p(x) :- q(x). b: p(x) :- s(x). c: p(y) :- t(y)."), present)
    edited = program_change(said, parse("a: p(x) :- q(x), x > 1. d: p(x) :- u(x)."), present)
    assert [rule.name for rule in edited.add.rules] == ["a", "d"]
    assert edited.remove_rules == ("b: p(x) :- s(x).",)


def test_a_rule_that_shares_its_text_with_a_removed_one_stays():
    """Rules are removed by text, and a named rule answers to its text as well."""
    before = parse("p(v0) :- q(v0). r: p(x) :- q(x). q(1).")
    change = program_change(before, parse("r: p(x) :- q(x). q(1)."))
    engine = Engine(before)
    engine.apply(None, change.delete, change.add_rules, change.remove_rules)
    assert engine.rules == ("r: p(x) :- q(x).",)
    assert set(engine["p"]) == {(1,)}


def test_a_new_declaration_is_added_and_an_old_one_stays():
    """Facts were let in under the old one; only a relation that is used no more may lose its declaration."""
    before = parse(".decl q(x: number)\np(x) :- q(x).")
    change = program_change(before, parse(".decl q(x: number)\n.decl s(x: symbol)\np(x) :- q(x)."))
    assert change.add_rules == ".decl s(x: symbol)\n"
    for other in (".decl q(x: symbol)\np(x) :- q(x).", ".decl q(y: number)\np(x) :- q(x).", "p(x) :- q(x)."):
        with pytest.raises(StateError, match=r"E605.*\.decl q\(x: number\)"):
            program_change(before, parse(other))
    assert program_change(before, parse("p(x) :- r(x).")).remove_rules == ("p(x) :- q(x).",)


def test_a_declaration_that_came_by_an_update_counts():
    """The file need not repeat it, but must not contradict it."""
    said = parse("p(x) :- q(x).")
    present = parse(".decl q(x: number)\np(x) :- q(x).")
    assert not program_change(said, said, present)
    assert not program_change(said, parse(".decl q(x: number)\np(x) :- q(x)."), present)
    with pytest.raises(StateError, match="E605"):
        program_change(said, parse(".decl q(x: symbol)\np(x) :- q(x)."), present)


def test_another_program_is_no_edited_one():
    """Without a single relation in common, the state is somebody else's: better refused than replaced rule by rule."""
    with pytest.raises(StateError, match=r"E610.*about p, q, this one about r, s"):
        program_change(parse("p(x) :- q(x)."), parse("r(x) :- s(x)."))
    with pytest.raises(StateError, match="E610"):
        program_change(parse(""), parse("r(x) :- s(x)."), parse("p(x) :- q(x)."))
    assert program_change(parse("p(x) :- q(x)."), parse("")).remove_rules


def test_many_written_facts_are_compared_at_once():
    """A file with a hundred thousand facts, of which two differ."""
    facts = [f"q({number})." for number in range(100_000)]
    change = program_change(parse("\n".join(facts)), parse("\n".join([*facts[1:], "q(-1)."])))
    assert change.add_rules == "q(-1).\n"
    assert change.delete == {"q": [(0,)]}


def test_a_relation_that_an_earlier_release_stored_goes_on_being_stored():
    """Earlier releases read over `inline`: their states hold the relation, and its declaration without the word."""
    stored = parse(".decl p(x: number)\np(x) :- q(x). r(x) :- p(x).")
    file = parse(".decl p(x: number) inline\np(x) :- q(x). r(x) :- p(x).")
    assert not program_change(stored, file, stored)
    assert not program_change(file, file, stored)
    edited = program_change(file, parse(f"{print_program(file)}p(x) :- s(x)."), stored)
    assert (edited.add_rules, edited.remove_rules) == ("p(x) :- s(x).\n", ())
    with pytest.raises(StateError, match="E605"):
        program_change(file, stored, file)


def test_a_state_of_an_earlier_release_opens_with_the_facts_of_its_inline_relations(tmp_path):
    """What such a state holds is a program without the word `inline`, and rows of the relation."""
    engine = Engine(".decl p(x: number)\np(x) :- q(x), x > 1. r(x) :- p(x).")
    engine.apply(insert={"q": [(1,), (2,)], "p": [(0,)]})
    engine.save(tmp_path)
    again = Engine.open(tmp_path)
    assert set(again["p"]) == {(0,), (2,)}
    change = again.apply(insert={"q": [(3,)], "p": [(7,)]})
    assert set(change.inserted["r"]) == {(3,), (7,)}
    again.verify()
