"""The circuit: rules are rows, prefixes of bodies are kept, and a push of rules leaves the rest as it is.

That it is true like every strategy is said by test_law.py and tests/differential; two thirds of their programs have
bodies of three atoms. Here is what only the circuit has: rewrites.
"""

import random

import pytest

import tidelog as tl
from tests.differential.updates import draw_case
from tests.maintenance.engines import StoreEngine
from tests.maintenance.set_store import Filtered, SetStore
from tests.maintenance.stores import STORES
from tidelog.errors import BudgetError
from tidelog.language.parser import parse
from tidelog.language.terms import Rule
from tidelog.limits import Limits
from tidelog.planning.lowered import Stage, is_of_rewrites
from tidelog.planning.lowering import lower
from tidelog.planning.rewrites import MOST_ATOMS, push, wired
from tidelog.planning.views import NOW
from tidelog.reference.evaluation import instances, uniform

SHARED = "first: p(x) :- a(x, y), b(y, z), c(z).\nsecond: p(x) :- a(x, y), b(y, z), d(z)."
GUARDED = "path(x, z) :- edge(x, y), path(y, z), open(z), x != z. path(x, y) :- edge(x, y)."


def stage_of(rules: str) -> Stage:
    """The last stage of a program."""
    return lower(parse(rules).rules).stages[-1]


def rewrites_in(engine: tl.Engine) -> dict[str, int]:
    """How many rewrites an engine keeps, by prefix."""
    relations = engine._backend.store.relations
    return {name: relation.alive for name, relation in relations.items() if is_of_rewrites(name) and relation.alive}


def test_a_rule_becomes_directions_and_a_signal():
    """Two atoms make a prefix, a third one makes it longer, and the last one grounds the head."""
    stage = wired(stage_of("p(x, w) :- a(x, y), b(y, z), c(z, u), d(u, w)."))
    directions = [rule for rule in stage.rules if is_of_rewrites(rule.head.relation)]
    assert [len(rule.head.terms) for rule in directions] == [2, 2]  # what nobody asks for later is left out
    assert directions[0].reads == {"a", "b"}
    assert directions[1].reads == {directions[0].head.relation, "c"}
    assert stage.rules[-1].reads == {directions[1].head.relation, "d"}
    assert stage.rules[-1].head.relation == "p"


def test_rules_share_a_prefix_whatever_they_call_its_variables():
    """A direction of weight two is one row; the example of maintenance/circuit.py."""
    stage = wired(stage_of(SHARED.replace("a(x, y), b(y, z), d(z)", "a(x, u), b(u, v), d(v)")))
    assert len(stage.rules) == 3
    before, after = stage_of(SHARED.splitlines()[0]), stage_of(SHARED)
    added, removed, wide = push(after, before.rules)
    assert [row.key for row in added] == ["second"]
    assert removed == []
    assert wide.relations == wired(before).relations
    added, removed, _ = push(before, after.rules)
    assert (added, [row.key for row in removed]) == ([], ["second"])


def test_what_a_prefix_may_be():
    """No product of atoms that share nothing, no body without end, nothing for two atoms; facts below come first."""
    assert wired(stage_of("p(x, y) :- a(x, y), b(y, x).")) == stage_of("p(x, y) :- a(x, y), b(y, x).")
    assert wired(stage_of("p(x, y, z) :- a(x), b(y), c(z).")) == stage_of("p(x, y, z) :- a(x), b(y), c(z).")
    long = ", ".join(f"a(x{at}, x{at + 1})" for at in range(MOST_ATOMS + 1))
    assert wired(stage_of(f"p(x0) :- {long}.")) == stage_of(f"p(x0) :- {long}.")
    recursive = wired(stage_of("p(x, y) :- a(x, y). p(x, w) :- p(x, y), a(y, z), b(z, w)."))
    direction = next(rule for rule in recursive.rules if is_of_rewrites(rule.head.relation))
    assert direction.reads == {"a", "b"}
    joined = wired(stage_of("p(x) :- a(x), b(y), e(x, y)."))
    assert joined.rules[0].reads == {"a", "e"}


@pytest.mark.parametrize("seed", range(60, 72))
def test_rewrites_are_the_joins_of_their_prefixes(seed: int):
    """After every update each prefix holds what its direction derives now, and nothing else is left anywhere."""
    case = draw_case(seed)
    engine = StoreEngine(case.program, "circuit", SetStore())
    for update in (None, *case.updates):
        if update is not None and update.refused:
            continue
        if update is not None:
            engine.apply(**update.arguments)
        now, wanted = Filtered(engine.store, NOW), set[tuple[str, object]]()
        for scheduled in engine.schedule.stages:
            if scheduled.stage.groups or scheduled.stage.finds_undefined:
                continue
            for row in scheduled.wired.stage.rules:
                if is_of_rewrites(row.head.relation):
                    plain = Rule(row.head, row.body)
                    wanted |= {one.head for one in instances(plain, uniform(plain, now, now))}
        assert set(engine.store.select(_prefixes(engine.store), NOW)) == wanted


def _prefixes(store: SetStore) -> set[str]:
    return {fact[0] for fact in store.marks if is_of_rewrites(fact[0])}


@pytest.mark.parametrize("store", STORES)
def test_a_push_of_rules_counts_nothing_anew(store: str):
    """Rules come and go in a recursive stage, with prefixes of their own and shared ones."""
    engine = StoreEngine(GUARDED, "circuit", STORES[store]())
    engine.apply(insert={"edge": [(1, 2), (2, 3), (3, 1), (3, 4)], "open": [(1,), (2,), (4,)], "back": [(4, 1)]})
    begun = []
    engine.store.start_counting = begun.append
    engine.apply(add_rules="more: path(x, z) :- path(x, y), back(y, u), edge(u, z).")
    assert (4, 2) not in engine.facts()["path"]
    assert (3, 2) in engine.facts()["path"]
    engine.apply(add_rules="again: path(x, z) :- open(x), back(x, u), edge(u, z).")
    assert (4, 2) in engine.facts()["path"]
    engine.apply(remove_rules=["more"], delete={"edge": [(3, 4)]})
    engine.apply(remove_rules=["again"])
    assert (4, 2) not in engine.facts()["path"]
    assert begun == []


@pytest.mark.parametrize("store", STORES)
def test_a_rule_removed_takes_its_prefixes_with_it(store: str):
    """The last rule of a relation, too; a prefix that another rule needs stays."""
    engine = StoreEngine(SHARED, "circuit", STORES[store]())
    engine.apply(insert={"a": [(1, 2)], "b": [(2, 3), (2, 4)], "c": [(3,)], "d": [(4,)]})
    prefix = next(name for name in wired(engine.schedule.stages[0].stage).relations if is_of_rewrites(name))
    assert sorted(engine.store.rows(prefix)) == [(1, 3), (1, 4)]
    engine.apply(remove_rules=["first"])
    assert engine.facts()["p"] == [(1,)]
    assert sorted(engine.store.rows(prefix)) == [(1, 3), (1, 4)]
    engine.apply(remove_rules=["second"])
    assert engine.facts()["p"] == []
    assert engine.store.rows(prefix) == []


def test_rewrites_are_no_part_of_a_version(tmp_path):
    """Neither relations, nor changes, nor a saved state show them; `verify` compares facts."""
    engine = tl.Engine(SHARED, strategy="circuit")
    change = engine.apply(insert={"a": [(1, 2)], "b": [(2, 3)], "c": [(3,)]})
    assert sum(rewrites_in(engine).values()) == 1
    assert set(change.inserted) == {"a", "b", "c", "p"}
    assert engine.relations == ("a", "b", "c", "d", "p")
    engine.verify()
    engine.save(tmp_path / "state")
    opened = tl.Engine.open(tmp_path / "state")
    assert opened.strategy == "circuit"
    assert rewrites_in(opened) == {}
    assert list(opened.apply(delete={"b": [(2, 3)]}, insert={"b": [(2, 5)], "d": [(5,)]}).deleted) == ["b"]
    assert sum(rewrites_in(opened).values()) == 1
    opened.verify()


def test_another_strategy_takes_the_rewrites_away():
    """They would cost memory and mean nothing; the circuit then starts again."""
    engine = tl.Engine(GUARDED, strategy="circuit")
    engine.apply(insert={"edge": [(1, 2), (2, 3), (3, 1)], "open": [(1,), (2,), (3,)]})
    assert rewrites_in(engine)
    engine.strategy = "dred"
    engine.apply(delete={"edge": [(2, 3)]})
    assert rewrites_in(engine) == {}
    engine.strategy = "circuit"
    engine.apply(insert={"edge": [(2, 3)]}, delete={"open": [(1,)]})
    engine.verify()
    assert rewrites_in(engine)


def test_a_push_that_fails_leaves_the_circuit_as_it_was():
    """Rules, facts and rewrites of the version before, and what is pushed next is met by them."""
    engine = tl.Engine(GUARDED, strategy="circuit")
    engine.apply(insert={"edge": [(at, at + 1) for at in range(20)], "open": [(at,) for at in range(21)]})
    before, facts = rewrites_in(engine), len(engine["path"])
    engine.limits = Limits(rounds=3)
    with pytest.raises(BudgetError):
        engine.apply(add_rules="more: path(x, w) :- path(x, y), edge(y, z), edge(z, w).", delete={"edge": [(3, 4)]})
    assert (rewrites_in(engine), len(engine["path"])) == (before, facts)
    engine.limits = Limits()
    engine.apply(add_rules="more: path(x, w) :- path(x, y), edge(y, z), edge(z, w).", delete={"edge": [(3, 4)]})
    engine.verify()
    engine.apply(remove_rules=["more"])
    engine.verify()
    assert before.keys() == rewrites_in(engine).keys()


@pytest.mark.parametrize("seed", range(4))
def test_rules_as_a_stream(seed: int):
    """Rules with long bodies come and go over a graph that changes; the law holds after every push."""
    rng = random.Random(seed)
    atoms = ["edge({}, {})", "path({}, {})", "flat({}, {})"]
    engine = tl.Engine("base: path(x, y) :- edge(x, y).", strategy="circuit")
    known: list[str] = []
    for number in range(14):
        body = ", ".join(rng.choice(atoms).format(f"x{at}", f"x{at + 1}") for at in range(rng.choice((2, 3, 3, 4))))
        head = rng.choice(("path", "flat", "far"))
        guard = rng.choice(("", ", x0 != x1", ", !shut(x1)"))
        added = f"r{number}: {head}(x0, x2) :- {body}{guard}."
        gone = [known.pop(rng.randrange(len(known)))] if len(known) > 3 else []
        known.append(f"r{number}")
        edges = [(rng.randrange(9), rng.randrange(9)) for _ in range(4)]
        engine.apply(
            insert={"edge": edges[:3], "shut": [(rng.randrange(9),)]},
            delete={"edge": edges[3:], "shut": [(rng.randrange(9),)]},
            add_rules=added,
            remove_rules=gone,
        )
        engine.verify()


def test_rewrites_do_not_outlive_an_interrupt():
    """What an interrupt leaves is not trusted: counts are forgotten, and so are the rewrites that were counted.

    Without that, the rewrites of a rule that goes in the next update stay behind; when the rule comes again they are
    met as if they had been counted, and E902 is raised.
    """
    engine = tl.Engine(GUARDED + SHARED, strategy="circuit")
    engine.apply(insert={"a": [(1, 2)], "b": [(2, 3)], "c": [(3,)], "edge": [(1, 2), (2, 1)], "open": [(1,), (2,)]})
    engine._backend.distrust()
    engine._backend.rollback()
    assert rewrites_in(engine) == {}
    engine.apply(remove_rules=["first", "second"])
    engine.apply(add_rules=SHARED, insert={"b": [(2, 4)]})
    engine.apply(delete={"b": [(2, 3)]}, insert={"d": [(4,)], "edge": [(2, 3)]})
    engine.verify()
    assert list(engine["p"]) == [(1,)]
