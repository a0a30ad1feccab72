"""What a body binds, against a twin that tries again until nothing changes."""

from hypothesis import given
from hypothesis import strategies as st

from tidelog.analysis.binding import bindings, bound_variables
from tidelog.analysis.grouping import group_variables, occurrences
from tidelog.language.parser import parse
from tidelog.language.terms import Aggregate, Atom, Rule, Variable

LETTERS = st.sampled_from("abcdef")
LITERALS = st.one_of(
    st.builds("q({}, {})".format, LETTERS, LETTERS),
    st.builds("q({}, {} + 1)".format, LETTERS, LETTERS),
    st.builds("!r({}, {})".format, LETTERS, LETTERS),
    st.builds("{} = {} + {}".format, LETTERS, LETTERS, LETTERS),
    st.builds("{} = {}".format, LETTERS, LETTERS),
    st.builds("{} < {}".format, LETTERS, LETTERS),
    st.builds("{} = count : {{ s({}, {}) }}".format, LETTERS, LETTERS, LETTERS),
)


def naive(rule: Rule) -> set[str]:
    """Bind what can be bound, again and again."""
    counts = occurrences(rule)
    bound = {t.name for a in rule.body if isinstance(a, Atom) for t in a.terms if isinstance(t, Variable)}
    while True:
        more = {name for literal in rule.body for name, needs in bindings(literal, counts) if needs <= bound}
        if more <= bound:
            return bound
        bound |= more


@given(st.lists(LITERALS, min_size=1, max_size=8))
def test_the_worklist_agrees_with_its_naive_twin(literals):
    """The fast version counts what is missing; the twin looks at everything every time."""
    (rule,) = parse(f"p(a) :- {', '.join(literals)}.").rules
    assert bound_variables(rule.body, (), occurrences(rule)) == naive(rule)


def test_group_variables_are_those_shared_with_the_outside():
    """The result is none of them, nor what occurs inside only; the value's variables are looked at, too."""
    (rule,) = parse("p(x, n) :- q(x, k), n = sum v * k : { r(x, y), v = y + 1 }.").rules
    (aggregate,) = (literal for literal in rule.body if isinstance(literal, Aggregate))
    assert group_variables(rule, aggregate) == ("k", "x")
