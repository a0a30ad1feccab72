"""Every explanation is accepted by a checker that shares no code with the search; absent facts have none."""

import dataclasses

import pytest

import tidelog as tl
from tests.differential.updates import draw_case
from tidelog.provenance.checker import check_proof
from tidelog.provenance.explain import explain
from tidelog.provenance.proof import Proof
from tidelog.provenance.stored_facts import StoredFacts

CONTROL = """
big: controls(x, y) :- owns(x, y, s), s > 50.
tot: controls(x, y) :- holder(x), company(y), t = sum s : { owns(x, y, s) }, t > 50.
far: controls(x, z) :- controls(x, y), controls(y, z).
free(y) :- company(y), !controls(_, y).
next(x, n + 1) :- number(x, n), n < 3.
"""


def faults(engine, proof):
    def facts_of(relation):
        return list(engine[relation]) if relation in engine.relations else ()

    return check_proof(proof, engine.program.rules, facts_of, lambda r, v: r in engine and v in engine.explicit(r))


@pytest.fixture
def company():
    engine = tl.Engine(CONTROL)
    owns = [("a", "b", 60), ("b", "c", 30), ("b", "c", 25), ("c", "a", 51), ("a", "d", 50)]
    names = {"holder": [("a",), ("b",)], "company": [("b",), ("c",), ("d",)]}
    engine.apply(insert={"owns": owns, "number": [(7, 2)], **names})
    return engine


def test_a_proof_reads_from_the_fact_to_the_explicit_ones(company):
    """Rules, premises, sums and absences are all there, and a fact on a cycle does not stand on itself."""
    text = str(company.explain("controls", ("a", "c")))
    assert text.splitlines()[0].startswith('controls("a", "c")  by far:')
    assert "55 is the sum" in text
    assert 'owns("a", "b", 60)  is explicit' in text
    assert 'there is no controls(_, "d")' in str(company.explain("free", ("d",)))
    assert company.explain("next", (7, 3)).height == 1
    around = company.explain("controls", ("a", "a"))
    assert faults(company, around) == []
    assert around.height == 3


def test_every_fact_has_a_proof_and_an_absent_one_has_none(company):
    """Also one whose type differs: 60.0 is not 60."""
    for relation in company.relations:
        for fact in company[relation]:
            assert faults(company, company.explain(relation, fact)) == []
    for relation, fact in (("controls", ("d", "a")), ("owns", ("a", "b", 60.0))):
        with pytest.raises(tl.UsageError, match="E808"):
            company.explain(relation, fact)


def test_the_checker_refuses_what_is_wrong(company):
    """A checker that accepts everything would make the test above worthless."""
    proof = company.explain("controls", ("a", "c"))
    total = company.explain("controls", ("b", "c")).rule
    for forged in (
        dataclasses.replace(proof, values=("a", "d")),
        dataclasses.replace(proof, premises=proof.premises[:1]),
        dataclasses.replace(proof, premises=proof.premises[::-1]),
        dataclasses.replace(proof, rule=tl.parse("controls(x, z) :- controls(x, y), controls(y, z).").rules[0]),
        Proof("controls", ("a", "c")),
        Proof("free", ("c",), company.explain("free", ("d",)).rule, (Proof("company", ("c",)),)),
        Proof("controls", ("b", "d"), total, (Proof("holder", ("b",)), Proof("company", ("d",)))),
    ):
        assert faults(company, forged)


class Asked(StoredFacts):
    """Facts that count how often they are looked up."""

    times = 0

    def matching(self, pattern):
        self.times += 1
        return super().matching(pattern)


@pytest.mark.parametrize("ring", [False, True], ids=["chain", "ring"])
def test_a_closure_through_itself_is_explained_without_looking_at_all_of_it(ring):
    """A chain of 100 has 166,650 instances of the rule, a ring a million; all were looked at, which did not end."""
    engine = tl.Engine("p(x, z) :- p(x, y), p(y, z).")
    engine.apply(insert={"p": [(number, (number + 1) % 100 if ring else number + 1) for number in range(100)]})
    for goal in ((0, 99), (3, 98), (50, 60)):
        held = Asked(engine._backend)
        assert faults(engine, explain("p", goal, engine.program.rules, held)) == []
        assert held.times < 3_000


def test_a_long_proof_is_followed_to_its_end_before_other_ways_are_tried():
    """On a chain of 400 the search gave every fact more and more instances half-way, and did not end."""
    engine = tl.Engine("p(x, z) :- p(x, y), p(y, z).")
    engine.apply(insert={"p": [(number, number + 1) for number in range(400)]})
    held = Asked(engine._backend)
    assert faults(engine, explain("p", (0, 400), engine.program.rules, held)) == []
    assert held.times < 4_000


def test_a_proof_that_is_near_is_a_shallowest_one():
    """A long way stands beside one of two steps."""
    engine = tl.Engine("p(x, z) :- p(x, y), p(y, z).")
    engine.apply(insert={"p": [*((number, number + 1) for number in range(9)), (0, 4), (4, 8)]})
    assert engine.explain("p", (0, 8)).height == 1


def test_an_absent_fact_is_known_to_be_absent_by_both_searches():
    """On a large ring with a way in, nothing leads back."""
    engine = tl.Engine("p(x, z) :- p(x, y), p(y, z).")
    engine.apply(insert={"p": [("in", 0), *((number, (number + 1) % 30) for number in range(30))]})
    assert explain("p", (0, "in"), engine.program.rules, StoredFacts(engine._backend)) is None


def explain_all(first, last):
    """Explain every derived fact of random cases after their last update; gives how many proofs were checked."""
    checked = 0
    for seed in range(first, last):
        case = draw_case(seed)
        engine = tl.Engine(case.program)
        for update in case.updates:
            if not update.refused:
                engine.apply(**update.arguments)
        for relation in engine.relations:
            for fact in list(engine[relation])[:6]:
                assert faults(engine, engine.explain(relation, fact)) == [], (seed, relation, fact)
                checked += 1
    return checked


def test_random_programs():
    """Recursion, negation, aggregates and arithmetic, as the generator draws them."""
    assert explain_all(0, 12) >= 200


@pytest.mark.long
def test_many_random_programs():
    """The same on more programs."""
    assert explain_all(12, 140) >= 2000
