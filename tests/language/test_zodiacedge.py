"""ZodiacEdge's rule sets mean the same in both syntaxes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.errors import ProgramError
from tidelog.language import canonical_text, parse
from tidelog.language.dialects.zodiacedge import read_facts, read_rules
from tidelog.language.read import read_program
from tidelog.language.terms import Constant, Fact

RULE_SETS = Path(__file__).parents[1] / "programs" / "zodiacedge"


def meaning(program):
    return [(rule.name, canonical_text(rule)) for rule in program.rules]


@pytest.mark.parametrize(("name", "count"), [("rs1", 6), ("rs2", 18), ("rs3", 18)])
def test_the_papers_rule_sets_are_the_same_in_both_syntaxes(name, count):
    theirs = read_program(RULE_SETS / name / "program.rules")
    ours = read_program(RULE_SETS / name / "program.dl")
    assert len(theirs.rules) == count
    assert meaning(theirs) == meaning(ours)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("<p>(?X, ?Y) :- <q>(?X, ?Z) and not <r>(?Z) and COMP(?X, !=, ?Y) .", "p(x, y) :- q(x, z), !r(z), x != y."),
        ("p(X) :- q(X, T) AND BIND(abs(?T - ?X) AS ?D) AND comp(D, >, 5) .", "p(x) :- q(x, t), d = abs(t - x), d > 5."),
        ("p(X) :- q(X) ∧ r(X, <a.b>, word, 2.5, -3) .", 'p(x) :- q(x), r(x, "a.b", "word", 2.5, -3).'),
        ("<http://x/p.q>(X) :- q(X) . # comment", "`http://x/p.q`(x) :- q(x)."),
        (
            "s(X, Z) :- AGGREGATE(q(X, T)) ON ?X WITH AVG(?T) AS ?Z .",
            "s(x, z) :- q(x, t), z = mean u : { q(x, u) }.",
        ),
        (
            "s(X, T1) :- aggregate(q(X, T) and not r(T)) on X with MAX(T) as T1 .",
            "s(x, z) :- q(x, t), !r(t), z = max u : { q(x, u), !r(u) }.",
        ),
        (
            "s(X, Y, N) :- Aggregate(q(X, Y, T)) On X, Y With Count(T) As N .",
            "s(x, y, n) :- q(x, y, t), n = count : { q(x, y, u) }.",
        ),
    ],
)
def test_each_construct_has_its_counterpart(theirs, ours):
    assert meaning(read_rules(theirs)) == meaning(parse(ours))


def test_facts_are_triples_and_types_are_unary():
    text = '# turbines\n<a> <p> <b> .\n<a> <p> 25 .\n<a> <rdf:type> <C> . # c\n\n<a> <t> "2.5"^^<xsd:double> .\n'
    assert read_facts(text) == (
        Fact("p", (Constant("a"), Constant("b"))),
        Fact("p", (Constant("a"), Constant(25))),
        Fact("C", (Constant("a"),)),
        Fact("t", (Constant("a"), Constant(2.5))),
    )


def test_problems_are_collected_with_their_places():
    with pytest.raises(ProgramError) as caught:
        read_rules("p(X) :- q(X)\np(X) :- r(X) .\ns(X) :- AGGREGATE(q(X, T)) ON X WITH total(T) AS Z .\n", "my.rules")
    assert [(problem.code, str(problem.place)) for problem in caught.value.problems] == [
        ("E101", "my.rules:2:1"),
        ("E107", "my.rules:3:38"),
    ]
    with pytest.raises(ProgramError) as caught:
        read_facts('<a> <p> .\n<a> <p> <b> .\n<a> <p> "x"@en .\n<a> <p> 99999999999999999999 .\n')
    assert [problem.place.line for problem in caught.value.problems] == [1, 3, 4]
