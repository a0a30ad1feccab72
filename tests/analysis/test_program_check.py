"""All questions are asked, and all problems come back together, ordered by place."""

import pytest

from tidelog.analysis.program_check import check, problems
from tidelog.errors import ProgramError
from tidelog.language.parser import parse
from tidelog.language.terms import Aggregate, Atom, Call, Comparison, Constant, Declaration, Program, Rule, Variable

X = Variable("x")


def test_a_good_program_passes():
    """Nothing to say, nothing raised."""
    check(parse("path(x, y) :- edge(x, y). path(x, z) :- edge(x, y), path(y, z). edge(1, 2)."))


def test_problems_of_all_questions_are_raised_together_in_order_of_place():
    """A user repairs a program in one go, from top to bottom."""
    text = "a(x) :- b(x), !a(x).\nc(x, y) :- b(x).\nb(1, 2).\n.decl d(x: number)\nd(1.5)."
    with pytest.raises(ProgramError) as caught:
        check(parse(text, "t.dl"))
    found = [(str(problem.place), problem.code) for problem in caught.value.problems]
    assert found == [("t.dl:1:15", "E204"), ("t.dl:2:6", "E202"), ("t.dl:3:1", "E201"), ("t.dl:5:3", "E203")]


def made(*body, head=(X,)) -> Program:
    return Program((Rule(Atom("p", head), (Atom("q", (X,)), *body)),))


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        (made(Comparison("=", X, Call("sqrt", (X,)))), "there is no function sqrt"),
        (made(head=(Call("abs", (X, X)),)), "abs takes 1 argument, not 2"),
        (made(head=(Call("cat", (X,)),)), "cat takes at least 2 arguments, not 1"),
        (made(Aggregate(Variable("n"), "mode", None, (Atom("q", (Variable("y"),)),))), "there is no aggregate mode"),
        (made(Aggregate(Variable("n"), "sum", None, (Atom("q", (Variable("y"),)),))), "sum needs a value"),
        (
            made(Aggregate(Variable("n"), "count", Variable("y"), (Atom("q", (Variable("y"),)),))),
            "count takes no value",
        ),
        (Program(declarations=(Declaration("p", (("x", "text"),)),)), "there is no type text"),
        (
            Program((Rule(Atom("p", (Constant(1),)), (), "r"), Rule(Atom("p", (Constant(2),)), (), "r"))),
            "two rules have the name r",
        ),
    ],
)
def test_programs_built_without_text_are_held_to_the_same_rules(program, sentence):
    """The parser refuses these in text; an interface that builds rules must not get around it."""
    assert sentence in [problem.sentence for problem in problems(program)]


def test_ten_thousand_rules_in_a_chain():
    """Ten thousand strata with arithmetic, negation and aggregation on the way: linear work, flat stack."""
    steps = "".join(
        f"p{i + 1}(x + 1) :- p{i}(x), !q(x).\n" if i % 2 else f"p{i + 1}(n) :- n = count : {{ p{i}(x) }}.\n"
        for i in range(10_000)
    )
    assert problems(parse(f"p0(1).\n{steps}")) == ()
