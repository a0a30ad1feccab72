"""Everything that can be held to the law, behind one small interface.

What      : an engine is made from a program, takes updates and answers with the change; `facts()` is all it holds.
            Here are the adapters for the reference algorithms and for `tidelog.Engine`.
Invariant : the public engine is imported only when one is asked for; the reference is tested without it.
Never     : no comparison here (see harness.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from queue import Queue
from random import Random
from typing import Any, Protocol, runtime_checkable

from tests.differential.case import Update, Values, by_relation, without_inline
from tidelog.analysis import safety
from tidelog.analysis.inlining import inline_relations
from tidelog.analysis.program_check import check
from tidelog.backends.local.bits.rows_or_bits import Way, computing
from tidelog.errors import ProgramError
from tidelog.language.parser import parse
from tidelog.language.printer import print_program
from tidelog.language.terms import Program, Rule
from tidelog.maintenance.registry import strategy as strategy_named
from tidelog.reference import algorithm as reference
from tidelog.reference.algorithm import Algorithm
from tidelog.reference.facts import GroundFact, from_fact, to_fact
from tidelog.reference.look_ahead import GetNext, LookAheadAlgorithm

Facts = Mapping[str, Iterable[Values]]


class Change(Protocol):
    """What came out of an update."""

    @property
    def inserted(self) -> Facts:
        """The net new facts by relation."""
        ...

    @property
    def deleted(self) -> Facts:
        """The net lost facts by relation."""
        ...


class Engine(Protocol):
    """What the harness needs of an engine."""

    def apply(
        self,
        insert: dict[str, list[Values]],
        delete: dict[str, list[Values]],
        add_rules: str | None,
        remove_rules: list[str],
    ) -> Change:
        """Process one update."""
        ...

    def facts(self) -> Facts:
        """Everything that holds, explicit facts included."""
        ...


@runtime_checkable
class LookAhead(Protocol):
    """An engine that can be told which update comes next; what it does with it must not change any answer."""

    def announce(self, update: Update | None) -> None:
        """Name the update after the one that is applied next."""
        ...


@runtime_checkable
class Counting(Protocol):
    """An engine that counts the instances that are none because a value is missing."""

    def lacking(self) -> int:
        """How many there are in the present version."""
        ...


Factory = Callable[[Program], Engine]


class Declined(ProgramError):  # noqa: N818 - an answer, not a failure
    """A program that an algorithm does not claim to maintain, such as recursion for plain counting."""


@dataclass(frozen=True)
class NetChange:
    """A change as plain dictionaries."""

    inserted: Facts
    deleted: Facts


class ReferenceEngine:
    """A reference algorithm. It does not check safety itself, so that is done here, before anything changes.

    Nor does it know inline relations: it is given the rules without them, and their differences.
    """

    def __init__(self, algorithm: type[Algorithm], program: Program) -> None:
        self._next: Update | None = None
        self._announced = 0
        self._written = replace(program, facts=())
        with _declining(algorithm):
            self._algorithm = algorithm(replace(program, rules=without_inline(program)))

    def announce(self, update: Update | None) -> None:
        """Say which update comes after the one that is applied next; algorithms with look-ahead make use of it."""
        self._next = update
        self._announced += 1

    def _arriving(self) -> GetNext:
        """The announced update, at once or in the middle of the work: after 0, 1, 2 or 7 steps, by turns."""
        update, late = self._next, (0, 1, 2, 7)[self._announced % 4]
        if update is None:
            return lambda: None
        announced = reference.Update(
            _ground(by_relation(update.insert)),
            _ground(by_relation(update.delete)),
            update.add_rules,
            update.remove_rules,
        )
        steps = count()
        return lambda: announced if next(steps) >= late else None

    def apply(
        self,
        insert: dict[str, list[Values]],
        delete: dict[str, list[Values]],
        add_rules: str | None,
        remove_rules: list[str],
    ) -> Change:
        """Process one update."""
        added = parse(add_rules or "")
        facts = _ground(insert), _ground(delete)
        come, gone, written = added.rules, list[Rule | str](remove_rules), self._written
        if inline_relations(written):
            written = replace(written, rules=reference.changed_rules(written.rules, come, gone))
            check(written)
            before, after = without_inline(self._written), without_inline(written)
            come = tuple(rule for rule in after if rule not in before)
            gone = [rule for rule in before if rule not in after]
        unsafe = list(safety.problems(Program(come)))
        if unsafe:
            raise ProgramError(unsafe)
        with _declining(type(self._algorithm)):
            if isinstance(self._algorithm, LookAheadAlgorithm):
                inserted, deleted = self._algorithm.apply(*facts, come, gone, self._arriving())
            else:
                inserted, deleted = self._algorithm.apply(*facts, come, gone)
        self._written = written
        return NetChange(by_relation(map(from_fact, inserted)), by_relation(map(from_fact, deleted)))

    def facts(self) -> Facts:
        """Everything that holds."""
        return by_relation(map(from_fact, self._algorithm.facts))


@contextmanager
def _declining(algorithm: type[Algorithm]) -> Iterator[None]:
    try:
        yield
    except ProgramError as error:
        if algorithm.handles_recursion:
            raise
        raise Declined(error.problems) from error


class PublicEngine:
    """`tidelog.Engine`, driven through its public interface only."""

    def __init__(self, program: Program, **options: Any) -> None:
        from tidelog import Engine as TidelogEngine

        self._engine = TidelogEngine(print_program(program), **options)

    def apply(
        self,
        insert: dict[str, list[Values]],
        delete: dict[str, list[Values]],
        add_rules: str | None,
        remove_rules: list[str],
    ) -> Change:
        """Process one update."""
        change: Change = self._engine.apply(
            insert=insert, delete=delete, add_rules=add_rules, remove_rules=remove_rules
        )
        return change

    def facts(self) -> Facts:
        """Everything that holds."""
        return {name: list(self._engine[name]) for name in self._engine.relations}

    def lacking(self) -> int:
        """How many instances lack a value."""
        return sum(lacking.count for lacking in self._engine._missing.found.values())


class FollowingEngine(PublicEngine):
    """`tidelog.Engine` fed through `follow`, so that it sees every update before it has to apply it.

    An update that is refused ends a stream; the next one begins another.
    """

    def __init__(self, program: Program, **options: Any) -> None:
        super().__init__(program, **options)
        self._updates: Queue[dict[str, Any] | None] = Queue()
        self._changes: Iterator[Change] = iter(())

    def apply(
        self,
        insert: dict[str, list[Values]],
        delete: dict[str, list[Values]],
        add_rules: str | None,
        remove_rules: list[str],
    ) -> Change:
        """Process one update."""
        named = {"insert": insert, "delete": delete, "add_rules": add_rules, "remove_rules": remove_rules}
        self._updates.put(named)
        change = next(self._changes, None)
        if change is None:
            self._changes = self._engine.follow(self._updates)
            change = next(self._changes)
        return change


class WayEngine(PublicEngine):
    """`tidelog.Engine` whose stages of pairs are derived in bits wherever possible, or either way by chance."""

    def __init__(self, program: Program, ways: Sequence[Way], **options: Any) -> None:
        self._draw, self._ways = Random(len(program.rules)), ways
        with computing(self._draw.choice(self._ways)):
            super().__init__(program, **options)

    def apply(
        self,
        insert: dict[str, list[Values]],
        delete: dict[str, list[Values]],
        add_rules: str | None,
        remove_rules: list[str],
    ) -> Change:
        """Process one update."""
        with computing(self._draw.choice(self._ways)):
            return super().apply(insert, delete, add_rules, remove_rules)


def way_engines() -> dict[str, Factory]:
    """Strategies over facts that come from bits, always or at random."""
    always, mixed = (Way.BITS,), (Way.BITS, Way.ROWS)
    found = {("bits", strategy): always for strategy in ("auto", "recompute", "bf", "counting")}
    found |= {("mixed", strategy): mixed for strategy in ("auto", "dred", "recompute")}
    return {f"{word}-{strategy}": _by_way(strategy, ways) for (word, strategy), ways in found.items()}


def _by_way(strategy: str, ways: Sequence[Way]) -> Factory:
    return lambda program: WayEngine(program, ways, strategy=strategy)


def reference_engines() -> dict[str, Factory]:
    """Every reference algorithm, by name."""
    from tidelog.reference import ALGORITHMS

    return {f"reference-{name}": _reference(algorithm) for name, algorithm in ALGORITHMS.items()}


def public_engines(strategies: Iterable[str], **options: Any) -> dict[str, Factory]:
    """`tidelog.Engine` with each of the strategies; those that mark follow a stream. Options go to its constructor."""
    return {strategy: _public(strategy, options) for strategy in strategies}


STRATEGIES = ("auto", "recompute", "dred", "bf", "counting", "circuit", "dred-mark", "bf-mark")
"""The strategies of `tidelog.Engine` that golden, random and metamorphic tests run beside the reference."""


def engines_under_test() -> dict[str, Factory]:
    """What every default test of agreement runs."""
    return {**reference_engines(), **public_engines(STRATEGIES)}


def engine_named(name: str, **options: Any) -> Factory:
    """One engine: `reference-<algorithm>`, `bits-<strategy>`, `mixed-<strategy>`, or a strategy of `tidelog.Engine`."""
    known = {**reference_engines(), **way_engines()}
    return known[name] if name in known else public_engines([name], **options)[name]


def _reference(algorithm: type[Algorithm]) -> Factory:
    return lambda program: ReferenceEngine(algorithm, program)


def _public(strategy: str, options: dict[str, Any]) -> Factory:
    engine = FollowingEngine if strategy_named(strategy).looks_ahead else PublicEngine
    return lambda program: engine(program, strategy=strategy, **options)


def _ground(facts: dict[str, list[Values]]) -> tuple[GroundFact, ...]:
    return tuple(to_fact(relation, values) for relation, group in facts.items() for values in group)
