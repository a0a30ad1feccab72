"""Components partition the rules, come in topological order, and never exhaust the stack."""

from hypothesis import given
from hypothesis import strategies as st

from tidelog.analysis.components import components, relations_read, strata
from tidelog.language.terms import Aggregate, Atom, Negation, Rule, Variable

X = Variable("x")


def rule(head: str, *body: str) -> Rule:
    """`rule("p", "q", "!r", "#s")`: p(x) :- q(x), !r(x), and s inside an aggregate."""
    literals = []
    for name in body:
        atom = Atom(name.lstrip("!#"), (X,))
        if name.startswith("!"):
            literals.append(Negation(atom))
        elif name.startswith("#"):
            literals.append(Aggregate(Variable("n"), "count", None, (atom,)))
        else:
            literals.append(atom)
    return Rule(Atom(head, (X,)), tuple(literals))


def test_relations_that_read_each_other_are_one_component():
    """Mutual recursion joins relations; what they read comes before, what reads them after."""
    rules = [rule("top", "a"), rule("a", "b"), rule("b", "a", "low"), rule("low", "edge")]
    found = components(rules)
    assert [sorted(component.relations) for component in found] == [["low"], ["a", "b"], ["top"]]
    assert [component.is_recursive for component in found] == [False, True, False]
    assert found[1].rules == (rules[1], rules[2])


def test_a_rule_that_reads_its_own_head_is_recursive():
    """A component of one relation is recursive only through a loop on itself."""
    (component,) = components([rule("p", "e"), rule("p", "p")])
    assert component.is_recursive
    assert len(component.rules) == 2


def test_negation_and_aggregation_are_dependencies_too():
    """A component must wait for what it negates or aggregates, or it would read half a relation."""
    found = components([rule("p", "!q", "#s"), rule("q", "e"), rule("s", "e")])
    assert found[-1].relations == {"p"}
    assert relations_read(rule("p", "q", "!q", "#s")) == ("q", "s")


def test_strata_rise_only_at_negation_and_aggregation():
    """A stratum counts the nots on the way down, not the length of the way."""
    rules = [rule("a", "e"), rule("b", "a"), rule("c", "!b"), rule("d", "c", "#c")]
    assert strata(rules) == {"a": 0, "b": 0, "c": 1, "d": 2}


def test_ten_thousand_strata_do_not_exhaust_the_stack():
    """A recursive search dies at about a thousand; chains in both orders of writing are the worst cases."""
    chain = [rule(f"p{i + 1}", f"!p{i}") for i in range(10_000)]
    for rules in (chain, chain[::-1]):
        found = components(rules)
        assert [component.rules for component in found] == [(each,) for each in chain]
    assert strata(chain)["p10000"] == 9_999


@given(st.lists(st.tuples(st.integers(0, 7), st.lists(st.integers(0, 7), max_size=3)), max_size=14))
def test_every_rule_is_in_one_component_and_reads_only_itself_and_earlier_ones(spec):
    """Checked against reachability computed the slow, obvious way."""
    rules = [rule(f"p{head}", *(f"p{read}" for read in body)) for head, body in spec]
    derived = {each.head.relation for each in rules}
    reach = {(each.head.relation, read) for each in rules for read in relations_read(each) if read in derived}
    for _ in derived:
        reach |= {(a, d) for a, b in reach for c, d in reach if b == c}
    found = components(rules)
    assert sorted(id(each) for component in found for each in component.rules) == sorted(map(id, rules))
    seen: set[str] = set()
    for component in found:
        seen |= component.relations
        for a in component.relations:
            assert component.is_recursive == ((a, a) in reach)
            assert {b for b in derived if (a, b) in reach and (b, a) in reach} | {a} == component.relations
            assert {b for b in derived if (a, b) in reach} <= seen
