"""Fully dynamic updates: the paper's examples under every interleaving, and why each repair is needed."""

import random

import pytest

from tidelog.errors import BudgetError, LawError
from tidelog.language.parser import parse
from tidelog.reference.facts import FactSet, to_fact
from tidelog.reference.fully_dynamic import GroundRule, Update
from tidelog.reference.fully_dynamic_counting import DynamicCounting
from tidelog.reference.fully_dynamic_dred import DynamicDRed
from tidelog.reference.fully_dynamic_programs import (
    CountingRules,
    DRedRules,
    FullyDynamicCounting,
    FullyDynamicDRed,
    Ground,
    RuleToken,
    present_facts,
)
from tidelog.reference.interleavings import CYCLE, EXAMPLES, consecutive, explore, rules, table, update
from tidelog.reference.recompute import Recompute, materialise

SYSTEMS = [DynamicDRed, DynamicCounting]
EXPECTED = dict(zip(EXAMPLES, map(frozenset, ("", "ABCD", "CD", "ABC", "ABCD"))))


def fixpoint(ground, explicit):
    found = set(explicit)
    while new := {rule.head for rule in ground if rule.body <= found} - found:
        found |= new
    return frozenset(found)


def after(explicit, updates):
    for one in updates:
        explicit = (explicit - one.delete) | one.insert
    return explicit


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_end_alike_under_every_interleaving(system, example):
    """Whenever an update arrives, whatever step is chosen: it ends, with the facts of consecutive processing."""
    machine = system(example.rules)
    start = machine.start(example.explicit)
    found = explore(machine, start, example.updates)
    assert found.results == {EXPECTED[example]} == {consecutive(machine, start, example.updates)}
    assert found.interleavings > 40
    assert EXPECTED[example] == fixpoint(example.rules, after(example.explicit, example.updates))


class Unfounded(DynamicDRed):
    """Without the first repair: any derivation adds facts, sound or not."""

    def is_ready(self, state, operation):
        return True


class Blunt(DynamicDRed):
    """Without the second repair: a deletion takes whatever birth it finds, and acts on younger facts too."""

    def is_void(self, state, operation):
        present = state.present.get(operation.fact)
        if operation.kind == "del" and present is not None:
            operation = operation._replace(birth=present.birth)
        return super().is_void(state, operation)

    def age(self, state):
        return -1


class Forgetful(DynamicCounting):
    """Without the third repair: a deletion lowers the count of every head, whether the instance was applied or not."""

    def _remove(self, state, gone):
        state = super()._remove(state, gone)
        heads = [rule.head for rule in self.reading(state, gone.fact) if rule.head in state.present]
        present = dict(state.present)
        for head in heads:
            present[head] = present[head]._replace(applied=frozenset(sorted(present[head].applied, key=repr)[1:]))
            if not present[head].applied:
                del present[head]
        return type(state)(state.explicit, present, state.operations, state.births, state.arrived)


@pytest.mark.parametrize(("broken", "number"), [(Unfounded, 0), (Blunt, 1), (Forgetful, 2)])
def test_without_its_repair_each_example_goes_wrong(broken, number):
    """The enumeration can fail: it finds the runs without end of Examples 1 and 2, and the lost C of Example 3."""
    example = EXAMPLES[number]
    machine = broken(example.rules)
    start = DynamicDRed(example.rules).start(example.explicit)
    try:
        found = explore(machine, start, example.updates, most_states=2_000).results
    except BudgetError:
        found = {"endless"}
    assert found != {EXPECTED[example]}


class Idle(DynamicDRed):
    """A system whose steps change nothing."""

    def step(self, state, operation):
        return state


def test_a_state_that_leads_back_to_itself_is_a_run_without_end():
    machine = Idle(CYCLE)
    with pytest.raises(LawError) as found:
        explore(machine, DynamicDRed(CYCLE).start(), [update("A")])
    assert found.value.code == "E906"


def draw(rng):
    names = "ABC"
    ground = {
        GroundRule(head, frozenset(body) - {head})
        for head, body in ((rng.choice(names), rng.sample(names, rng.choice((1, 1, 2)))) for _ in range(4))
    }
    explicit = first = frozenset(name for name in names if rng.random() < 0.5)
    updates = []
    for _ in range(2):
        gone = frozenset(name for name in sorted(explicit) if rng.random() < 0.6)
        new = frozenset(name for name in names if name not in explicit and rng.random() < 0.3)
        updates.append(Update(new, gone))
        explicit = explicit - gone | new
    return tuple(rule for rule in sorted(ground, key=repr) if rule.body), first, updates


@pytest.mark.parametrize("system", SYSTEMS)
def test_random_ground_programs_under_every_interleaving(system):
    """The examples are four; these were chosen by nobody, with cycles and bodies of two facts."""
    for seed in range(60):
        ground, explicit, updates = draw(random.Random(seed))
        machine = system(ground)
        found = explore(machine, machine.start(explicit), updates).results
        assert found == {fixpoint(ground, after(explicit, updates))}, seed


def overlap(machine, state, updates, rng):
    """One interleaving, drawn at random."""
    last = state.arrived + len(updates)
    waiting = list(updates)
    while True:
        choices = list(machine.enabled(state))
        if state.arrived < last and (not choices or rng.random() < 0.2):
            state = machine.arrive(state, waiting.pop(0))
        elif choices:
            state = machine.step(state, rng.choice(choices))
        else:
            return state


def test_counts_are_the_numbers_of_derivations_whatever_the_order():
    """Example 4: deriving C twice from A would leave a count that no deletion brings back to 0."""
    ground = CYCLE + rules("D->A", "D->C", "A,C->B")
    updates = [update("A"), update("D"), update(delete="A"), update("A", "D")]
    machine = DynamicCounting(ground)
    for seed in range(50):
        state = overlap(machine, machine.start(), updates, random.Random(seed))
        for fact in state.facts:
            instances = sum(rule.head == fact and rule.body <= state.facts for rule in ground)
            assert machine.count(state, fact) == instances + (fact in state.explicit)


@pytest.mark.parametrize("system", [DRedRules, CountingRules])
@pytest.mark.parametrize("seed", range(4))
def test_updates_overlap_on_programs_with_variables(system, seed):
    """Four updates of a dense graph, each taken in while its forerunners are under way."""
    rng = random.Random(seed)
    closure = parse("t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, z).").rules
    machine = system(Ground(closure, FactSet()), Ground(closure, FactSet()))
    edges = [to_fact("e", (a, b)) for a in range(4) for b in range(4)]
    explicit = set(rng.sample(edges, 6))
    state, updates = machine.start({*explicit, *map(RuleToken, closure)}), []
    for _ in range(4):
        gone = set(rng.sample(sorted(explicit), min(3, len(explicit))))
        new = set(rng.sample(sorted(set(edges) - explicit), 2))
        updates.append(Update(frozenset(new), frozenset(gone)))
        explicit = explicit - gone | new
    state = overlap(machine, state, updates, rng)
    assert not state.operations
    assert set(present_facts(state)) == materialise(closure, explicit)


PROGRAM = """
    t(x, y) :- e(x, y).
    t(x, z) :- t(x, y), t(y, z).
    loop(x) :- t(x, x).
    source(x) :- e(x, _), !loop(x), x < 4.
    sources(n) :- n = count : { source(x) }.
    next(x + 1) :- source(x).
"""


@pytest.mark.parametrize("algorithm", [FullyDynamicDRed, FullyDynamicCounting])
@pytest.mark.parametrize("seed", range(2))
def test_random_updates_of_programs_equal_recomputation(algorithm, seed):
    """Variables, negation, aggregates and changing rules, through tokens."""
    rng = random.Random(seed)
    program = parse(PROGRAM)
    dynamic, oracle = algorithm(program), Recompute(program)
    for _ in range(8):
        change = [
            [to_fact("e", (rng.randrange(4), rng.randrange(4))) for _ in range(rng.randrange(4))] for _ in range(2)
        ] + [rng.sample(program.rules, rng.randrange(3)) for _ in range(2)]
        assert dynamic.apply(*change) == oracle.apply(*change)
        assert dynamic.facts == oracle.facts


@pytest.mark.parametrize("algorithm", [FullyDynamicDRed, FullyDynamicCounting])
def test_what_has_no_value_comes_and_goes_without_notice(algorithm):
    """q(0) and zero(0) go together; between the two deletions 10 / 0 is in sight, which makes no instance."""
    dynamic = algorithm(parse("p(10 / x) :- q(x), !zero(x). q(0). q(2). zero(0). zero(2)."))
    gone = [to_fact("q", (0,)), to_fact("zero", (0,)), to_fact("zero", (2,))]
    assert dynamic.apply(delete=gone) == ({to_fact("p", (5,))}, set(gone))
    assert dynamic.apply(insert=[to_fact("q", (0,))]) == ({to_fact("q", (0,))}, set())


def test_the_table_has_a_line_for_every_example_and_algorithm():
    lines = list(table())
    assert len(lines) == 1 + len(EXAMPLES) * len(SYSTEMS)
    assert not any("WRONG" in line for line in lines)
