"""Rules that do not recur, over columns: the heads are those of trying every combination of facts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tidelog.backends.spark.bulk import rules_without_recursion
from tidelog.backends.spark.bulk.rules_without_recursion import heads, is_straight
from tidelog.backends.spark.bulk.shard_rules import over_ids
from tidelog.backends.spark.values import ids
from tidelog.language.parser import parse
from tidelog.language.terms import Atom, Comparison, Constant, Variable
from tidelog.planning.lowered import LoweredRule, Stage
from tidelog.planning.lowering import lower

STRAIGHT = [
    "h(x, z) :- p(x, y), q(y, z).",
    "h(x, 3, x) :- p(x, y), q(y, x).",
    "h(x, w) :- p(x, y), q(y, z), p(z, w), x != w.",
    "h(y) :- p(y, y).",
    "h(x, y) :- p(x, y), q(x, y).",
    "h(x) :- p(x, 2), q(x, 3).",
    "h(x, y) :- p(x, y), x > y, y >= 1, q(y, x), 2 < 3.",
    "h(x) :- p(x, y), y > 1.",
    "h(x, y) :- p(x, y), x = y.",
]
OTHERS = [
    "h(x, z) :- p(x, y), h(y, z).",
    "h(x, y) :- p(x, _), q(y, _).",
    "h(x) :- p(x, 2), q(2, _).",
    "h(x) :- p(x, y), !q(x, y).",
    "h(z) :- p(x, y), z = x + y.",
    "h(1) :- p(1, 2).",
    "h(x, z) :- p(x, y), z = y.",
    "h(x) :- p(x, 2), q(x, _).",
    "h(x) :- p(x, y), q(y, z), z > 1.",
    "h(y) :- p(x, y), q(z, y), x != z.",
]


@pytest.mark.parametrize("text", STRAIGHT)
@pytest.mark.parametrize("seed", range(3))
def test_heads_are_those_of_all_combinations(text: str, seed: int) -> None:
    """Facts in any order, whether a column is sorted or not; each instance gives one head."""
    chosen = np.random.default_rng(seed)
    stage = _stage(text)
    rules = over_ids(stage)
    assert rules is not None
    assert is_straight(stage)
    facts = {name: np.array(sorted({*map(tuple, chosen.integers(0, 5, (size, 2)).tolist())})) for name, size in SIZES}
    if seed:
        facts = {name: chosen.permutation(rows) for name, rows in facts.items()}
    stored = {name: np.asfortranarray(rows << 2 | ids.INTEGER) for name, rows in facts.items()}
    [rule] = rules.rules
    found = [tuple(row) for part in heads(rule, stored, is_numeric=rules.is_numeric) for row in (part >> 2).tolist()]
    [plain] = stage.rules
    assert sorted(found) == sorted(_by_trying(plain, facts))


@pytest.mark.parametrize("text", STRAIGHT)
def test_a_portion_of_any_size_gives_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts and matches are cut into portions wherever it may be, in the middle of a key, too."""
    monkeypatch.setattr(rules_without_recursion, "_PORTION", 2)
    for seed in range(3):
        test_heads_are_those_of_all_combinations(text, seed)


def test_a_hub_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand facts join with a thousand through one constant: a million heads come a few thousand at a time."""
    monkeypatch.setattr(rules_without_recursion, "_PORTION", 1 << 12)
    rules = over_ids(_stage("h(x, z) :- p(x, y), q(y, z)."))
    assert rules is not None
    number = np.arange(1_000, dtype=np.int64) << 2 | ids.INTEGER
    hub = np.full(1_000, 7 << 2 | ids.INTEGER)
    facts = {"p": np.stack([number, hub]).T, "q": np.stack([hub, number]).T}
    sizes = [len(part) for part in heads(rules.rules[0], facts, is_numeric=rules.is_numeric)]
    assert sum(sizes) == 1_000_000
    assert max(sizes) <= (1 << 12) + 1_000


SIZES = (("p", 14), ("q", 11))


@pytest.mark.parametrize("text", OTHERS)
def test_what_is_not_straight_is_told(text: str) -> None:
    """Recursion, products, negation, arithmetic, and what one witness is enough for, are for the store."""
    assert not is_straight(_stage(text))


def _stage(text: str) -> Stage:
    [found] = [stage for stage in lower(parse(text).rules).stages if "h" in stage.relations]
    return found


def _by_trying(rule: LoweredRule, facts: dict[str, np.ndarray]) -> list[tuple[int, ...]]:
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    found = []
    for rows in product(*(facts[atom.relation].tolist() for atom in atoms)):
        values: dict[object, int] = {}
        pairs = [(term, value) for atom, row in zip(atoms, rows) for term, value in zip(atom.terms, row)]
        fits = all(
            term.value == value if isinstance(term, Constant) else values.setdefault(term, value) == value
            for term, value in pairs
        )
        if fits and all(_holds(one, values) for one in rule.body if isinstance(one, Comparison)):
            found.append(tuple(_value(term, values) for term in rule.head.terms))
    return found


def _value(term: object, values: dict[object, int]) -> int:
    return values[term] if isinstance(term, Variable) else term.value  # type: ignore[attr-defined, no-any-return]


def _holds(one: Comparison, values: dict[object, int]) -> bool:
    left, right = _value(one.left, values), _value(one.right, values)
    orders = {"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right}
    return (orders | {">": left > right, ">=": left >= right})[one.op]
