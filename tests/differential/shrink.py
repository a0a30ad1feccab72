"""Make a failing case small: `python -m tests.differential.shrink SEED --engine NAME [--out FOLDER]`

What      : takes away updates, parts of updates, facts, rules, declarations and literals as long as the case still
            fails.
Idea      : delta debugging (Zeller, Hildebrandt 2002): drop half, a quarter, ... of a list, keep what still fails,
            start over until nothing can go.
Invariant : every candidate is a valid case: its programs have a meaning, and it removes only rules that are there. So
            the small case shows the same kind of fault, not a refusal that shrinking itself brought about.
Never     : no new content; a shrunk case is a part of the drawn one (rules that are removed later may get a name).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from tests.differential.case import Case, State, Update
from tests.differential.engines import Factory, engine_named
from tests.differential.harness import Disagreement, agree
from tests.differential.updates import draw_case
from tidelog.analysis.program_check import problems
from tidelog.errors import TidelogError
from tidelog.language.printer import rule_key
from tidelog.language.terms import Rule

Item = TypeVar("Item")
Test = Callable[[Case], bool]


def shrink(case: Case, fails: Test) -> Case:
    """The smallest case that this way of looking finds, among those that are valid and fail."""

    def holds(candidate: Case) -> bool:
        return is_valid(candidate) and fails(candidate)

    case = next((named for named in [_with_names(case)] if holds(named)), case)
    before = None
    while before != case:
        before = case
        for smaller in (_fewer_updates, _smaller_updates, _smaller_program, _shorter_rules):
            case = smaller(case, holds)
    return case


def is_valid(case: Case) -> bool:
    """Whether every program on the way has a meaning, refusals are deserved, and removed rules are there."""
    state = State.of(case.program)
    if problems(state.program):
        return False
    for update in case.updates:
        if not set(update.remove_rules) <= {rule_key(rule) for rule in state.rules}:
            return False
        applied = state.after(replace(update, refused=None))
        if bool(problems(applied.program)) != bool(update.refused):
            return False
        state = state.after(update)
    return True


def minimal(items: Sequence[Item], holds: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    """A sub-sequence that still holds and from which no single item can go."""
    kept, size = tuple(items), max(1, len(items) // 2)
    while kept:
        for start in range(0, len(kept), size):
            candidate = kept[:start] + kept[start + size :]
            if holds(candidate):
                kept = candidate
                break
        else:
            if size == 1:
                break
            size //= 2
            continue
        size = max(1, min(size, len(kept) // 2))
    return kept


def _fewer_updates(case: Case, holds: Test) -> Case:
    return replace(case, updates=minimal(case.updates, lambda kept: holds(replace(case, updates=kept))))


def _smaller_updates(case: Case, holds: Test) -> Case:
    for position in range(len(case.updates)):
        for part in ("insert", "delete", "add_rules", "remove_rules"):
            case = _smaller_update(case, position, part, holds)
    return case


def _smaller_update(case: Case, position: int, part: str, holds: Test) -> Case:
    items = getattr(case.updates[position], part)
    kept = minimal(items, lambda kept: holds(_changed(case, position, **{part: kept})))
    return _changed(case, position, **{part: kept})


def _smaller_program(case: Case, holds: Test) -> Case:
    for part in ("rules", "facts", "declarations"):
        case = _fewer(case, part, holds)
    return case


def _fewer(case: Case, part: str, holds: Test) -> Case:
    def with_only(kept: Sequence[object]) -> Case:
        return replace(case, program=replace(case.program, **{part: kept}))  # type: ignore[arg-type]

    return with_only(minimal(getattr(case.program, part), lambda kept: holds(with_only(kept))))


def _shorter_rules(case: Case, holds: Test) -> Case:
    """Fewer literals in the program's rules and in added ones."""
    for position in range(len(case.program.rules)):
        for shorter in _shorter(case.program.rules[position]):
            rules = _with(case.program.rules, position, shorter)
            candidate = replace(case, program=replace(case.program, rules=rules))
            if holds(candidate):
                return _shorter_rules(candidate, holds)
    for at, update in enumerate(case.updates):
        for position, rule in enumerate(update.add_rules):
            for shorter in _shorter(rule):
                candidate = _changed(case, at, add_rules=_with(update.add_rules, position, shorter))
                if holds(candidate):
                    return _shorter_rules(candidate, holds)
    return case


def _shorter(rule: Rule) -> Iterator[Rule]:
    for position in range(len(rule.body)):
        yield replace(rule, body=rule.body[:position] + rule.body[position + 1 :])


def _with(items: tuple[Item, ...], position: int, item: Item) -> tuple[Item, ...]:
    return (*items[:position], item, *items[position + 1 :])


def _changed(case: Case, position: int, **parts: object) -> Case:
    update = replace(case.updates[position], **parts)  # type: ignore[arg-type]
    return replace(case, updates=_with(case.updates, position, update))


def _with_names(case: Case) -> Case:
    """The case with a name for every rule, so that a rule can lose literals and still be removed."""
    rules = [*case.program.rules, *(rule for update in case.updates for rule in update.add_rules)]
    names = {rule_key(rule): rule.name or f"n{number}" for number, rule in enumerate(rules)}

    def named(found: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(replace(rule, name=names[rule_key(rule)]) for rule in found)

    def renamed(update: Update) -> Update:
        removed = tuple(names.get(known, known) for known in update.remove_rules)
        return replace(update, add_rules=named(update.add_rules), remove_rules=removed)

    program = replace(case.program, rules=named(case.program.rules))
    return replace(case, program=program, updates=tuple(map(renamed, case.updates)))


def disagrees(name: str, factory: Factory) -> Test:
    """Whether an engine disagrees with recomputation on a case."""

    def test(case: Case) -> bool:
        try:
            agree(case, {name: factory})
        except Disagreement:
            return True
        except TidelogError:
            return False
        return False

    return test


def main() -> None:
    """Shrink the case of a seed, show it and write it."""
    arguments = argparse.ArgumentParser(prog="python -m tests.differential.shrink", description=__doc__.split("\n")[0])
    arguments.add_argument("seed", type=int)
    arguments.add_argument("--engine", required=True, help="reference-dred, ..., or a strategy of tidelog.Engine")
    arguments.add_argument("--out", type=Path)
    options = arguments.parse_args()
    fails = disagrees(options.engine, engine_named(options.engine))
    case = draw_case(options.seed)
    if not fails(case):
        raise SystemExit(f"seed {options.seed}: {options.engine} agrees with recomputation")
    folder = options.out or Path(tempfile.mkdtemp(prefix=f"tidelog-{options.seed}-"))
    shrink(case, fails).write(folder)
    for file in ("program.dl", "updates.jsonl"):
        print(f"--- {folder / file}\n{(folder / file).read_text(encoding='utf-8')}")


if __name__ == "__main__":
    main()
