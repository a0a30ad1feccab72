"""Shards in one process: what is exchanged and who works, without Spark in between."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tidelog.backends.spark.bulk.placement import Delivery, targets
from tidelog.backends.spark.bulk.plan import Sizes, plan
from tidelog.backends.spark.bulk.shard import Shard
from tidelog.backends.spark.bulk.shard_rules import over_ids
from tidelog.backends.spark.bulk.sizes import with_hot_keys
from tidelog.backends.spark.files.writing import write_here
from tidelog.errors import BudgetError
from tidelog.language.parser import parse
from tidelog.limits import Limits
from tidelog.planning.lowering import lower

CLOSURE = "p(x, y) :- e(x, y). p(x, z) :- e(x, y), p(y, z)."
TWO_STEPS = "q(x, z) :- e(x, y), e(y, z)."
POWER_LAW = Path(__file__).parents[3] / "benchmarks" / "data" / "graphs" / "rmat1k.tsv"


@dataclass
class Run:
    """What the shards did: their facts, how many were exchanged, and derivations per shard."""

    facts: dict[str, np.ndarray]
    exchanged: int
    work: list[int]

    @property
    def largest_share(self) -> float:
        return max(self.work) / sum(self.work)


def run(rules, data, shards, small=0, hot=()):
    """A stage over shards that hand facts to each other directly."""
    (stage,) = lower(parse(rules).rules).stages
    planned = plan(stage, over_ids(stage), Sizes({name: len(rows) for name, rows in data.items()}, {}, small, 0))
    if hot:
        split = tuple(one if one.key is None else replace(one, hot=hot) for one in planned.deliveries)
        planned = replace(planned, is_local=False, deliveries=split)
    everyone = [Shard(planned, number, shards) for number in range(shards)]
    for shard in everyone:
        for name in planned.whole:
            shard.know(name, data[name] << 2)
    for delivery in planned.deliveries:
        if delivery.source in data:
            facts = data[delivery.source] << 2
            positions, places = targets(delivery, facts, shards)
            deliver(everyone, delivery.name, places, facts[positions])
    exchanged, work = 0, [0] * shards
    while True:
        outcomes = [shard.run() for shard in everyone]
        work = [before + outcome.derivations.total() for before, outcome in zip(work, outcomes)]
        sent = [(name, part) for outcome in outcomes for name, parts in outcome.sent.items() for part in parts]
        exchanged += sum(len(facts) for _, (_, facts) in sent)
        for name, (places, facts) in sent:
            deliver(everyone, name, places, facts)
        if not sent:
            break
    found = {name: np.vstack([shard.present(name) for shard in everyone]) >> 2 for name in stage.relations}
    return Run(found, exchanged, work)


def test_footers_of_files_tell_hot_keys_without_a_job(tmp_path):
    """A hub in the middle of two steps: files that are sorted by both columns are enough, nobody runs a job."""
    others = np.arange(1, 200_001)
    edges = np.column_stack([np.where(others % 2, 0, others), others]).astype(np.int64) << 2
    stored = write_here(str(tmp_path), edges, np.ones(len(edges), np.bool_), (0, 1))
    (stage,) = lower(parse(TWO_STEPS).rules).stages
    sizes = Sizes({"e": len(edges)}, {}, 0, 0)
    planned = plan(stage, over_ids(stage), sizes)
    no_jobs = None
    found = with_hot_keys(no_jobs, planned, {"e": None}, sizes, 2, 1, {"e": stored})
    assert {delivery.hot for delivery in found.deliveries if delivery.key is not None} == {(0,)}
    assert with_hot_keys(no_jobs, planned, {"e": None}, sizes, 2, len(edges) + 1, {}) is planned


def deliver(everyone, name, places, facts):
    for number, shard in enumerate(everyone):
        shard.receive(name, facts[places == number])


def graph(nodes, edges):
    codes = np.random.default_rng(1).choice(nodes * nodes, edges, replace=False)
    return {"e": np.column_stack([codes // nodes, codes % nodes]).astype(np.int64)}


@pytest.mark.parametrize("shards", [2, 4, 8, 16])
def test_the_facts_exchanged_are_those_that_the_cost_model_predicts(shards):
    """docs/scaling.md: F (S - 1) (1 - (1 - 1/S)^k), here within six in a hundred; a shard sends a fact once."""
    nodes, edges = 300, 3000
    done = run(CLOSURE, graph(nodes, edges), shards)
    facts = len(done.facts["p"])
    assert facts == nodes * nodes
    each = (sum(done.work) - edges) / facts
    assert done.exchanged == pytest.approx(facts * (shards - 1) * (1 - (1 - 1 / shards) ** each), rel=0.06)


def test_a_preserved_argument_exchanges_nothing_and_spreads_the_work():
    """The same closure with its edges at every shard."""
    done = run(CLOSURE, graph(300, 3000), 4, small=10_000)
    assert done.exchanged == 0
    assert len(done.facts["p"]) == 90_000
    assert done.largest_share < 0.35


def test_a_power_law_graph_keeps_all_shards_busy():
    """The hubs of a power-law graph are far from half of all facts: hashing alone balances them."""
    assert run(TWO_STEPS, {"e": np.loadtxt(POWER_LAW, dtype=np.int64)}, 8).largest_share < 0.2


def test_a_hub_is_split():
    """A power-law graph and one node with a third of all edges: whole, its shard does nearly everything."""
    hub = [(9000, 9001 + node) for node in range(3000)] + [(20000 + node, 9000) for node in range(300)]
    data = {"e": np.vstack([np.loadtxt(POWER_LAW, dtype=np.int64), np.array(hub)])}
    whole, split = run(TWO_STEPS, data, 8), run(TWO_STEPS, data, 8, hot=(9000 << 2,))
    assert sorted(map(tuple, whole.facts["q"].tolist())) == sorted(map(tuple, split.facts["q"].tolist()))
    assert whole.largest_share > 0.8
    assert split.largest_share < 0.2


def test_a_hot_fact_goes_to_one_shard_or_to_all():
    """One side of a hot key is spread, the other copied; other keys keep their shard."""
    facts = np.array([[number, 4 if number % 2 else number] for number in range(4000)], np.int64)
    usual = Delivery("p", "p", 1)
    _, homes = targets(usual, facts, 8)
    positions, spread = targets(replace(usual, hot=(4,)), facts, 8)
    is_hot = facts[:, 1] == 4
    assert positions.tolist() == list(range(4000))
    assert (spread[~is_hot] == homes[~is_hot]).all()
    assert np.bincount(spread[is_hot]).max() < 2 * is_hot.sum() / 8
    positions, copied = targets(replace(usual, hot=(4,), hot_is_everywhere=True), facts, 8)
    assert len(positions) == (~is_hot).sum() + 8 * is_hot.sum()
    assert {*zip(positions.tolist(), copied.tolist())} >= {(1, shard) for shard in range(8)}


def test_an_endless_program_stops_inside_its_shard():
    """A task is out of the driver's reach, so the limits travel with it."""
    stage, _ = lower(parse("n(0) :- e(_, _). n(x + 1) :- n(x).").rules).stages  # then what has no value
    planned = plan(stage, over_ids(stage), Sizes({"e": 1}, {}, 10, 0))
    shard = Shard(planned, 0, 1, Limits(rounds=50))
    for name in {delivery.name for delivery in planned.deliveries if delivery.source == "e"} | planned.whole:
        shard.receive(name, np.array([[4, 8]]))
    with pytest.raises(BudgetError, match="E402"):
        shard.run()
