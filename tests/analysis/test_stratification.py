"""Negation and aggregation inside a recursion are refused, and the cycle is named rule by rule."""

from tidelog.analysis.stratification import CYCLES_PER_COMPONENT, problems
from tidelog.errors import Place
from tidelog.language.terms import Aggregate, Atom, Negation, Program, Rule, Variable

X = Variable("x")


def rule(line: int, head: str, *body: str) -> Rule:
    """`rule(1, "p", "q", "!r", "#s")`, placed on a line of its own."""
    place = Place("t.dl", line, 1)
    literals = []
    for column, name in enumerate(body, start=10):
        at = Place("t.dl", line, column)
        atom = Atom(name.lstrip("!#"), (X,), at)
        if name.startswith("!"):
            literals.append(Negation(atom, at))
        elif name.startswith("#"):
            literals.append(Aggregate(Variable("n"), "count", None, (atom,), at))
        else:
            literals.append(atom)
    return Rule(Atom(head, (X,)), tuple(literals), f"r{line}", place)


def found(*rules: Rule):
    return list(problems(Program(rules)))


def test_negation_of_a_lower_relation_is_fine():
    """Only a negation that leads back to its own head has no meaning."""
    assert found(rule(1, "p", "q", "!r"), rule(2, "r", "e"), rule(3, "q", "p")) == []


def test_a_relation_that_negates_itself():
    """The shortest cycle is one rule."""
    (problem,) = found(rule(1, "win", "move", "!win"))
    assert problem.code == "E204"
    assert problem.sentence == "win depends on its own negation: win reads !win"
    assert problem.place == Place("t.dl", 1, 11)
    assert problem.related == ((Place("t.dl", 1, 1), "rule 1 of the cycle, r1, derives win"),)


def test_the_cycle_is_named_in_order_of_reading():
    """From the negation to the rules that lead back, by the shortest way: r5 is a detour and not named."""
    rules = [
        rule(1, "a", "e", "!b"),
        rule(2, "b", "c"),
        rule(3, "c", "a"),
        rule(4, "d", "e"),
        rule(5, "c", "long"),
        rule(6, "long", "a"),
    ]
    (problem,) = found(*rules)
    assert problem.sentence == "a depends on its own negation: a reads !b, b reads c, c reads a"
    assert [place.line for place, _ in problem.related] == [1, 2, 3]
    assert problem.remedy == "change one rule of the cycle so that b no longer needs a"


def test_aggregation_in_a_cycle():
    """An aggregate over its own result has no least fixpoint either."""
    (problem,) = found(rule(1, "p", "e", "#q"), rule(2, "q", "p"))
    assert problem.code == "E205"
    reason = "count of what is not known yet can become anything"
    assert problem.sentence == f"p depends on its own aggregation: p reads {{q}}, q reads p; {reason}"


def test_many_violations_are_shown_by_the_first_ones():
    """A dense component would otherwise print a page per pair of relations."""
    names = [f"p{i}" for i in range(8)]
    dense = [rule(i + 1, name, *(f"!{other}" for other in names)) for i, name in enumerate(names)]
    assert len(found(*dense)) == CYCLES_PER_COMPONENT


def test_a_long_cycle_is_shortened_in_the_message():
    """A thousand rules in a cycle are a fact to state, not to print."""
    rules = [rule(1, "p0", "!p1"), *(rule(i + 1, f"p{i}", f"p{(i + 1) % 1000}") for i in range(1, 1000))]
    (problem,) = found(*rules)
    assert "... 980 more ..." in problem.sentence
    assert len(problem.related) == 20
