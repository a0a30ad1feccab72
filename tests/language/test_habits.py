"""What other languages write gets a hint: the place, what is meant here, and how to write it."""

import pytest

import tidelog as tl
from tidelog import parse

HABITS = {
    "p(x) :- q(x), x == 1.": "write = in place of ==",
    "p(x) :- q(x), x <> 1.": "write != in place of <>",
    "p(x) :- q(x), \\+ r(x).": "write !p(x)",
    "p(x) :- q(x), x \\= 1.": "write !=",
    "p(x) :- q(x), x =< 1.": "write <=",
    "p(x) :- q(y), x is y + 1.": "write x = y + 1",
    "p(x) :- q(y), x := y.": "write x = ...",
    "p(x) :- q(x) and r(x).": "write p(x), q(x)",
    "p(x) :- q(x) || r(x).": "write (p(x) ; q(x))",
    "p(s) :- q(_), s = sum(y).": "sum y : { p(x, y) }",
    "p(s) :- q(_), s = max(y).": "max y : { p(x, y) }",
    "p(x) :- q(x), x = max (x/2)*2 : { q(x) }.": "max((x/2)*2) : { ... }",
    "p(x) :- q(y), x = y band 3.": "bit operations",
    "p(1u).": "write 1 for 1u",
    "p(x) :- q(x), false.": "false never holds",
    "p($Leaf(x)) :- q(x).": "encode the branch",
    "[?x, p, ?y] :- [?y, p, ?x].": "write p(x, y)",
    ".type T = A {x: number} | B {}": "encode the branch",
    "SELECT x FROM q;": "this is SQL",
    "p(x) :- q(x), 1 < x < 3.": "write 1 < x, x < 3",
    "p(x) :- q(x), x ≠ 1.": "write !=",
    "p(x) :- q(x), ¬r(x).": "write !p(x)",
    "p(x) :- q(x), x in r.": "a set is a relation",
    "p(x) if q(x).": "write p(x) :- q(x).",
    "p(x) <- q(x).": "write :- in place of <-",
    "p(x) :- q(x) where x > 1.": "follow after a comma",
    "?- p(x).": "tidelog query",
    ":- p(x).": "a rule has a head",
    "@base <http://example.org/> .": "@prefix ex:",
}


@pytest.mark.parametrize("text", HABITS)
def test_a_habit_is_recognised(text):
    """Each with a place."""
    with pytest.raises(tl.ProgramError) as caught:
        parse(text)
    assert HABITS[text] in str(caught.value)
    assert all(problem.place for problem in caught.value.problems)


NESTED = {
    "s(t) :- t = sum y : { p(n), y = sum z : { p(z), z < n } }.": [(4,)],
    "s(x, a, b) :- p(x), a = count : { q(x, y) }, b = count : { r(x, y) }.": [(1, 1, 2), (2, 0, 0), (3, 0, 0)],
    "s(t) :- p(x), t = max z : { p(z), n = count : { p(w), w < z }, n > x }.": [(3,)],
    "s(a, b) :- a = count : { p(y), n = count : { q(y, z) }, n > 0 }, b = sum z : { p(z) }.": [(1, 6)],
}


@pytest.mark.parametrize("text", NESTED)
@pytest.mark.parametrize("strategy", ["auto", "recompute", "counting"])
def test_aggregates_inside_and_beside_each_other(text, strategy):
    """An inner aggregate's variables are its own, and so are those of a neighbour, whatever their names."""
    engine = tl.Engine(text, strategy=strategy)
    facts = {"p": [(1,), (2,), (3,)], "q": [(1, 1)], "r": [(1, 1), (1, 2)]}
    engine.apply(insert=facts)
    assert sorted(engine["s"]) == NESTED[text]
    engine.apply(delete={"p": [(2,)], "q": [(1, 1)]})
    engine.verify()
    engine.apply(insert=facts)
    assert sorted(engine["s"]) == NESTED[text]
    proof = engine.explain("s", NESTED[text][0])
    assert " is the " in str(proof)


def test_a_rule_is_removed_by_its_text_however_it_is_spelled():
    """Spaces and variables do not matter, nor does it that a local variable was renamed."""
    engine = tl.Engine("s(x, a, b) :- p(x), a = count : { q(x, y) }, b = count : { r(x, y) }.")
    engine.apply(remove_rules=["s(k,a,b):-p(k),a=count:{q(k,y)},b=count:{r(k,y)}."])
    assert engine.rules == ()
