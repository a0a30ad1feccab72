"""Hypothesis strategies for programs: everything the language can say, hostile names and strings included.

What      : `programs()` and `rules()`; the abstract programs that parse(print(p)) == p is tested on.
Invariant : anonymous variables are numbered by appearance, as the parser does; a bodyless ground rule is a fact.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tidelog.language.renaming import apart, rename_rule, rule_variables
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Declaration,
    Fact,
    Negation,
    Program,
    Rule,
    Variable,
)
from tidelog.language.values import AGGREGATES, INT_MAX, INT_MIN

WORDS = ["p", "q", "edge", "not", "true", "count", "min", "match", "contains", "input", "abs", "_", "_x", "été", "x1"]
HOSTILE = st.text(st.characters(), max_size=8)  # surrogates, NUL, quotes and line breaks included
NAMES = st.sampled_from(WORDS) | HOSTILE
VARIABLE_NAMES = st.sampled_from(["x", "y", "z", "not", "count", "_x", "v0", "agg0"]) | HOSTILE.filter(
    lambda name: not name.startswith(("_:", "aggregate:"))
)

variables = VARIABLE_NAMES.map(Variable)
anonymous = st.just(Variable("_:"))
constants = st.one_of(
    st.integers(INT_MIN, INT_MAX),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    HOSTILE,
).map(Constant)
simple_terms = variables | constants


def _calls(inner):
    binary = st.builds(
        lambda function, left, right: Call(function, (left, right)),
        st.sampled_from(["+", "-", "*", "/", "%", "^"]),
        inner,
        inner,
    )
    unary = st.builds(lambda function, term: Call(function, (term,)), st.sampled_from(["neg", "abs", "strlen"]), inner)
    several = st.builds(
        lambda function, terms: Call(function, tuple(terms)),
        st.sampled_from(["min", "max", "cat"]),
        st.lists(inner, min_size=2, max_size=3),
    )
    substr = st.builds(lambda a, b, c: Call("substr", (a, b, c)), inner, inner, inner)
    return st.one_of(binary, unary, several, substr)


terms = st.recursive(simple_terms, _calls, max_leaves=6)
atoms = st.builds(Atom, NAMES, st.lists(terms | anonymous, max_size=3).map(tuple))
comparisons = st.builds(
    Comparison,
    st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "match", "contains", "!match", "!contains"]),
    terms,
    terms | anonymous,
)
plain_literals = st.one_of(atoms, atoms.map(Negation), comparisons)


def _aggregates(inner):
    bodies = st.lists(inner, max_size=3).map(tuple)
    counts = st.builds(lambda result, body: Aggregate(result, "count", None, body), terms, bodies)
    others = st.builds(
        Aggregate, terms, st.sampled_from([name for name in AGGREGATES if name != "count"]), terms, bodies
    )
    return counts | others


literals = st.recursive(plain_literals, _aggregates, max_leaves=4)


def numbered(rule: Rule) -> Rule:
    """The rule with each `_` a variable of its own, numbered by appearance."""
    count = iter(range(1000))

    class EachAnew(dict):
        def get(self, name, default=None):
            return f"_:{next(count)}" if name == "_:" else name

    return rename_rule(rule, EachAnew())


rules = st.builds(Rule, atoms, st.lists(literals, max_size=4).map(tuple), st.none() | NAMES).map(numbered).map(apart)
facts = st.builds(Fact, NAMES, st.lists(constants, max_size=3).map(tuple))
KINDS = ["number", "unsigned", "float", "symbol", "bool", "any"]
columns = st.lists(st.tuples(NAMES, st.sampled_from(KINDS)), max_size=3).map(tuple)
directives = st.lists(st.tuples(NAMES, st.lists(st.tuples(NAMES, HOSTILE), max_size=2).map(tuple)), max_size=2).map(
    tuple
)
programs = st.builds(
    Program,
    st.lists(rules, max_size=4, unique_by=lambda rule: rule.name if rule.name is not None else id(rule)).map(tuple),
    st.lists(facts, max_size=3).map(tuple),
    st.lists(st.builds(Declaration, NAMES, columns), max_size=2).map(tuple),
    directives,
    directives,
)

__all__ = ["numbered", "programs", "rule_variables", "rules"]
