"""The shared evaluator: every literal kind, each instance once, heads given or free."""

import pytest

from tidelog.errors import ProgramError
from tidelog.language.terms import Aggregate, Atom, Call, Comparison, Constant, Literal, Negation, Rule, Variable
from tidelog.reference.evaluation import driven, holds, instances, uniform
from tidelog.reference.facts import FactSet, Union, Without, from_fact, to_fact

X, Y, Z, N = (Variable(name) for name in "xyzn")


def rule(head: Atom, *body: Literal) -> Rule:
    return Rule(head, body)


def facts(**relations):
    return FactSet(to_fact(name, values) for name, rows in relations.items() for values in rows)


def heads(a_rule, view, head=None):
    found = list(instances(a_rule, uniform(a_rule, view, view), head))
    assert len({each.substitution for each in found}) == len(found)
    return sorted(each.head[1] for each in found)


def test_constants_of_different_types_are_different_facts():
    """Python's 1 == 1.0 == True must not merge facts."""
    ones = FactSet(to_fact("p", (value,)) for value in (1, 1.0, True, "1"))
    assert len(ones) == 4
    assert {type(from_fact(fact)[1][0]) for fact in ones} == {int, float, bool, str}


def test_join_with_constant_and_repeated_variable():
    view = facts(e=[(1, 2), (2, 2), (2, 3)])
    assert heads(rule(Atom("h", (X,)), Atom("e", (X, X))), view) == [(2,)]
    assert heads(rule(Atom("h", (Y,)), Atom("e", (Constant(2), Y))), view) == [(2,), (3,)]
    assert heads(rule(Atom("h", (X, Z)), Atom("e", (X, Y)), Atom("e", (Y, Z))), view) == [
        (1, 2),
        (1, 3),
        (2, 2),
        (2, 3),
    ]


def test_each_atom_in_its_own_view():
    """`H <- B1^(I \\ N), B2^N` sees only the instances whose second fact is new and whose first is not."""
    present, new = facts(e=[(1, 2), (2, 3)]), facts(e=[(2, 3)])
    join = rule(Atom("h", (X, Z)), Atom("e", (X, Y)), Atom("e", (Y, Z)))
    found = list(instances(join, driven(join, 1, Without(present, new), new, present, present)))
    assert [each.body for each in found] == [(to_fact("e", (1, 2)), to_fact("e", (2, 3)))]


def test_negation_has_existential_local_variables():
    view = facts(p=[(1,), (2,)], q=[(2, 7)])
    assert heads(rule(Atom("h", (X,)), Atom("p", (X,)), Negation(Atom("q", (X, Z)))), view) == [(1,)]


def test_comparison_binds_whatever_the_order():
    view = facts(p=[(1,), (2,)])
    plus = Comparison("=", Y, Call("+", (X, Constant(1))))
    assert heads(rule(Atom("h", (Y,)), plus, Atom("p", (X,))), view) == [(2,), (3,)]


def test_calls_in_heads_and_atoms_also_when_the_head_is_given():
    view = facts(p=[(1,), (2,)], q=[(2,)])
    successor = Call("+", (X, Constant(1)))
    assert heads(rule(Atom("h", (successor,)), Atom("p", (X,)), Atom("q", (successor,))), view) == [(2,)]
    made = rule(Atom("h", (successor,)), Atom("p", (X,)))
    assert heads(made, view, to_fact("h", (3,))) == [(3,)]
    assert heads(made, view, to_fact("h", (9,))) == []


def test_aggregates_group_by_shared_variables_and_count_empty_groups():
    view = facts(p=[(1,), (2,)], q=[(1, 5), (1, 6)])
    body = (Atom("q", (X, Y)),)
    count = rule(Atom("h", (X, N)), Atom("p", (X,)), Aggregate(N, "count", None, body))
    assert heads(count, view) == [(1, 2), (2, 0)]
    assert heads(count, view, to_fact("h", (2, 0))) == [(2, 0)]
    assert heads(count, view, to_fact("h", (2, 1))) == []
    total = rule(Atom("h", (X, N)), Atom("p", (X,)), Aggregate(N, "sum", Y, body))
    assert heads(total, view) == [(1, 11), (2, 0)]
    least = rule(Atom("h", (X, N)), Atom("p", (X,)), Aggregate(N, "min", Y, body))
    assert heads(least, view) == [(1, 5)]


def test_holds_says_whether_an_instance_survives_in_another_view():
    before, after = facts(p=[(1,)], q=[(1, 5)]), facts(p=[(1,)], q=[(1, 5), (1, 6)])
    count = rule(Atom("h", (X, N)), Atom("p", (X,)), Aggregate(N, "count", None, (Atom("q", (X, Y)),)))
    (found,) = instances(count, uniform(count, before, before))
    assert holds(count.body[1], dict(found.substitution), before)
    assert not holds(count.body[1], dict(found.substitution), after)


def test_what_has_no_value_makes_no_instance():
    """With a guard or without, wherever the value is needed: beside an atom, in one, under ! or in the head."""
    view = facts(p=[(0,), (2,)])
    divide = Comparison("=", Y, Call("/", (Constant(10), X)))
    guarded = rule(Atom("h", (Y,)), divide, Atom("p", (X,)), Comparison("!=", X, Constant(0)))
    assert heads(guarded, view) == [(5,)]
    call = Call("/", (Constant(10), X))
    assert heads(rule(Atom("h", (Y,)), Atom("p", (X,)), divide), view) == [(5,)]
    assert heads(rule(Atom("h", (call,)), Atom("p", (X,))), view) == [(5,)]
    assert heads(rule(Atom("h", (X,)), Atom("p", (X,)), Negation(Atom("p", (call,)))), view) == [(2,)]
    assert heads(rule(Atom("h", (X,)), Atom("p", (X,)), Atom("q", (call,))), facts(p=[(0,), (2,)], q=[(5,)])) == [(2,)]
    sums = Aggregate(Y, "sum", call, (Atom("p", (X,)),))
    assert heads(rule(Atom("h", (Y,)), sums), view) == [(5,)]


def test_a_variable_that_nothing_binds_is_refused():
    with pytest.raises(ProgramError, match="bound by no positive atom"):
        heads(rule(Atom("h", (X,)), Comparison("<", X, Constant(1))), facts())


def test_a_fact_in_two_views_of_a_union_matches_once():
    both = Union(facts(p=[(1,)]), facts(p=[(1,), (2,)]))
    assert heads(rule(Atom("h", (X,)), Atom("p", (X,))), both) == [(1,), (2,)]


def test_a_rule_without_body_has_one_instance():
    assert heads(rule(Atom("h", (Constant(1),))), facts()) == [(1,)]
