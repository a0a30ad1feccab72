"""Programs written for Souffle are read unchanged; what Tidelog leaves out is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.errors import ProgramError, TidelogWarning
from tidelog.language import parse, print_program, print_rule
from tidelog.language.read import read_program

PROGRAMS = sorted((Path(__file__).parent / "souffle").glob("*.dl"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_common_souffle_programs_are_read_unchanged_and_printed_faithfully(path):
    program = read_program(path)
    assert program.rules
    assert parse(print_program(program)) == program


def test_types_are_resolved_to_base_types_wherever_they_are_defined():
    """Souffle lets a type be used before it is named; unions of one base are that base, of several `any`."""
    program = parse(
        ".decl p(a: T, b: U, c: M)\n.type M = T | number\n.type U = T | V\n.type T <: symbol\n.type V <: symbol\n"
    )
    assert program.declarations[0].columns == (("a", "symbol"), ("b", "symbol"), ("c", "any"))


def test_directives_keep_their_options():
    program = parse('.input p(IO=file, filename="a\\tb", headers=true, skip=2), q\n.output q\n.printsize p')
    options = (("IO", "file"), ("filename", "a\tb"), ("headers", "true"), ("skip", "2"))
    assert program.inputs == (("p", options), ("q", ()))
    assert program.outputs == (("q", ()), ("p", (("IO", "stdoutprintsize"),)))


def test_a_statement_may_follow_a_directive_that_has_no_full_stop():
    """A directive ends where the next statement begins; a relation may have the name of a qualifier."""
    program = parse(".decl p(x: number) btree inline\ninput(x) :- p(x).\n.input p\noutput(x) :- input(x).")
    assert [print_rule(rule) for rule in program.rules] == ["input(x) :- p(x).", "output(x) :- input(x)."]


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        (".comp A { .decl p(x: number) p(x) :- q(x). }", "components (.comp)"),
        (".init a = A", "components (.init)"),
        (".functor f(x: number): number", "user-defined functors (.functor)"),
        ("p(@f(x)) :- q(x).", "user-defined functors (@f)"),
        ("p(x) :- q([x, y]).", "records"),
        (".type L = [head: number, tail: L]", "records"),
        ("p($Leaf(x)) :- q(x).", "algebraic data types and counters ($)"),
        ("p(x, c1) <= p(x, c2) :- c2 < c1.", "subsumption (a head with <=)"),
        (".decl p(x: number, y: number) choice-domain x", "the qualifier choice-domain"),
        (".decl p(x: number, y: number) eqrel", "the qualifier eqrel"),
        ('#include "other.dl"', "preprocessor lines (#)"),
    ],
)
def test_features_left_out_are_refused_by_name_with_place_and_remedy(text, feature):
    with pytest.raises(ProgramError) as caught:
        parse(text)
    (problem,) = caught.value.problems
    assert problem.code == "E110"
    assert problem.sentence == f"not supported: {feature}"
    assert problem.place is not None
    assert problem.remedy


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('.pragma "legacy"', ".pragma"),
        ("p(x) :- q(x), r(x).\n.plan 0: (2, 1)\nr(x) :- p(x).", ".plan"),
        (".limitsize p(n=3)", ".limitsize"),
        (".decl p(x: number) overridable", "overridable"),
    ],
)
def test_what_other_engines_need_is_read_over_with_a_note(text, word):
    """It does not change the result here, so a program that carries it is read, and the user is told once."""
    with pytest.warns(TidelogWarning, match=f"W101  {word} is read over"):
        parse(text)


def test_a_column_may_be_named_like_a_variable():
    """Real programs do that; the question mark is no part of the name."""
    assert parse(".decl p(?x: number, y: symbol)").declarations[0].columns == (("x", "number"), ("y", "symbol"))


def test_after_a_refused_feature_reading_goes_on():
    """A component is skipped as a whole, so that its insides are not reported as further mistakes."""
    text = ".comp A { .decl p(x: number)\n p(x) :- q(x). }\n.init a = A\nr(x) :- s(x\n.decl t(x: nothing)\n"
    with pytest.raises(ProgramError) as caught:
        parse(text)
    assert [(problem.code, problem.place.line) for problem in caught.value.problems] == [
        ("E110", 1),
        ("E110", 3),
        ("E101", 5),
        ("E109", 5),
    ]
