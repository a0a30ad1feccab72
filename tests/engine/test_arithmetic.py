"""Arithmetic without a value: the instance is none, it is counted, and an engine can be told to refuse it.

Taught by an engine in which `z = 10 / y` over `y = 0` refused an update or not, depending on strategy, history and join
order: a deletion could be refused, `verify` could fail after an accepted update, and a program that divides by a count
could not start empty. See docs/decisions/0014-arithmetic-without-a-value.md.
"""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES
from tests.differential.harness import keys
from tidelog.changes.change import WithoutValue
from tidelog.language.parser import parse
from tidelog.reference.evaluation import FactSet, to_fact
from tidelog.reference.undefined import without_value

GREATEST = 2**63 - 1


def counts(change: tl.Change) -> dict[str, int]:
    """How many instances of each rule lack a value."""
    return {rule: found.count for rule, found in change.stats.without_value.items()}


CASES: dict[str, tuple[str, dict[str, list[tuple[Any, ...]]], set[tuple[Any, ...]], int]] = {
    "division by zero": ("r: h(x, z) :- q(x, y), z = 10 / y.", {"q": [(1, 0), (2, 5)]}, {(2, 2)}, 1),
    "overflow": ("r: h(x, z) :- q(x), z = x + 1.", {"q": [(GREATEST,), (1,)]}, {(1, 2)}, 1),
    "a symbol where a number is needed": ("r: h(x, z) :- q(x), z = x * 2.", {"q": [("a",), (2,)]}, {(2, 4)}, 1),
    "no order": ("r: h(x) :- q(x), x < 3.", {"q": [("a",), (2,), (5,), (True,)]}, {(2,)}, 2),
    "a computed pattern": ("r: h(x) :- q(x), match(x, x).", {"q": [("(",), ("a",), (1,)]}, {("a",)}, 2),
    "a negated pattern": ('r: h(x) :- q(x), !match(x, "b").', {"q": [("(",), ("a",), ("b",)]}, {("a",)}, 1),
    "a negated part": ('r: h(x) :- q(x), !contains("a", x).', {"q": [("a",), ("b",), (1,)]}, {("b",)}, 1),
    "in the head": ("r: h(10 % x) :- q(x).", {"q": [(0,), (4,)]}, {(2,)}, 1),
    "in an atom": ("r: h(x) :- q(x), p(10 / x).", {"q": [(0,), (2,), (3,)], "p": [(5,)]}, {(2,)}, 1),
    "in a negated atom": ("r: h(x) :- q(x), !p(10 / x).", {"q": [(0,), (2,), (3,)], "p": [(5,)]}, {(3,)}, 1),
    "in a member": ("r: h(n) :- n = sum 10 / x : { q(x) }.", {"q": [(0,), (2,), (5,)]}, {(7,)}, 1),
    "a comparison in a member": ("r: h(n) :- n = count : { q(x), x < 3 }.", {"q": [(0,), ("a",), (5,)]}, {(1,)}, 1),
    "a sum that overflows": (
        "r: h(x, n) :- g(x), n = sum y : { q(x, y) }.",
        {"g": [(1,), (2,), (3,)], "q": [(1, GREATEST), (1, 1), (2, 5)]},
        {(2, 5), (3, 0)},
        1,
    ),
    "an extreme of mixed types": (
        "r: h(x, n) :- g(x), n = max y : { q(x, y) }.",
        {"g": [(1,), (2,), (3,)], "q": [(1, "a"), (1, 1), (2, 5)]},
        {(2, 5)},
        1,
    ),
    "nobody asks for the group": (
        "r: h(n) :- g(x), n = sum y : { q(x, y) }.", {"q": [(1, GREATEST), (1, 1)]}, set(), 0
    ),
    "a guard": ("r: h(x, z) :- q(x, y), z = 10 / y, y != 0.", {"q": [(1, 0), (2, 5)]}, {(2, 2)}, 0),
    "another literal fails": (
        "r: h(x, z) :- q(x, y), z = 10 / y, g(x).", {"q": [(1, 0), (2, 5)], "g": [(2,)]}, {(2, 2)}, 0
    ),
    "another comparison fails": ("r: h(x, z) :- q(x, y), z = 10 / y, x > 1.", {"q": [(1, 0), (2, 5)]}, {(2, 2)}, 0),
    "two values of one instance": ("r: h(z, w) :- q(x), z = 1 / x, w = 2 / x.", {"q": [(0,), (1,)]}, {(1, 2)}, 1),
    "a value behind a join": (
        "r: h(x, z) :- q(x), p(x + 1, y), z = 10 / y.",
        {"q": [(1,), (2,)], "p": [(2, 0), (3, 5)]},
        {(2, 2)},
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_has_no_value_makes_no_instance_and_is_counted(case: str, strategy: str) -> None:
    """All at once, fact by fact, in another order, and back again: the same facts and the same counts."""
    rules, facts, expected, lacking = CASES[case]
    engine = tl.Engine(rules, strategy=strategy)
    change = engine.apply(insert=facts)
    assert keys({"h": engine["h"]}) == keys({"h": expected})
    assert counts(change) == ({"r": lacking} if lacking else {})
    engine.verify()
    single = [(relation, fact) for relation, some in facts.items() for fact in some]
    other = tl.Engine(rules, strategy=strategy)
    for relation, fact in reversed(single):
        change = other.apply(insert={relation: [fact]})
        other.verify()
    assert keys({"h": other["h"]}) == keys({"h": expected})
    assert counts(change) == ({"r": lacking} if lacking else {})
    for relation, fact in single:
        change = other.apply(delete={relation: [fact]})
        other.verify()
    assert counts(change) == {}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_engine_can_refuse_it(case: str, strategy: str) -> None:
    """It is refused exactly where something is counted, with the rule and its place, and nothing has changed."""
    rules, facts, expected, lacking = CASES[case]
    engine = tl.Engine(rules, strategy=strategy, arithmetic="refuse")
    before = set(engine["h"])
    if not lacking:
        engine.apply(insert=facts)
        assert keys({"h": engine["h"]}) == keys({"h": expected})
        return
    with pytest.raises(tl.EvaluationError, match="in rule r") as caught:
        engine.apply(insert=facts)
    assert caught.value.problems[0].place
    assert (engine.version, set(engine["h"]), len(engine["q"])) == (0, before, 0)
    engine.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_refusal_is_about_the_new_version_only(strategy: str) -> None:
    """Not about how it came: a missing value that was there, or is there on the way, does not matter."""
    rules = "h(x, z) :- q(x, y), z = 10 / y, !off(x)."
    for order in permutations([("q", (1, 0)), ("off", (1,)), ("q", (2, 5))]):
        engine = tl.Engine(rules, strategy=strategy, arithmetic="refuse")
        is_off = False
        for relation, fact in order:
            is_off |= relation == "off"
            if fact == (1, 0) and not is_off:
                with pytest.raises(tl.EvaluationError, match="E501"):
                    engine.apply(insert={relation: [fact]})
                is_off = True
                engine.apply(insert={relation: [fact], "off": [(1,)]})
            else:
                engine.apply(insert={relation: [fact]})
        with pytest.raises(tl.EvaluationError):
            engine.apply(delete={"off": [(1,)]})
        engine.apply(delete={"off": [(1,)], "q": [(1, 0)]})
        assert set(engine["h"]) == {(2, 2)}
        engine.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_program_that_divides_by_a_count_can_start_empty(strategy: str) -> None:
    """100 / 0 over nothing is no instance; the first fact gives one, the last takes it away."""
    engine = tl.Engine("share(z) :- n = count : { q(_) }, z = 100 / n.", strategy=strategy)
    assert list(engine["share"]) == []
    assert set(engine.apply(insert={"q": [(1,), (2,)]}).inserted["share"]) == {(50,)}
    change = engine.apply(delete={"q": [(1,), (2,)]})
    assert set(change.deleted["share"]) == {(50,)}
    assert list(change.stats.without_value.values()) == [WithoutValue(1, "division by zero: 100 / 0")]
    engine.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rules_come_and_go_with_what_they_lack(strategy: str) -> None:
    """An added rule is counted at once, a removed one no longer; of two rules each has its own count."""
    engine = tl.Engine("q(0). q(1).", strategy=strategy)
    change = engine.apply(add_rules="one: h(z) :- q(x), z = 1 / x. two: h(z) :- q(x), z = 2 / x.")
    assert counts(change) == {"one": 1, "two": 1}
    assert counts(engine.apply(remove_rules=["one"])) == {"two": 1}
    assert counts(engine.apply(insert={"q": [("a",)]})) == {"two": 2}
    assert counts(engine.apply(remove_rules=["two"])) == {}
    engine.verify()


def test_the_first_one_is_shown() -> None:
    """With what went wrong and the values that it went wrong for; the same in every order of arrival."""
    shown = set()
    for order in permutations([("b", 0), ("a", 0), ("c", "x")]):
        engine = tl.Engine("r: h(x, z) :- q(x, y), z = 10 / y.")
        for fact in order:
            change = engine.apply(insert={"q": [fact]})
        shown.add(change.stats.without_value["r"])
    assert shown == {WithoutValue(3, 'division by zero: 10 / 0, for x = "a", y = 0')}
    change = engine.apply(delete={"q": [("a", 0), ("b", 0)]})
    assert change.stats.without_value["r"].first == '/ needs numbers, not the symbol \'x\', for x = "c", y = "x"'
    assert engine.apply(insert={"other": [(1,)]}).stats.without_value == change.stats.without_value


def test_what_is_missing_is_known_again_when_a_state_is_opened(tmp_path: Path) -> None:
    """Counts go on where they stood, without a recomputation; an engine that refuses can be opened, and cured."""
    engine = tl.Engine("r: h(x, z) :- q(x, y), z = 10 / y.")
    engine.apply(insert={"q": [("a", 0), ("b", 5)]})
    engine.save(tmp_path / "state")
    opened = tl.Engine.open(tmp_path / "state")
    assert counts(opened.apply(insert={"q": [("c", 0)]})) == {"r": 2}
    opened.verify()
    strict = tl.Engine.open(tmp_path / "state", arithmetic="refuse")
    with pytest.raises(tl.EvaluationError, match="E501"):
        strict.apply(insert={"q": [("c", 1)]})
    strict.apply(delete={"q": [("a", 0)]}, insert={"q": [("c", 1)]})
    assert set(strict["h"]) == {("b", 2), ("c", 10)}


def test_what_is_ours_is_not_shown() -> None:
    """Neither as relations nor in changes, rules, derivations or choices."""
    engine = tl.Engine("r: h(x, z) :- q(x, y), z = 10 / y.")
    change = engine.apply(insert={"q": [("a", 0), ("b", 5)]})
    assert engine.relations == ("h", "q")
    assert set(change.inserted) == {"h", "q"}
    assert {rule for rule, _ in change.stats.derivations} == {"r"}
    assert "@" not in str(change.stats.choices)
    assert engine.rules == ("r: h(x, z) :- q(x, y), z = 10 / y.",)


def test_proofs_use_no_instance_without_a_value() -> None:
    """A fact is explained by the rule that has a value, and a cause does not speak of the other."""
    engine = tl.Engine("h(x) :- q(x, y), 10 / y > 0. h(x) :- q(x, _), !match(x, x).")
    change = engine.apply(insert={"q": [("(", 0), ("a", 5)]})
    assert set(engine["h"]) == {("a",)}
    assert "10 / 5 > 0" in str(engine.explain("h", ("a",))) or "2 > 0" in str(engine.explain("h", ("a",)))
    assert "came" in str(engine.explain_change(change, "h", ("a",)))


def test_no_other_word_is_taken() -> None:
    """A wrong word is no silent default."""
    with pytest.raises(tl.UsageError, match="E817"):
        tl.Engine(arithmetic="ignore")


def test_plans_and_previews_do_not_show_what_is_ours() -> None:
    """What a rule change touches is told in the user's relations."""
    engine = tl.Engine("r: h(x, z) :- q(x, y), z = 10 / y.")
    engine.apply(insert={"q": [("a", 0), ("b", 5)]})
    assert "@" not in str(engine.preview(remove_rules=["r"]))


def test_two_computed_atoms_are_counted_once_and_only_if_the_other_holds():
    """The second was not looked at where the first had no value, so instances were counted that nothing could mend."""
    engine = tl.Engine("r(x) :- p(x), q(10 / x), s(20 / (x - 1)).")
    change = engine.apply(insert={"p": [(0,), (1,), (2,)], "q": [(10,)], "s": [(7,)]})
    assert [lacking.count for lacking in change.stats.without_value.values()] == [1]  # x = 1, for q(10)
    change = engine.apply(insert={"s": [(-20,)]})
    assert [lacking.count for lacking in change.stats.without_value.values()] == [2]
    both = tl.Engine("r(x) :- p(x), q(10 / x), s(20 / x).")
    assert [one.count for one in both.apply(insert={"p": [(0,)]}).stats.without_value.values()] == [1]
    engine.verify()


def test_many_computed_atoms_do_not_make_many_rules():
    """Sets of missing values are looked at for a few of them only; of many the first decides."""
    body = ", ".join(f"q({n} / (x - {n}))" for n in range(12))
    engine = tl.Engine(f"r(x) :- p(x), {body}.")
    change = engine.apply(insert={"p": [(0,), (100,)]})
    assert [lacking.count for lacking in change.stats.without_value.values()] == [1]
    assert sum(len(scheduled.stage.rules) for scheduled in engine._book.schedule.stages) < 20


COMPUTED_ATOMS = (
    "r(x) :- p(x, y), q(6 / x, w), s(w, 6 / y).",
    "r(x) :- p(x, y), q(6 / x, w), !s(w, 6 / y).",
    "r(x) :- p(x, y), q(6 / x, w), s(6 / w, y), q(6 / y, _).",
    "r(x) :- p(x, y), v = 6 / x, u = v / y, q(v, u), s(u, x).",
    "r(x) :- p(x, y), n = sum z : { q(x, z) }, q(6 / n, w), s(6 / y, w).",
    "r(x) :- p(x, y), q(6 / x, _), n = count : { s(y, _) }, s(6 / n, _), x < y.",
)


@pytest.mark.parametrize("rule", COMPUTED_ATOMS)
def test_several_computed_atoms_are_counted_as_by_brute_force(rule: str):
    """Values that wait for each other, for aggregates and for atoms, over random facts that come and go."""
    draw, seen = random.Random(rule), 0
    for _ in range(8):
        values = draw.choices((-1, 0, 1, 2, 3, 6, "a"), k=36)
        facts = {name: list(zip(values[at::6], values[at + 3 :: 6])) for at, name in enumerate("pqs")}
        engine = tl.Engine(rule)
        engine.apply(insert=facts)
        engine.apply(delete={"q": facts["q"][:2]})
        held = FactSet(to_fact(name, fact) for name in engine.relations for fact in engine[name])
        expected = sum(map(len, without_value(parse(rule).rules, held).values()))
        assert sum(lacking.count for lacking in engine.without_value.values()) == expected
        engine.verify()
        seen += expected
    assert seen
