"""A book that is turned rule by rule has the stages that all its rules would give from scratch.

A stage that is changed in place can be wrong where no fact shows it at once: two relations that now depend on each
other stay apart, one that no longer recurs is still taken for recursive, or a stage comes before one that it reads.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import tidelog as tl
from tidelog.analysis.program_check import Checked, check, examine
from tidelog.language.parser import parse
from tidelog.language.printer import print_rule
from tidelog.language.terms import Program
from tidelog.maintenance import rule_book
from tidelog.maintenance.rule_book import RuleBook
from tidelog.maintenance.schedule import RuleChange

RELATIONS = "abcdefgh"


def a_rule(chance: random.Random) -> str:
    """A safe rule over few relations, so that cycles, new heads and lost heads are frequent."""
    head, first, second = (chance.choice(RELATIONS) for _ in range(3))
    name = chance.choice(("", "", "r1: ", "r2: "))
    further = chance.choice(("", "", f", {second}(y, z)", f", !{second}(x, _)", f", y = count : {{ {second}(x, _) }}"))
    return f"{name}{head}(x, y) :- {first}(x, y){further}."


def next_program(present: Checked, chance: random.Random) -> Checked:
    """The program after some rules have come and gone; it may be refused."""
    rules = list(present.program.rules)
    if rules and chance.random() < 0.5:
        gone = chance.sample(rules, min(len(rules), chance.choice((1, 1, 2))))
        rules = [rule for rule in rules if rule not in gone]
    if not rules or chance.random() < 0.6:
        texts = [a_rule(chance) for _ in range(chance.choice((1, 1, 2)))]
        rules.extend(rule for text in texts for rule in parse(text).rules if rule not in rules)
    return examine(replace(present.program, rules=tuple(rules)), present)


def shape(book: RuleBook) -> set[object]:
    """What a book says about each stage, whatever the order of stages."""
    return {
        (one.stage, one.positive, one.negated, one.grounded, one.recurring, one.reads) for one in book.schedule.stages
    }


@pytest.mark.parametrize("seed", range(40))
def test_a_book_turned_rule_by_rule_is_the_book_from_scratch(seed, monkeypatch):
    """Stages, arities, who reads whom and an order in which each stage comes after those that it reads."""
    chance = random.Random(seed)
    book = RuleBook.of(check(Program()))
    for _ in range(60):
        checked = next_program(book.checked, chance)
        if checked.problems:
            continue
        after = book.turned(checked)
        with monkeypatch.context() as patched:
            patched.setattr(rule_book, "turned", lambda *_: None)
            fresh = RuleBook.of(checked)
        assert shape(after) == shape(fresh)
        assert after.arities == fresh.arities
        schedule = after.schedule
        assert schedule.groups == fresh.schedule.groups
        assert schedule.hidden == {name for name in schedule.place if name.startswith("@")}
        for number, one in enumerate(schedule.stages):
            assert {schedule.place[relation] for relation in one.stage.relations} == {number}
            assert all(schedule.place.get(read, -1) < number for read in one.reads)
        for relation in after.arities:
            reading = [number for number, one in enumerate(schedule.stages) if relation in one.reads]
            assert list(schedule.readers.get(relation, ())) == reading
        change, expected = (RuleChange.between(book.schedule, other.schedule) for other in (after, fresh))
        for mine, theirs in ((change.added, expected.added), (change.removed, expected.removed)):
            assert {(rule.head, rule.body) for rule in mine} == {(rule.head, rule.body) for rule in theirs}
        book = after


def test_a_new_leaf_lowers_no_other_rule(monkeypatch):
    """Neither does a rule for a relation that has rules, nor one that goes."""
    book = RuleBook.of(check(parse("p(x) :- q(x).\nr(x) :- p(x), !s(x).\nn(x) :- x = count : { p(_) }.")))
    monkeypatch.setattr(rule_book, "lower", None)
    for text in ("leaf(x) :- r(x).", "top(x) :- leaf(x). over(x) :- top(x), over(x).", "r(x) :- p(x), s(x)."):
        book = book.turned(check(book.changed(parse(text), ())))
    book.turned(check(book.changed(Program(), ("leaf(x) :- r(x).", "r(x) :- p(x), s(x)."))))


def test_a_rule_that_is_there_twice_stays_if_one_of_the_two_goes():
    """Equal rules share their lowered form; what one of them leaves behind is still needed by the other."""
    one, other = (parse("p(x) :- q(x).").rules[0] for _ in range(2))
    book = RuleBook.of(Checked(Program((one, other))))
    (scheduled,) = book.turned(Checked(Program((other,)))).schedule.stages
    assert len(scheduled.stage.rules) == 1


@pytest.mark.parametrize("seed", range(12))
def test_an_engine_whose_rules_come_and_go_equals_recomputation(seed):
    """The one law, over books that were turned and not made; a refused change leaves all as it was."""
    chance = random.Random(seed)
    facts = {name: {(chance.randrange(6), chance.randrange(6)) for _ in range(9)} for name in "abc"}
    engine = tl.Engine()
    engine.apply(insert={name: sorted(some) for name, some in facts.items()})
    for _ in range(25):
        removed = [rule for rule in engine.rules if chance.random() < 0.15]
        before = engine.rules
        try:
            engine.apply(
                add_rules="\n".join({a_rule(chance) for _ in range(chance.choice((0, 1, 1, 2)))}), remove_rules=removed
            )
        except tl.TidelogError:
            assert engine.rules == before
        engine.verify()
    assert engine.rules == tuple(print_rule(rule) for rule in engine.program.rules)


def test_a_rule_that_leaves_and_comes_back_stands_behind_those_that_came_with_it():
    """Removed and added again in one update, it is another rule with the same text, and rules keep their order."""
    book = RuleBook.of(check(parse("r1: b(x, y) :- b(x, y).")))
    program = book.changed(parse("b(x, y) :- b(x, y).\nr1: b(x, y) :- b(x, y)."), ("r1",))
    (turned,), (fresh,) = (one.schedule.stages for one in (book.turned(check(program)), RuleBook.of(check(program))))
    assert [rule.key for rule in turned.stage.rules] == [rule.key for rule in fresh.stage.rules]
