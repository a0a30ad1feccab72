"""Every sentence of the public interface, as users write it: names and meanings here are a contract."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tidelog as tl
from tests.differential.engines import STRATEGIES
from tests.differential.harness import keys

CLOSURE = """
    path(x, y) :- edge(x, y).
    path(x, z) :- edge(x, y), path(y, z).
"""
SALES = """
    .decl sale(shop: symbol, item: symbol, price: number)
    total: total(shop, n) :- sale(shop, _, _), n = sum p : { sale(shop, _, p) }.
    quiet(shop) :- shop(shop), !sale(shop, _, _).
"""


def everything(engine: tl.Engine) -> dict[str, list[Any]]:
    """All facts by relation."""
    return {name: list(engine[name]) for name in engine.relations}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_first_page_of_the_manual(strategy: str) -> None:
    """The example that opens the documentation, with every strategy."""
    engine = tl.Engine(CLOSURE, strategy=strategy, backend="local")
    change = engine.apply(insert={"edge": [("a", "b"), ("b", "c")]})
    assert set(change.inserted["path"]) == {("a", "b"), ("b", "c"), ("a", "c")}
    assert not change.deleted
    change = engine.apply(
        delete={"edge": [("a", "b")]},
        insert={"edge": [("c", "d")]},
        add_rules="reach(y) :- path('b', y).",
        remove_rules=["path(x, z) :- edge(x, y), path(y, z)."],
    )
    assert set(change.deleted["path"]) == {("a", "b"), ("a", "c")}
    assert set(change.inserted["path"]) == {("c", "d")}
    assert set(engine["reach"]) == {("c",)}
    engine.verify()


def test_relations_answer_like_collections() -> None:
    """`len`, `in`, iteration and conversions; a relation held in hand follows the engine."""
    engine = tl.Engine(CLOSURE)
    path = engine["path"]
    assert (len(path), list(path), ("a", "b") in path) == (0, [], False)
    engine.apply(insert={"edge": [("a", "b"), ("b", "c")]})
    assert len(path) == 3
    assert ("a", "c") in path
    assert ("c", "a") not in path
    assert sorted(path) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert sorted(path.to_arrow().to_pylist(), key=str) == sorted(({"c1": x, "c2": y} for x, y in path), key=str)
    assert path.to_pandas().shape == (3, 2)


def test_declared_columns_keep_their_names() -> None:
    """Tables that leave the engine carry the names of the declaration."""
    engine = tl.Engine(SALES)
    engine.apply(insert={"sale": [("s", "i", 3)], "shop": [("s",), ("t",)]})
    assert engine["sale"].to_arrow().column_names == ["shop", "item", "price"]
    assert list(engine["quiet"]) == [("t",)]
    assert engine["total"].columns == ("c1", "c2")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_deletions_come_before_insertions(strategy: str) -> None:
    """A fact that one update deletes and inserts is there afterwards, whether it was before or not."""
    engine = tl.Engine(CLOSURE + "edge(1, 2).", strategy=strategy)
    both = {"edge": [(1, 2), (2, 3)]}
    change = engine.apply(insert=both, delete=both)
    assert set(engine["edge"]) == {(1, 2), (2, 3)}
    assert keys(change.inserted) == keys({"edge": [(2, 3)], "path": [(2, 3), (1, 3)]})
    assert not change.deleted
    engine.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_ops_are_counted_and_change_nothing(strategy: str) -> None:
    """Deleting what is absent (derived facts are no explicit ones) and inserting what is present, twice over."""
    engine = tl.Engine(CLOSURE + "edge(1, 2). edge(2, 3).", strategy=strategy)
    before = everything(engine)
    absent = {"edge": [(9, 9), (9, 9)], "path": [(1, 3)], "unheard": [(1,)]}
    change = engine.apply(insert={"edge": [(1, 2), (1, 2)]}, delete=absent)
    assert change.is_empty
    assert change.stats.no_ops == 4  # what is named twice counts once
    assert everything(engine) == before
    engine.verify()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_explicit_fact_outlives_its_proofs(strategy: str) -> None:
    """Explicit and derived at once: it falls only when both reasons are gone, in either order."""
    engine = tl.Engine(CLOSURE + "edge(1, 2).", strategy=strategy)
    assert engine.apply(insert={"path": [(1, 2)]}).is_empty
    assert not engine.apply(delete={"edge": [(1, 2)]}).deleted["path"]
    assert list(engine["path"]) == [(1, 2)]
    assert list(engine.apply(delete={"path": [(1, 2)]}).deleted["path"]) == [(1, 2)]
    engine.apply(insert={"edge": [(1, 2)], "path": [(1, 2)]})
    assert engine.apply(delete={"path": [(1, 2)]}).is_empty
    assert keys(engine.apply(delete={"edge": [(1, 2)]}).deleted) == keys({"edge": [(1, 2)], "path": [(1, 2)]})


def test_explicit_facts_can_be_asked_for() -> None:
    """What was said, apart from what follows."""
    engine = tl.Engine(CLOSURE + "edge(1, 2). edge(2, 3). path(7, 7).")
    assert sorted(engine.explicit("path")) == [(7, 7)]
    assert sorted(engine.explicit("edge")) == [(1, 2), (2, 3)]
    with pytest.raises(tl.UsageError, match="E802"):
        engine.explicit("pth")


def test_rules_are_removed_by_name_text_or_statement() -> None:
    """A name, the text as written, the canonical text; a statement with several heads or alternatives as a whole."""
    engine = tl.Engine("r1: a(x) :- e(x). b(x) :- e(x). c(u) :- e(u). two: d(x), f(x) :- e(x). e(1).")
    for name, relation in (("r1", "a"), ("b(x) :- e(x).", "b"), ("c(v0) :- e(v0).", "c")):
        assert set(engine.apply(remove_rules=[name]).deleted) == {relation}
    assert set(engine.apply(remove_rules="two").deleted) == {"d", "f"}
    assert engine.rules == ()
    with pytest.raises(tl.UsageError, match="E803"):
        engine.apply(remove_rules=["r1"])


def test_versions_count_updates() -> None:
    """Readers can tell versions apart; a failed update makes none."""
    engine = tl.Engine(CLOSURE)
    assert engine.version == 0
    assert engine.apply(insert={"edge": [(1, 2)]}).version == engine.version == 1
    with pytest.raises(tl.UpdateError):
        engine.apply(insert={"edge": [(1,)]})
    assert engine.version == 1
    assert engine.apply().version == 2


def test_queries_match_patterns() -> None:
    """Constants select, `_` matches anything, a variable that occurs twice means equal values."""
    engine = tl.Engine(CLOSURE + "edge(1, 2). edge(2, 1). edge(2, 3).")
    assert sorted(engine.query("path(1, y)")) == [(1, 1), (1, 2), (1, 3)]
    assert sorted(engine.query("path(_, 3)")) == [(1, 3), (2, 3)]
    assert sorted(engine.query("path(x, x)")) == [(1, 1), (2, 2)]
    assert sorted(engine.query("path(2, 3)")) == [(2, 3)]
    assert len(engine.query("path(_, _)")) == 6
    assert (
        len(engine.query('path("1", _)')) == len(engine.query("path(1.0, _)")) == len(engine.query("path(99, _)")) == 0
    )
    for pattern, code in (("path(x)", "E804"), ("pth(x, y)", "E802")):
        with pytest.raises(tl.UsageError, match=code):
            engine.query(pattern)
    with pytest.raises(tl.ProgramError):
        engine.query("path(x,")


@pytest.mark.parametrize(("options", "code"), [({"strategy": "magic"}, "E810"), ({"backend": "cloud"}, "E811")])
def test_unknown_options_are_refused_by_name(options: dict[str, str], code: str) -> None:
    """The error lists what there is."""
    with pytest.raises(tl.UsageError, match="use one of") as raised:
        tl.Engine("", **options)  # type: ignore[arg-type]
    assert raised.value.code == code


def test_a_strategy_can_be_changed_between_updates() -> None:
    """An unknown one changes nothing."""
    engine = tl.Engine(CLOSURE + "edge(1, 2). edge(2, 3). edge(3, 1).", strategy="counting")
    for strategy in (*STRATEGIES, "counting"):
        engine.strategy = strategy
        engine.apply(delete={"edge": [(2, 3)]})
        engine.apply(insert={"edge": [(2, 3)]})
        engine.verify()
    with pytest.raises(tl.UsageError, match="E810"):
        engine.strategy = "magic"
    assert engine.strategy == "counting"


def test_a_preview_changes_nothing() -> None:
    """It says which relations a rule change can touch and refuses what the change would be refused for; no more."""
    engine = tl.Engine(CLOSURE + "edge(1, 2). other(1).")
    before, rules = everything(engine), engine.rules
    seen = engine.preview(add_rules="reach(y) :- path(1, y).")
    assert (seen.relations, seen.added, seen.removed) == (frozenset({"reach"}), 1, 0)
    assert engine.preview(remove_rules=[rules[1]]).losing == {"path"}
    with pytest.raises(tl.ProgramError):
        engine.preview(add_rules="path(x, x) :- other(x), !path(x, x).")
    with pytest.raises(tl.UsageError):
        engine.preview(remove_rules=["nobody"])
    assert (everything(engine), engine.rules, engine.version) == (before, rules, 0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_runs_repeat(strategy: str) -> None:
    """The same updates give the same facts in the same order, and the same counters, on every run."""

    def run() -> list[Any]:
        engine = tl.Engine(CLOSURE, strategy=strategy)
        edges = [(x, (x * 7 + 3) % 20) for x in range(20)] + [(x, (x * 3 + 1) % 20) for x in range(20)]
        found: list[Any] = []
        for change in (engine.apply(insert={"edge": edges}), engine.apply(delete={"edge": edges[5:9]})):
            tables = (*change.inserted.items(), *change.deleted.items())
            found += [[(name, list(table)) for name, table in tables], Counter(change.stats.derivations)]
        return found

    assert run() == run()


def test_errors_of_evaluation_name_the_rule_and_its_place() -> None:
    """Whoever wrote fifty rules must learn which of them divides by zero."""
    rules = "fine(x) :- q(x).\nshare: p(y) :- q(x), y = 100 / x.\ntotal(n) :- n = sum x : { big(x) }.\n"
    engine = tl.Engine(rules, arithmetic="refuse")
    with pytest.raises(tl.EvaluationError, match="in rule share") as raised:
        engine.apply(insert={"q": [(0,)]})
    place = raised.value.problems[0].place
    assert place is not None
    assert (raised.value.code, place.line) == ("E501", 2)
    with pytest.raises(tl.EvaluationError, match="in rule total") as raised:
        engine.apply(insert={"big": [(2**63 - 1,), (1,)]})
    place = raised.value.problems[0].place
    assert place is not None
    assert (raised.value.code, place.line) == ("E506", 3)


def test_a_relation_in_hand_follows_a_change_of_columns() -> None:
    """Its columns were those of the day it was asked for: Arrow and pandas then had no rows, HTML too few headings."""
    engine = tl.Engine()
    engine.apply(insert={"p": [(1,)]})
    held = engine["p"]
    engine.apply(delete={"p": [(1,)]})
    assert (held.to_arrow().num_rows, held.arity) == (0, 1)
    engine.apply(insert={"p": [(1, "a"), (2, "b")]})
    assert (held.arity, held.columns, len(held)) == (2, ("c1", "c2"), 2)
    assert held.to_arrow().to_pylist() == [{"c1": 1, "c2": "a"}, {"c1": 2, "c2": "b"}]
    assert held.to_pandas().shape == (2, 2)
    assert held._repr_html_().count("<th>") == 2
    assert repr(held) == "<p(c1, c2): 2 facts>"
    engine.apply(delete={"p": [(1, "a"), (2, "b")]}, insert={"q": [()]})
    engine.apply(insert={"p": [()]})
    assert (held.columns, held.to_arrow().num_rows, list(held)) == ((), 1, [()])
    engine.close()
    assert held.columns == ("c1",)
