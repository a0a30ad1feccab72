"""The lines of a part become versions, or rejects.

What      : `settle` applies the lines of a part, in order, and gives back the changes, and the lines that cannot be
            applied. `settle_together` submits parts that may share a version, one after the other.
Idea      : as many lines as go together become one update: one maintenance step, one version. Whether they do is first
            judged by what is cheap to know; the engine has the last word. If it refuses an update of several lines,
            halves of it are tried, so that what is refused in the end is single lines, each with the engine's reason.
            Parts that are submitted wait for each other: if one is refused, those after it have not happened, so that
            its lines can be settled in their place.
Invariant : a line is applied wholly or is a reject; which of the two does not depend on the lines that share its part.
            With `stops` nothing after the first reject is applied. An error that is not the line's fault (Spark, the
            state, a broken law) is raised as it is.
Never     : nothing is stored or published here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, wait
from dataclasses import dataclass, field
from enum import Enum

from tidelog.analysis.arities import arities
from tidelog.analysis.impact import without
from tidelog.analysis.inlining import inline_relations
from tidelog.analysis.program_check import check
from tidelog.changes.change import Change
from tidelog.changes.names import check_names
from tidelog.changes.update import Update, net
from tidelog.engine import Engine
from tidelog.errors import BudgetError, EvaluationError, ProgramError, TidelogError, UpdateError, UsageError
from tidelog.language.parser import parse
from tidelog.language.printer import names
from tidelog.language.terms import Program, Value
from tidelog.maintenance.rule_book import written_facts
from tidelog.pipeline.engine_or_graph import Kept
from tidelog.pipeline.follow.updates import Line, Part
from tidelog.pipeline.sources.rejects import Reject

_USE = ("E803", "E804", "E805")
_NOTHING = Program()


class _Verdict(Enum):
    """What can be said of a line before it is applied; a text says why it can never be."""

    FITS = "it can join the lines before it"
    WAITS = "whether it fits depends on what the lines before it do"


@dataclass(slots=True)
class Settled:
    """The changes of a part, each with its version and number of lines; the rejects; how many lines are dealt with."""

    changes: list[tuple[int, Change, int]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    done: int = 0


def settle(engine: Kept, lines: Sequence[Line | Reject], *, stops: bool) -> Settled:
    """Apply the lines that can be applied; with `stops` only those before the first that cannot."""
    work = _Work(engine, stops)
    for line in lines:
        if not work.take(line):
            break
    work.flush()
    work.settled.rejects.sort(key=lambda reject: (reject.file, reject.line or 0))
    return work.settled


def settle_together(engine: Engine, parts: Sequence[Part], *, stops: bool) -> tuple[list[Settled], bool]:
    """Submit the first parts, as many as can be judged before any is done; what became of each, and if one was refused.

    A part that is not among the answers has not happened: the first of them has to be settled alone. Several answers
    may have the same change, which is that of the version that they share.
    """
    group, taken, updates = _Group(engine), list[Settled](), list[Update]()
    for part in parts:
        before, settled = group.program, Settled(done=len(part.lines))
        if not _fit(group, part, settled, stops=stops):
            break
        taken.append(settled)
        updates.append(_net([line.update for line in group.lines], before))
        group.lines.clear()
    found, futures = list[Settled](), engine.submit_in_order(updates)
    wait(futures)  # those after a refused one are in line until they have heard of it, with the rules that they bring
    for settled, future in zip(taken, futures):
        try:
            change = future.result()
        except CancelledError:
            break
        except TidelogError as error:
            if not _is_refusal(error):
                raise
            break
        settled.changes.append((change.version, change, settled.done - len(settled.rejects)))
        found.append(settled)
    return found, len(found) < len(taken)


def _fit(group: _Group, part: Part, settled: Settled, *, stops: bool) -> bool:
    """Whether all lines of a part can be judged now, those that are rejects included; the others join the group."""
    for line in part.lines:
        verdict = line.reason if isinstance(line, Reject) else group.judge(line)
        if verdict is _Verdict.WAITS or (stops and isinstance(verdict, str)):
            return False
        if isinstance(line, Reject):
            settled.rejects.append(line)
        elif isinstance(verdict, str):
            settled.rejects.append(line.reject(verdict))
        else:
            group.lines.append(line)
    return True


def merged(parts: Sequence[Settled]) -> Settled:
    """Parts as one: each version once, with the lines of all parts that share it."""
    versions: dict[int, tuple[Change, int]] = {}
    for version, change, lines in (one for part in parts for one in part.changes):
        versions[version] = change, lines + versions.get(version, (change, 0))[1]
    return Settled([(version, *found) for version, found in versions.items()], [], sum(part.done for part in parts))


def rule_names(program: Program) -> frozenset[str]:
    """What rules can be called: their names, and their texts."""
    return frozenset(name for rule in program.rules for name in names(rule))


class _Work:
    """A part that is being settled."""

    def __init__(self, engine: Kept, stops: bool) -> None:
        self._engine, self._stops = engine, stops
        self._group = _Group(engine)
        self._bad: Reject | None = None
        self.settled = Settled()

    def take(self, line: Line | Reject) -> bool:
        """Take the next line; False if nothing after it may be applied."""
        if isinstance(line, Reject):
            return self._refuse(line)
        verdict = self._group.judge(line)
        if verdict is _Verdict.WAITS:
            if not self.flush():
                return False
            verdict = self._group.judge(line)
        if isinstance(verdict, str):
            return self._refuse(line.reject(verdict))
        self._group.lines.append(line)
        return True

    def flush(self) -> bool:
        """Apply the lines that have gathered; False if one of them stops the rest."""
        lines = self._group.lines
        goes_on = not lines or self._apply(lines)
        self._group = _Group(self._engine)
        if self._bad is not None and goes_on:
            self.settled.rejects.append(self._bad)
        self._bad = None
        return goes_on

    def _refuse(self, reject: Reject) -> bool:
        """A line that cannot be applied; if it stops the rest, what was before it is applied first."""
        if self._stops:
            self._bad = reject
            return False
        self.settled.rejects.append(reject)
        self.settled.done += 1
        return True

    def _apply(self, lines: list[Line]) -> bool:
        updates = [line.update for line in lines]
        try:
            update = updates[0] if len(updates) == 1 else _net(updates, self._engine.program)
            change = self._engine.apply_update(update)
        except TidelogError as error:
            if not _is_refusal(error):
                raise
            if len(lines) > 1:
                middle = len(lines) // 2
                return self._apply(lines[:middle]) and self._apply(lines[middle:])
            self.settled.rejects.append(lines[0].reject(_reason(error)))
            self.settled.done += not self._stops
            return not self._stops
        self.settled.changes.append((self._engine.version, change, len(lines)))
        self.settled.done += len(lines)
        return True


def _net(updates: Sequence[Update], program: Program) -> Update:
    """One update that has the effect of all, if these are the rules before the first of them."""
    return net(updates, rule_names(program), _declared(program).get)


def _is_refusal(error: TidelogError) -> bool:
    """Whether an error is the line's fault."""
    if isinstance(error, UsageError):
        return error.code in _USE
    return isinstance(error, ProgramError | UpdateError | EvaluationError | BudgetError)


def _reason(error: TidelogError) -> str:
    """Why a line was refused; a budget is named by its code, since the line alone does not explain it."""
    sentence = error.problems[0].sentence
    return f"{error.code}: {sentence}" if isinstance(error, BudgetError | EvaluationError) else sentence


class _Group:
    """Lines that are going to be one update."""

    def __init__(self, engine: Kept) -> None:
        self.lines: list[Line] = []
        self._engine = engine
        self.program, self._removes = engine.program, False
        self._columns: dict[str, int] = {}
        self._deleted: set[str] = set()
        self._types = _declared(engine.program)

    def judge(self, line: Line) -> _Verdict | str:
        """Whether a line can join; a text is the reason why it can be applied nowhere."""
        update = line.update
        try:
            added = parse(update.add_rules) if update.add_rules else _NOTHING
            program = self._program_after(update, added)
            facts = (*update.insert, *update.delete, *(fact.relation for fact in added.facts))
            check_names(facts, inline_relations(program))
        except TidelogError as error:
            return error.problems[0].sentence
        columns: dict[str, int] = {}
        for relation, width in _columns(update, added):
            if columns.setdefault(relation, width) != width:
                return f"{relation} has {columns[relation]} columns, not {width}"
        mismatch = next((name for name, width in columns.items() if self._known(name) not in (None, width)), None)
        if mismatch and (self._removes or (mismatch in self._deleted and mismatch not in self._fixed)):
            return _Verdict.WAITS  # for by then it may be empty
        if mismatch and not update.remove_rules:
            return f"{mismatch} has {self._known(mismatch)} columns, not {columns[mismatch]}"
        filled = next((name for name in inline_relations(added) if self._has_facts(name)), None)
        if filled and filled in self._columns:
            return _Verdict.WAITS  # for the lines before may take them away
        if filled:
            return f"{filled} is declared inline, and an inline relation has no facts"
        types = self._types | _declared(added)
        wrong = _wrong_value(update.insert, types) or _wrong_value(written_facts(added), types)
        if wrong:
            return wrong
        self._types, self.program = types, program
        self._columns |= columns
        self._deleted |= set(update.delete)
        self._removes |= bool(update.remove_rules)
        return _Verdict.FITS

    def _known(self, relation: str) -> int | None:
        """The number of columns that facts must have, as far as is known; an empty relation takes any."""
        if relation in self._columns:
            return self._columns[relation]
        if relation not in self._engine:
            return None
        is_held = relation in self._fixed or self._engine.size(relation) > 0
        return self._engine[relation].arity if is_held else None

    def _has_facts(self, relation: str) -> bool:
        """Whether a relation has explicit facts, or lines of the group speak of some."""
        return relation in self._columns or (relation in self._engine and len(self._engine.explicit(relation)) > 0)

    @property
    def _fixed(self) -> Mapping[str, int]:
        """The relations whose number of columns rules and declarations fix, whatever facts there are."""
        return arities(self.program)

    def _program_after(self, update: Update, added: Program) -> Program:
        """The program after the rules of a line came and went, as they would after the lines before it."""
        program = self.program
        if not (added.rules or added.declarations or update.remove_rules):
            return program
        kept = tuple(without(program.rules, update.remove_rules))
        rules = dict.fromkeys((*kept, *added.rules))
        after = Program(tuple(rules), (), (*program.declarations, *added.declarations), program.inputs, program.outputs)
        check(after)
        return after


def _declared(program: Program) -> dict[str, tuple[str, ...]]:
    """The declared types of relations."""
    return {one.relation: tuple(kind for _, kind in one.columns) for one in program.declarations}


def _columns(update: Update, added: Program) -> Iterator[tuple[str, int]]:
    """The numbers of columns that a line uses."""
    yield from arities(added).items()
    yield from ((fact.relation, len(fact.values)) for fact in added.facts)
    for facts in (update.delete, update.insert):
        for relation, table in facts.items():
            yield relation, table.arity


def _wrong_value(facts: Mapping[str, object], types: Mapping[str, Sequence[str]]) -> str | None:
    """The first value that its declaration does not allow."""
    for relation, table in facts.items():
        for values in table if relation in types else ():  # type: ignore[attr-defined]
            for value, kind in zip(values, types[relation]):
                if not _fits(value, kind):
                    return f"{relation}: {value!r} is no {kind}"
    return None


def _fits(value: Value, kind: str) -> bool:
    match kind:
        case "number":
            return type(value) is int
        case "unsigned":
            return type(value) is int and value >= 0
        case "float":
            return type(value) in (int, float)
        case "bool":
            return type(value) is bool
        case "symbol":
            return type(value) is str
    return True
