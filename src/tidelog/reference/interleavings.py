"""Every interleaving of update arrivals and computation steps, for the examples of the fully dynamic paper.

What      : `explore` walks through all states that a transition system can reach from a start with given updates,
            counts the ways through them, and collects the results they end in; `python -m
            tidelog.reference.interleavings` prints a table for Examples 1-4 and the case that section 3.1.1 adds.
Idea      : states are values, so equal states are explored once; the number of interleavings is the number of paths
            from the start to an end, which one pass over the finished states adds up.
Invariant : a run without end is found: a state that can be reached from itself raises E906, and states without end,
            as births are numbered, use up the budget (E406).
Never     : no choice of an order: whatever is enabled is tried.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tidelog.errors import BudgetError, LawError
from tidelog.reference.fully_dynamic import Fact, FullyDynamic, GroundRule, State, Update
from tidelog.reference.fully_dynamic_counting import DynamicCounting
from tidelog.reference.fully_dynamic_dred import DynamicDRed


class Example(NamedTuple):
    """Rules, the explicit facts of the materialisation to start from, and updates."""

    name: str
    rules: tuple[GroundRule, ...]
    explicit: frozenset[Fact]
    updates: tuple[Update, ...]


class Exploration(NamedTuple):
    """How many states, how many interleavings, the longest of them, and the sets of facts they end in."""

    states: int
    interleavings: int
    longest: int
    results: frozenset[frozenset[Fact]]


def rules(*texts: str) -> tuple[GroundRule, ...]:
    """Ground rules written `A,B->C`."""
    split = (text.split("->") for text in texts)
    return tuple(GroundRule(head, frozenset(body.split(","))) for body, head in split)


def update(insert: Iterable[Fact] = (), delete: Iterable[Fact] = ()) -> Update:
    """U = (E+, E-)."""
    return Update(frozenset(insert), frozenset(delete))


CYCLE = rules("A->B", "B->C", "C->A")

EXAMPLES = (
    Example("1 invalid addition", CYCLE, frozenset(), (update("A"), update(delete="A"))),
    Example("2 invalid deletion", CYCLE + rules("D->A"), frozenset("A"), (update("D", "A"),)),
    Example(
        "3 deletion without derivation",
        rules("A->B", "A->C", "D->C"),
        frozenset(),
        (update("AD"), update(delete="A")),
    ),
    Example("4 duplicate derivation", rules("A->B", "A->C"), frozenset("A"), (update(delete="A"), update("A"))),
    Example("3.1.1 another way into the cycle", CYCLE + rules("D->C"), frozenset(), (update("AD"), update(delete="A"))),
)

ALGORITHMS: tuple[tuple[str, type[FullyDynamic]], ...] = (("dred", DynamicDRed), ("counting", DynamicCounting))


def explore(system: FullyDynamic, start: State, updates: Sequence[Update], most_states: int = 100_000) -> Exploration:
    """Walk through every order of arrivals and steps, depth first, each state once."""
    finished: dict[Hashable, tuple[int, int]] = {}
    results: set[frozenset[Fact]] = set()
    open_states: dict[Hashable, Iterator[State]] = {start.key(): _next_states(system, start, updates)}
    tallies: dict[Hashable, tuple[int, int]] = {start.key(): (0, 0)}
    states = {start.key(): start}
    while open_states:
        key = next(reversed(open_states))
        following = next(open_states[key], None)
        if following is None:
            del open_states[key]
            paths, longest = tallies.pop(key)
            finished[key] = paths or _end(states[key], results), longest
        elif (child := following.key()) in open_states:
            raise LawError.of("E906", "an interleaving does not terminate: a state leads back to itself")
        elif child in finished:
            paths, longest = tallies[key]
            tallies[key] = paths + finished[child][0], max(longest, finished[child][1] + 1)
            continue
        else:
            if len(states) >= most_states:
                raise BudgetError.of("E406", f"there is no end in sight after {most_states:,} states")
            states[child] = following
            tallies[child] = 0, 0
            open_states[child] = _next_states(system, following, updates)
            open_states[key] = _again(following, open_states[key])
    return Exploration(len(finished), *finished[start.key()], frozenset(results))


def _again(first: State, rest: Iterator[State]) -> Iterator[State]:
    """The same state once more, to be tallied when it is finished, then the rest."""
    yield first
    yield from rest


def _end(state: State, results: set[frozenset[Fact]]) -> int:
    """One interleaving ends here; an operation that is left over would wait for ever."""
    if state.operations:
        raise LawError.of("E906", f"operations are stuck: {state.operations}")
    results.add(state.facts)
    return 1


def _next_states(system: FullyDynamic, state: State, updates: Sequence[Update]) -> Iterator[State]:
    """What can happen next: the next update arrives, or one of the enabled operations is taken up."""
    if state.arrived < len(updates):
        yield system.arrive(state, updates[state.arrived])
    for operation in system.enabled(state):
        yield system.step(state, operation)


def consecutive(system: FullyDynamic, start: State, updates: Sequence[Update]) -> frozenset[Fact]:
    """The facts that strictly consecutive processing gives."""
    for one in updates:
        start = system.run(start, [one])
    return start.facts


def table() -> Iterator[str]:
    """One line per example and algorithm."""
    yield f"{'example':34}{'algorithm':12}{'states':>9}{'interleavings':>24}{'longest':>9}{'end results':>13}  facts"
    for example in EXAMPLES:
        for name, algorithm in ALGORITHMS:
            system = algorithm(example.rules)
            start = system.start(example.explicit)
            found = explore(system, start, example.updates)
            facts = " or ".join("{" + ", ".join(sorted(map(str, result))) + "}" for result in found.results)
            verdict = "" if found.results == {consecutive(system, start, example.updates)} else "  WRONG"
            yield (
                f"{example.name:34}{name:12}{found.states:>9,}{found.interleavings:>24,}{found.longest:>9}"
                f"{len(found.results):>13}  {facts}{verdict}"
            )


if __name__ == "__main__":
    for line in table():
        print(line)
