"""Why a fact came or went: every cause is a proof of the right version, cut where nothing changed, that did change."""

import pytest

import tidelog as tl
from tests.differential.updates import draw_case
from tidelog.changes.change import ListedFacts
from tidelog.provenance.checker import check_proof

RULES = """
base: path(x, y) :- edge(x, y).
far: path(x, z) :- path(x, y), edge(y, z).
alone: alone(x) :- node(x), !path(x, _).
wide(x, n) :- node(x), n = count : { path(x, _) }.
node("a"). node("c"). edge("a", "b"). edge("b", "c").
"""


@pytest.fixture
def engine():
    return tl.Engine(RULES)


def test_a_fact_that_came_leads_to_what_was_inserted(engine):
    """Facts that were there before are not explained again."""
    change = engine.apply(insert={"edge": [("c", "d")]})
    cause = engine.explain_change(change, "path", ("a", "d"))
    assert cause.has_come
    assert cause.facts == (("edge", ("c", "d")),)
    assert str(cause).splitlines() == [
        'path("a", "d") came',
        '  path("a", "d")  by far: path(x, z) :- path(x, y), edge(y, z).',
        '    path("a", "c")  was there before',
        '    edge("c", "d")  is inserted',
    ]


def test_a_fact_that_went_leads_to_what_was_deleted(engine):
    """The proof is one of the version before, and says what is still there."""
    change = engine.apply(delete={"edge": [("a", "b")]})
    cause = engine.explain_change(change, "path", ["a", "c"])
    assert (cause.has_come, cause.facts, cause.rules) == (False, (("edge", ("a", "b")),), ())
    lines = str(cause).splitlines()
    assert lines[0].startswith('path("a", "c") went')
    assert '      edge("a", "b")  is deleted' in lines
    assert '    edge("b", "c")  is still there' in lines


def test_a_dead_cycle_leads_to_the_fact_that_held_it():
    """Facts that prove each other are no reason for each other: the deleted one is."""
    engine = tl.Engine("p(x) :- q(x). q(x) :- p(x). p(1).")
    change = engine.apply(delete={"p": [(1,)]})
    assert engine.explain_change(change, "q", (1,)).facts == (("p", (1,)),)
    assert engine.explain_change(change, "p", (1,)).facts == (("p", (1,)),)


def test_deleting_a_derived_fact_is_not_what_takes_it_away():
    """The request changed nothing; the fact went because its premise did."""
    engine = tl.Engine("p(x) :- q(x). q(1).")
    change = engine.apply(delete={"p": [(1,)], "q": [(1,)]})
    assert engine.explain_change(change, "p", (1,)).facts == (("q", (1,)),)


def test_rules_absences_and_aggregates_are_causes(engine):
    """A rule that came or went, a fact that is missing since now, a number that is another one."""
    change = engine.apply(remove_rules=["far"])
    gone = engine.explain_change(change, "path", ("a", "c"))
    assert [rule.name for rule in gone.rules] == ["far"]
    assert "by the removed rule far:" in str(gone)
    assert '1 is the count of 1: path("a", "b")' in str(engine.explain_change(change, "wide", ("a", 1)))
    assert "since now" in str(engine.explain_change(change, "wide", ("a", 1)))

    change = engine.apply(delete={"edge": [("a", "b")]}, add_rules='more: path("c", x) :- node(x).')
    came = str(engine.explain_change(change, "alone", ("a",)))
    assert 'node("a")  was there before' in came
    assert "since now" in came
    assert "until now" in str(engine.explain_change(change, "alone", ("c",)))
    assert "by the new rule more:" in str(engine.explain_change(change, "path", ("c", "a")))


def test_only_facts_of_the_last_change_have_a_cause(engine):
    """Another fact, an equal number of another type, or an older change are refused."""
    first = engine.apply(insert={"edge": [(1, 2)]})
    for fact in (("a", "b"), (1.0, 2)):
        with pytest.raises(tl.UsageError, match="E809"):
            engine.explain_change(first, "path", fact)
    engine.apply(insert={"edge": [(2, 3)]})
    with pytest.raises(tl.UsageError, match=r"E809.*version 1"):
        engine.explain_change(first, "path", (1, 2))


def held(engine):
    return {name: (ListedFacts(engine[name]), ListedFacts(engine.explicit(name))) for name in engine.relations}


def causes_of(engine, change, before, rules_before):
    """Judge every cause of a change with the checker; gives how many there were."""
    after, nothing, count = held(engine), (ListedFacts(), ListedFacts()), 0
    for has_come, tables in ((True, change.inserted), (False, change.deleted)):
        there, other = (after, before) if has_come else (before, after)
        rules = engine.program.rules if has_come else rules_before

        def is_leaf(relation, values, there=there, other=other):
            return values in there.get(relation, nothing)[1] or values in other.get(relation, nothing)[0]

        for relation, table in tables.items():
            for fact in list(table)[:4]:
                cause = engine.explain_change(change, relation, fact)
                assert cause.has_come == has_come
                facts_of = lambda name, there=there: there.get(name, nothing)[0]  # noqa: E731
                assert check_proof(cause.proof, rules, facts_of, is_leaf) == []
                assert cause.facts or cause.rules or any(cause.turned.values()), str(cause)
                for name, values in cause.facts:
                    assert values in there[name][1]
                    assert values not in other.get(name, nothing)[1]
                count += 1
    return count


def explain_all(first, last):
    counted = 0
    for seed in range(first, last):
        case = draw_case(seed)
        engine = tl.Engine(case.program)
        for update in case.updates:
            if not update.refused:
                before, rules = held(engine), engine.program.rules
                counted += causes_of(engine, engine.apply(**update.arguments), before, rules)
    return counted


def test_random_programs():
    """Facts and rules come and go; an independent checker accepts every cause."""
    assert explain_all(0, 20) >= 150


@pytest.mark.long
def test_many_random_programs():
    """The same on more programs."""
    assert explain_all(20, 300) >= 2000


def test_on_spark(spark):
    """The other backend is asked the same questions."""
    engine = tl.Engine(RULES, backend="spark", spark=spark)
    change = engine.apply(delete={"edge": [("a", "b")]}, insert={"edge": [("c", "d")]})
    assert engine.explain_change(change, "path", ("a", "c")).facts == (("edge", ("a", "b")),)
    assert engine.explain_change(change, "path", ("b", "d")).facts == (("edge", ("c", "d")),)


def test_long_causes_and_proofs_are_printed() -> None:
    """A proof may be as deep as the data; printing one takes no recursion."""
    engine = tl.Engine("hit(y) :- start(x), edge(x, y). hit(y) :- hit(x), edge(x, y).")
    engine.apply(insert={"start": [(0,)]})
    change = engine.apply(insert={"edge": [(number, number + 1) for number in range(1100)]})
    proof = engine.explain("hit", (1100,))
    assert proof.height == 1100
    assert str(proof).count("\n") == 2200
    assert str(engine.explain_change(change, "hit", (1100,))).startswith("hit(1100) came")
