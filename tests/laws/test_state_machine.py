"""Whatever users do in whatever order, the engine holds what recomputation says: figure 6 of the guarantees.

Random streams of updates never switch the strategy in between, open a saved state or announce an update that does not
come. Faults of this kind sit in what survives a step: counts, marks, prepared plans, journals.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import tidelog as tl
from tests.differential.case import FactKey, State, Update, by_relation, key
from tests.differential.engines import STRATEGIES
from tests.differential.harness import keys
from tests.differential.oracle import model
from tidelog.analysis.program_check import check
from tidelog.language.parser import parse
from tidelog.language.printer import rule_key
from tidelog.state.log import StateLog

RULES = tuple(
    parse(text).rules[0]
    for text in (
        "path(x, y) :- e(x, y).",
        "path(x, z) :- e(x, y), path(y, z).",
        "long: path(x, z) :- path(x, y), path(y, z).",
        "back: e(y, x) :- path(x, y), s(x).",
        "lonely(x) :- s(x), !path(x, _).",
        "apart(x, y) :- s(x), s(y), !path(x, y).",
        "s(x) :- lonely(x).",
        "degree: degree(x, n) :- s(x), n = count : { path(x, _) }.",
        "far(m) :- m = max y : { path(_, y) }.",
        "busy(x) :- degree(x, n), n > 1.",
        "even(x) :- s(x), x = 0.",
        "even(y) :- odd(x), e(x, y).",
        "odd(y) :- even(x), e(x, y).",
        "next(y) :- s(x), y = x + 1, y < 5.",
        "s(x) :- next(x), e(x, x).",
        "both(x, y) :- path(x, y), path(y, x), x != y.",
    )
)
"""Some of them do not go together: negation or counting in a cycle is refused."""

numbers = st.integers(0, 3)
facts = st.one_of(
    st.tuples(st.just("e"), st.tuples(numbers, numbers)),
    st.tuples(st.just("e"), st.tuples(numbers, numbers)),
    st.tuples(st.just("s"), st.tuples(numbers)),
    st.tuples(st.just("path"), st.tuples(numbers, numbers)),
    st.tuples(st.just("busy"), st.tuples(numbers)),
)
some = st.lists(facts, min_size=1, max_size=4).map(tuple)


class Life(RuleBasedStateMachine):
    """An engine beside the whole memory of recomputation: the rules and the explicit facts.

    `where` names another backend, where a life begins; a saved state is opened there or in process.
    """

    where: Mapping[str, Any] = {}

    def __init__(self) -> None:
        super().__init__()
        self.folder: Path | None = None
        self.state = State((), {})
        self.model: set[FactKey] = set()
        self.engine = tl.Engine(**self.where)

    @initialize(strategy=st.sampled_from(STRATEGIES), chosen=st.sets(st.integers(0, 3)), start=some)
    def begin(self, strategy: str, chosen: set[int], start: tuple[Any, ...]) -> None:
        """Start with some of the first rules, which go together, and some facts."""
        self.engine = tl.Engine(strategy=strategy, **self.where)
        self._apply(Update(insert=start, add_rules=tuple(RULES[number] for number in sorted(chosen))))

    @rule(chosen=some)
    def insert(self, chosen: tuple[Any, ...]) -> None:
        """Insert facts, present or not, of derived relations too."""
        self._apply(Update(insert=chosen))

    @rule(chosen=some)
    def delete(self, chosen: tuple[Any, ...]) -> None:
        """Delete facts, present or not."""
        self._apply(Update(delete=chosen))

    @precondition(lambda self: self.state.facts)
    @rule(data=st.data())
    def delete_present(self, data: st.DataObject) -> None:
        """Delete an explicit fact."""
        relation, values = data.draw(st.sampled_from([(name, fact) for (name, _), fact in self.state.facts.items()]))
        self._apply(Update(delete=((relation, values),)))

    @rule(gone=some, come=some)
    def exchange(self, gone: tuple[Any, ...], come: tuple[Any, ...]) -> None:
        """Delete and insert at once; a fact that is in both stays."""
        self._apply(Update(insert=come, delete=gone))

    @rule(number=st.integers(0, len(RULES) - 1))
    def add_rule(self, number: int) -> None:
        """Add a rule; one that is there already changes nothing."""
        self._apply(Update(add_rules=(RULES[number],)))

    @precondition(lambda self: self.state.rules)
    @rule(data=st.data())
    def remove_rule(self, data: st.DataObject) -> None:
        """Remove a rule."""
        self._apply(Update(remove_rules=(rule_key(data.draw(st.sampled_from(self.state.rules))),)))

    @rule(chosen=some)
    def announce(self, chosen: tuple[Any, ...]) -> None:
        """Announce deletions that may never come."""
        self.engine.look_ahead(tl.Update.of(delete=by_relation(chosen)))

    @rule(strategy=st.sampled_from(STRATEGIES))
    def switch_strategy(self, strategy: str) -> None:
        """Go on with another strategy."""
        self.engine.strategy = strategy
        assert self.engine.strategy == strategy

    @rule(strategy=st.sampled_from(STRATEGIES), is_elsewhere=st.booleans())
    def save_and_open(self, strategy: str, is_elsewhere: bool) -> None:
        """Save, and go on with what was saved, in process or elsewhere; the state grows from save to save."""
        self.folder = self.folder or Path(mkdtemp(prefix="tidelog-life-"))
        self.engine.save(self.folder / "state")
        version = self.engine.version
        self.engine.close()
        where = self.where if is_elsewhere else {}
        self.engine = tl.Engine.open(self.folder / "state", strategy=strategy, **where)
        assert self.engine.version == version

    @precondition(lambda self: self.folder is not None)
    @rule()
    def forget(self) -> None:
        """Forget all stored versions but the last."""
        assert self.folder is not None
        with StateLog(self.folder / "state") as state:
            state.forget_all_but(1)

    @precondition(lambda self: "path" in self.engine and "e" in self.engine)
    @rule(start=numbers)
    def query(self, start: int) -> None:
        """Ask by pattern."""
        for relation, pattern, wanted in (
            ("path", f"path({start}, y)", lambda x, _: x == start),
            ("path", "path(x, x)", lambda x, y: x == y),
            ("e", f"e(_, {start})", lambda _, y: y == start),
        ):
            expected = {key(relation, fact) for fact in self.engine[relation] if wanted(*fact)}
            assert {key(relation, fact) for fact in self.engine.query(pattern)} == expected

    @invariant()
    def holds_what_recomputation_says(self) -> None:
        """The one law."""
        assert keys({name: list(self.engine[name]) for name in self.engine.relations}) == self.model

    def teardown(self) -> None:
        """The engine's own check agrees in the end."""
        self.engine.verify()
        self.engine.close()
        if self.folder is not None:
            shutil.rmtree(self.folder)

    def _apply(self, update: Update) -> None:
        """Apply an update on both sides; what has no meaning is refused and changes nothing."""
        added = tuple(one for one in update.add_rules if one not in self.state.rules)
        after = self.state.after(Update(update.insert, update.delete, added, update.remove_rules))
        try:
            check(after.program)
        except tl.ProgramError as refusal:
            code = refusal.code
            with pytest.raises(tl.ProgramError) as raised:
                self.engine.apply(**update.arguments)  # type: ignore[arg-type]
            assert raised.value.code == code
            return
        change = self.engine.apply(**update.arguments)  # type: ignore[arg-type]
        before, self.state, self.model = self.model, after, set(model(after))
        assert keys(change.inserted) == self.model - before
        assert keys(change.deleted) == before - self.model


def live(examples: int, steps: int, *, repeatable: bool, **where: Any) -> None:
    """Run `examples` lives of at most `steps` steps each; `where` names another backend."""
    quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=repeatable,
        suppress_health_check=quiet,
        database=None,
    )
    run_state_machine_as_test(type("Life", (Life,), {"where": where}), settings=chosen)


def test_every_life_keeps_the_law() -> None:
    """20 lives of 30 steps."""
    live(20, 30, repeatable=True)


@pytest.mark.long
def test_every_life_keeps_the_law_long() -> None:
    """200 lives of 60 steps."""
    live(200, 60, repeatable=False)
