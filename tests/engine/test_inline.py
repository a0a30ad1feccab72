"""Inline relations in an engine: they are not stored, nothing else differs, and the program stays as it was written."""

from __future__ import annotations

import pytest

from tests.differential.engines import STRATEGIES
from tidelog import Engine
from tidelog.analysis.inlining import evaluated_rules
from tidelog.errors import ProgramError, UpdateError, UsageError
from tidelog.language.parser import parse
from tidelog.language.printer import print_program
from tidelog.provenance.checker import check_proof

PROGRAM = """
.decl e(x: number, y: number)
.decl lt(x: number, y: number) inline
first: lt(x, y) :- x < y.
.decl up(x: number, y: number)
up(x, y) :- e(x, y), lt(x, y).
.decl other(x: number, y: number)
rest: other(x, y) :- e(x, y), !lt(x, y).
"""
FACTS = {"e": [(1, 2), (2, 1), (3, 3)]}


@pytest.fixture(params=STRATEGIES)
def engine(request):
    made = Engine(PROGRAM, strategy=request.param)
    made.apply(insert=FACTS)
    return made


def test_an_inline_relation_is_not_stored(engine):
    assert set(engine["up"]) == {(1, 2)}
    assert set(engine["other"]) == {(2, 1), (3, 3)}
    assert engine.relations == ("e", "other", "up")
    assert "lt" not in engine
    for asked in (lambda: engine["lt"], lambda: engine.explicit("lt"), lambda: engine.explain("lt", (1, 2))):
        with pytest.raises(UsageError, match="E821  lt is inline"):
            asked()


def test_a_rule_of_an_inline_relation_changes_all_that_use_it_at_once(engine):
    change = engine.apply(add_rules="second: lt(x, y) :- x = y.")
    assert set(change.inserted["up"]) == {(3, 3)}
    assert set(change.deleted["other"]) == {(3, 3)}
    assert engine.version == 2
    change = engine.apply(remove_rules=["lt(a, b) :- a < b."])
    assert set(change.deleted["up"]) == {(1, 2)}
    assert set(change.inserted["other"]) == {(1, 2)}
    engine.apply(remove_rules=["second"])
    assert set(engine["up"]) == set()
    assert set(engine["other"]) == set(FACTS["e"])
    engine.verify()


def test_removing_a_written_rule_removes_all_that_it_became(engine):
    engine.apply(add_rules="lt(x, y) :- x = y + 1.")
    assert set(engine["up"]) == {(1, 2), (2, 1)}
    change = engine.apply(remove_rules=["up(x, y) :- e(x, y), lt(x, y)."])
    assert set(change.deleted["up"]) == {(1, 2), (2, 1)}
    assert len(engine.rules) == 3
    engine.verify()


def test_the_rules_are_as_they_were_written(engine):
    assert "up(x, y) :- e(x, y), lt(x, y)." in engine.rules
    assert engine.apply(add_rules="up(a, b) :- e(a, b), lt(a, b).").inserted.total == 0
    assert engine.apply(add_rules="first: lt(x, y) :- x < y.").inserted.total == 0
    assert len(engine.rules) == 3


def test_facts_of_an_inline_relation_are_refused_and_nothing_changes(engine):
    for asked in ({"insert": {"lt": [(1, 2)]}}, {"delete": {"lt": [(1, 2)]}}, {"add_rules": "lt(1, 2)."}):
        with pytest.raises(UpdateError, match="E309  lt is inline"):
            engine.apply(**asked)
        with pytest.raises(UpdateError, match="E309  lt is inline"):
            engine.submit(**asked)
    assert engine.version == 1


def test_a_relation_with_facts_cannot_become_inline_and_one_with_rules_can():
    engine = Engine("up(x, y) :- e(x, y), lt(x, y).\nlt(x, y) :- e(x, y), x < y.")
    engine.apply(insert={**FACTS, "lt": [(3, 3)]})
    with pytest.raises(ProgramError, match="E214  lt is declared inline"):
        engine.apply(add_rules=".decl lt(x: number, y: number) inline")
    engine.apply(delete={"lt": [(3, 3)]})
    change = engine.apply(add_rules=".decl lt(x: number, y: number) inline")
    assert set(change.deleted["lt"]) == {(1, 2)}
    assert set(engine["up"]) == {(1, 2)}
    assert engine.relations == ("e", "up")
    engine.verify()


def test_submitted_updates_of_inline_rules(engine):
    futures = [
        engine.submit(insert={"e": [(4, 4)]}),
        engine.submit(add_rules="second: lt(x, y) :- x = y."),
        engine.submit(insert={"e": [(5, 5), (6, 5)]}),
        engine.submit(remove_rules=["first"]),
    ]
    for future in futures:
        future.result()
    assert set(engine["up"]) == {(3, 3), (4, 4), (5, 5)}
    assert set(engine["other"]) == {(1, 2), (2, 1), (6, 5)}
    engine.verify()


def test_questions_may_use_inline_relations(engine):
    assert engine.query("lt(1, 2)")
    assert not engine.query("lt(2, 1)")
    assert set(engine.query("e(x, y), lt(x, y)")) == {(1, 2)}
    assert set(engine.query("e(x, _), !lt(x, $most)", {"most": 2})) == {(2,), (3,)}
    assert set(engine.query("n = count : { e(x, y), lt(x, y) }")) == {(1,)}
    with pytest.raises(ProgramError, match=r"E202 .*\(with the rules of lt in its place\)"):
        engine.query("lt(x, y)")
    with pytest.raises(UsageError, match="E804"):
        engine.query("lt(1)")


def test_a_question_for_an_inline_relation_gives_whole_facts(engine):
    engine.apply(add_rules=".decl loop(first: number, second: number) inline\nloop(x, y) :- e(x, y), e(y, x).")
    found = engine.query("loop(x, 1)")
    assert (found.columns, set(found)) == (("x", "second"), {(2, 1)})
    found = engine.query("loop(x, x)")
    assert (found.columns, set(found)) == (("x", "second"), {(3, 3)})


def test_a_proof_names_the_written_rule_and_stands_on_what_is_evaluated(engine):
    proof = engine.explain("up", (1, 2))
    assert str(proof).splitlines() == [
        "up(1, 2)  by up(x, y) :- e(x, y), lt(x, y).",
        "  e(1, 2)  is explicit",
        "  1 < 2",
    ]
    rules = evaluated_rules(engine.program)
    assert check_proof(proof, rules, lambda name: list(engine[name]), lambda *_: True) == []
    assert "up(x, y) :- e(x, y), lt(x, y)." in str(engine.explain_absence("up", (2, 1)))
    change = engine.apply(delete={"e": [(1, 2)]})
    assert "by up(x, y) :- e(x, y), lt(x, y)." in str(engine.explain_change(change, "up", (1, 2)))


def test_plans_previews_and_counts_speak_of_written_rules(engine):
    assert "e" in engine.plan("rest")
    assert "lt is inline" in engine.plan("first")
    preview = engine.preview(add_rules="lt(x, y) :- x = y.")
    assert preview.relations == {"up", "other"}
    half = ".decl half(x: number, y: number) inline\nhalf(x, y) :- y = 6 / x.\n"
    engine.apply(add_rules=f"{half}h: h(y) :- e(x, _), half(x - 1, y).")
    assert engine.without_value["h"].count == 1


def test_a_state_keeps_what_was_written(tmp_path, engine):
    engine.save(tmp_path / "state")
    again = Engine.open(tmp_path / "state")
    assert (again.rules, again.relations) == (engine.rules, engine.relations)
    assert print_program(again.program) == print_program(engine.program)
    change = again.apply(insert={"e": [(5, 7)]}, add_rules="second: lt(x, y) :- x = y.")
    assert set(change.inserted["up"]) == {(5, 7), (3, 3)}
    again.verify()
    again.save(tmp_path / "state")
    assert set(Engine.open(tmp_path / "state")["up"]) == {(1, 2), (3, 3), (5, 7)}


def test_an_update_that_is_refused_leaves_the_inline_rules(engine):
    with pytest.raises(ProgramError, match="E213"):
        engine.apply(insert={"e": [(7, 8)]}, add_rules="lt(x, y) :- lt(y, x).")
    assert len(engine.rules) == 3
    assert set(engine["up"]) == {(1, 2)}


def test_ten_thousand_expansions_of_one_rule_are_planned_like_as_many_rules():
    """Found by looking: rules of one key had one hash, so that their number was squared."""
    text = ".decl c(x: any) inline\n" + "".join(f"c({number}) :- true.\n" for number in range(90))
    engine = Engine(text + "r(x, y) :- c(x), c(y), e(x, y).")
    engine.apply(insert={"e": [(1, 2), (1, 90)]})
    assert set(engine["r"]) == {(1, 2)}
    stages = engine._book.schedule.stages
    (rules,) = (scheduled.stage.rules for scheduled in stages if "r" in scheduled.stage.relations)
    assert len({hash(rule) for rule in rules}) == len(rules) == 8100


def test_a_program_object_may_be_inline_too():
    engine = Engine(parse(PROGRAM))
    engine.apply(insert=FACTS)
    assert set(engine["up"]) == {(1, 2)}
