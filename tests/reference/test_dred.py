"""DRed: the running example of the B/F paper, and that the fix repeats no rule instance."""

from tidelog.language.parser import parse
from tidelog.reference.dred import DRed, DRedRepeating
from tidelog.reference.facts import to_fact
from tidelog.reference.recompute import materialise

TABLE_1 = """
    TA(x) :- Person(x), Tutor(x, y), Course(y).
    Person(x) :- TA(x).
    Person(x) :- Tutor(x, y).
    Course(y) :- Tutor(x, y).
    Tutor("john", "math"). Tutor("peter", "math"). Tutor("john", "phys").
"""
CLOSURE = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z)."


def test_table_1_overdeletes_all_but_one_implicit_fact():
    """The text: deleting E1 overdeletes I4, I3, I5, then I2, then I1; all implicit facts apart from I6."""
    algorithm = DRed(parse(TABLE_1, "table1.dl"))
    before = algorithm.facts
    inserted, deleted = algorithm.apply(delete=[to_fact("Tutor", ("john", "math"))])
    assert (inserted, deleted) == (frozenset(), {to_fact("Tutor", ("john", "math"))})
    assert algorithm.counters["overdeleted"] == 5
    assert algorithm.counters["rederived"] == 5
    assert before - algorithm.facts == deleted


def test_the_fix_repeats_no_rule_instance_and_its_absence_does():
    """On a clique of five most instances have several deleted facts; only inverse seminaive meets each once."""
    edges = [to_fact("edge", (x, y)) for x in range(5) for y in range(5)]
    fixed, repeating = DRed(parse(CLOSURE, "closure.dl")), DRedRepeating(parse(CLOSURE, "closure.dl"))
    for algorithm in (fixed, repeating):
        algorithm.apply(insert=edges)
        algorithm.apply(delete=edges[:7], insert=[to_fact("edge", (5, 0))])
        assert algorithm.facts == materialise(algorithm.rules, algorithm.explicit)
    assert fixed.counters["repeated"] == 0
    assert repeating.counters["repeated"] > 0
    assert fixed.counters["DR2"] < repeating.counters["DR2"]
    assert fixed.counters["overdeleted"] == repeating.counters["overdeleted"]


def test_a_deleted_explicit_fact_that_is_also_derived_stays():
    """Tidelog allows explicit facts of derived relations; taking the explicit one away leaves the derived one."""
    algorithm = DRed(parse(CLOSURE + "edge(1, 2). edge(2, 3). path(1, 3). path(7, 8).", "closure.dl"))
    assert algorithm.apply(delete=[to_fact("path", (1, 3))]) == (frozenset(), frozenset())
    assert algorithm.apply(delete=[to_fact("path", (7, 8))]) == (frozenset(), {to_fact("path", (7, 8))})
