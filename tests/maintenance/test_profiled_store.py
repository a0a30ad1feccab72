"""Measuring what rules cost changes nothing but the time."""

import pytest

import tidelog as tl
from tests.differential.engines import public_engines
from tests.differential.harness import agree
from tests.differential.updates import draw_case
from tidelog.cli import main
from tidelog.cli.drawing.flame import flame

RULES = """
path(x, y) :- edge(x, y).
path(x, z) :- edge(x, y), path(y, z).
hub(x, n) :- path(x, _), n = count : { edge(x, _) }.
far: far(x, y) :- path(x, y), !edge(x, y).
"""
EDGES = [(number, number + 1) for number in range(20)] + [(number, (number * 7) % 20) for number in range(0, 20, 3)]
STRATEGIES = ("auto", "recompute", "dred", "bf", "counting", "circuit", "dred-mark", "bf-mark")


def updates(strategy):
    """An insertion, a deletion, a rule change."""
    engine = tl.Engine(RULES, strategy=strategy)
    changes = [
        engine.apply(insert={"edge": EDGES}),
        engine.apply(delete={"edge": [(5, 6)]}, insert={"edge": [(1, 9)]}),
        engine.apply(add_rules="loop(x) :- path(x, x).", remove_rules=["far"]),
    ]
    engine.verify()
    return changes


def by_rule(change):
    """Derivations by rule and phase; a stage that is derived at once is evaluated rule by rule when it is measured."""
    return {(rule, phase.replace("at once", "evaluate")): n for (rule, phase), n in change.stats.derivations.items()}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_measured_update_is_the_same_update(strategy):
    """Rule by rule and round by round, the same facts come and go; and every derivation is accounted for."""
    plain = updates(strategy)
    with tl.profiling():
        measured = updates(strategy)
    for one, other in zip(plain, measured):
        assert one.inserted.keys() == other.inserted.keys()
        assert all(sorted(one.inserted[name]) == sorted(other.inserted[name]) for name in one.inserted)
        assert all(sorted(one.deleted[name]) == sorted(other.deleted[name]) for name in one.deleted)
        assert not one.stats.costs
        assert other.stats.costs
        assert sum(cost.derivations for cost in other.stats.costs) == other.stats.total_derivations
        assert sum(cost.seconds for cost in other.stats.costs) <= other.stats.seconds
    if strategy not in ("auto", "bf", "bf-mark"):  # these go by what is dear, and by what comes first
        assert [by_rule(one) for one in plain] == [by_rule(one) for one in measured]


@pytest.mark.parametrize("seed", range(40, 44))
def test_measured_random_programs_agree_with_recomputation(seed):
    """Negation, aggregates, arithmetic, rules that come and go, under every strategy."""
    with tl.profiling():
        agree(draw_case(seed), public_engines(("dred", "bf", "counting", "circuit")))


def test_duplicates_are_derivations_that_gave_nothing_new():
    """Two rules with the same heads: what the second derives is there already."""
    engine = tl.Engine("a: p(x) :- q(x).\nb: p(x) :- r(x).")
    with tl.profiling():
        change = engine.apply(insert={"q": [(1,), (2,)], "r": [(1,), (2,), (3,)]})
    found = {
        cost.rule: (cost.derivations, cost.duplicates, cost.runs) for cost in change.stats.costs if cost.derivations
    }
    assert found == {"a": (2, 0, 1), "b": (3, 2, 1)}


def test_profiles_are_printed_and_drawn(tmp_path, capsys):
    """A table with times, and a picture that is one file without scripts."""
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "edge.csv").write_text("".join(f"{one},{other}\n" for one, other in EDGES))
    picture = tmp_path / "profile.svg"
    command = ["materialize", str(tmp_path / "rules.dl"), "--facts", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main([*command, "--profile", "--profile-svg", str(picture)]) == 0
    table = capsys.readouterr().err
    assert "duplicates" in table
    assert "far" in table
    drawn = picture.read_text()
    assert drawn.startswith("<svg")
    assert "the update" in drawn
    assert "path(v0, v1)" in drawn
    assert "<script" not in drawn
    assert main([*command, "--profile-svg", str(tmp_path / "no" / "such.svg")]) == 1
    assert "E806" in capsys.readouterr().err


def test_hostile_names_are_escaped_in_the_picture():
    """A rule's text becomes text, never markup."""
    engine = tl.Engine('p("<script>alert(1)</script>", x) :- q(x).')
    with tl.profiling():
        change = engine.apply(insert={"q": [(1,)]})
    assert "<script" not in flame(change.stats)
