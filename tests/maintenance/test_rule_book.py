"""A rule book is a value: turning it leaves the present one as it was, and keeps what did not change."""

from __future__ import annotations

from tidelog.analysis.program_check import check
from tidelog.language.parser import parse
from tidelog.language.terms import Program
from tidelog.maintenance.rule_book import RuleBook, written_facts

PATHS = "path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z)."


def test_a_turned_book_shares_the_stages_that_stay():
    """What a backend has prepared for a stage is found by identity; a new rule elsewhere must not cost it."""
    book = RuleBook.of(check(parse(PATHS)))
    after = book.turned(check(book.changed(parse("start(x) :- path(x, _)."), ())))
    assert set(book.schedule.stages) < set(after.schedule.stages)
    assert "start" not in book.relations
    assert after.relations == {"edge", "path", "start"}


def test_a_change_that_changes_nothing_gives_the_same_program():
    """An engine then skips every check, and keeps its schedule."""
    book = RuleBook.of(check(parse(PATHS)))
    assert book.changed(Program(), ()) is book.program
    assert book.changed(parse("path(x, y) :- edge(x, y)."), ()) is book.program


def test_a_declaration_alone_keeps_the_schedule():
    """Declarations say what columns are called and which values they take; no rule runs differently."""
    book = RuleBook.of(check(parse(PATHS)))
    after = book.turned(check(book.changed(parse(".decl node(name: symbol, size: number)"), ())))
    assert after.schedule is book.schedule
    assert (after.arity("node"), after.columns("node", 2)) == (2, ("name", "size"))
    assert after.types("node") == ("symbol", "number")
    assert (after.types("edge"), after.columns("edge", 2), after.arity("other")) == (None, ("c1", "c2"), None)


def test_written_facts_keep_their_order_and_their_types():
    """1 and 1.0 are two constants."""
    found = written_facts(parse("p(1). q(2). p(1.0)."))
    assert found == {"p": [(1,), (1.0,)], "q": [(2,)]}
    assert [type(value) for (value,) in found["p"]] == [int, float]
