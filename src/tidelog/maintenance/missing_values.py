"""Instances without a value, told to the user.

What      : `Missing` holds, for every relation of instances without a value (planning/undefined.py), how many there are
            in the present version and one of them in words; `after` gives the next one from an update's outcome.
Idea      : the relations are maintained like all others, so their net change is at hand; only where one changed is
            anything counted or read.
Invariant : a value: an update that fails leaves the one before in force. The example is an instance of this version;
            among those looked at it is the least, so that it does not depend on where facts are stored.
Never     : no fact is evaluated that is not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from tidelog.changes.change import FactTable, WithoutValue
from tidelog.errors import EvaluationError, Problem, UsageError
from tidelog.language import values
from tidelog.language.partial import ALL, UNDEFINED
from tidelog.language.printer import print_value, rule_key
from tidelog.language.rdf_terms import RdfTerm
from tidelog.language.terms import Call, Comparison, Constant, Term, Value, Variable, variables
from tidelog.maintenance.outcome import Outcome
from tidelog.maintenance.schedule import Schedule
from tidelog.planning.lowered import LoweredRule

SKIP, REFUSE = "skip", "refuse"
_LOOKED_AT = 100
"""Among how many instances the least is looked for."""
_UNTOLD = Problem("E506", "a computed value is missing", remedy="keep numbers small, and values of one type")
"""About an instance whose own columns do not tell which: an aggregate, or something that a later atom binds."""


class Tables(Protocol):
    """What is needed of a backend."""

    @property
    def store(self) -> Any:  # noqa: ANN401 - any store
        """Knows sizes as of the last commit."""

    def freeze(self, relation: str, facts: Any) -> FactTable:  # noqa: ANN401 - facts of that store
        """Facts that came or went."""

    def table(self, relation: str) -> FactTable:
        """A relation as of the last commit."""

    def arity(self, relation: str) -> int | None:
        """None if the relation is not stored."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """The instances of one relation."""

    count: int
    first: tuple[Value, ...]
    problem: Problem


@dataclass(frozen=True)
class Missing:
    """What is missing in one version, by hidden relation."""

    found: Mapping[str, Lacking] = field(default_factory=dict)

    def after(self, outcome: Outcome[Any], schedule: Schedule, tables: Tables) -> Missing:
        """What is missing after an update that is not yet committed."""
        undefined = schedule.undefined
        if not undefined and not self.found:
            return self
        touched = [name for name in undefined if name in outcome.inserted or name in outcome.deleted]
        if not touched and self.found.keys() <= undefined.keys():
            return self
        kept = {name: lacking for name, lacking in self.found.items() if name in undefined and name not in touched}
        for name in touched:
            inserted, deleted = (part.get(name) for part in (outcome.inserted, outcome.deleted))
            size = int(tables.store.size(name))
            count = size + (len(inserted) if inserted is not None else 0) - (len(deleted) if deleted is not None else 0)
            if count:
                came = tables.freeze(name, inserted) if inserted is not None else ()
                went = tables.freeze(name, deleted) if deleted is not None else ()
                stayed = (fact for fact in (tables.table(name) if size else ()) if fact not in went)
                kept[name] = _lacking(count, [*islice(came, _LOOKED_AT), *islice(stayed, _LOOKED_AT)], name, schedule)
        return Missing(kept)

    @staticmethod
    def of(schedule: Schedule, tables: Tables) -> Missing:
        """What is missing in a version that was opened."""
        found = {}
        for name in schedule.undefined:
            table = tables.table(name) if tables.arity(name) is not None else ()
            if len(table):
                found[name] = _lacking(len(table), list(islice(table, _LOOKED_AT)), name, schedule)
        return Missing(found)

    def told(self, schedule: Schedule) -> dict[str, WithoutValue]:
        """Per rule of the user, by its key, how many instances lack a value, and the first of them."""
        found: dict[str, WithoutValue] = {}
        for name, lacking in self.found.items():
            for key in sorted(rule_key(rule) for rule in schedule.undefined[name]):
                known = found.get(key)
                count = lacking.count + (known.count if known else 0)
                found[key] = WithoutValue(count, known.first if known else lacking.problem.sentence)
        return found

    def refuse(self, schedule: Schedule) -> None:
        """Raise if anything is missing: one problem for each rule."""
        problems = []
        for name, lacking in self.found.items():
            for rule in schedule.undefined[name]:
                problem = lacking.problem
                more = f" (and {lacking.count - 1:,} more)" if lacking.count > 1 else ""
                sentence = f"{problem.sentence}{more}"
                problems.append(Problem(problem.code, sentence, rule.place, problem.remedy, rule=rule_key(rule)))
        if problems:
            raise EvaluationError(sorted(problems, key=lambda one: (str(one.place), str(one.rule))))


def check_choice(arithmetic: str) -> str:
    """Refuse a word that says neither to skip nor to refuse."""
    if arithmetic not in (SKIP, REFUSE):
        raise UsageError.of("E817", f"arithmetic can be {SKIP} or {REFUSE}, not {arithmetic!r}", remedy=f"use {SKIP!r}")
    return arithmetic


def _lacking(count: int, facts: list[tuple[Value, ...]], relation: str, schedule: Schedule) -> Lacking:
    first = min(facts, key=lambda fact: [(type(value).__name__, _in_order(value)) for value in fact])
    stage = schedule.stages[schedule.place[relation]].stage
    rules = [rule for rule in stage.rules if rule.head.relation == relation]
    problem = next((found for rule in rules for found in _problems(rule, first)), _UNTOLD)
    names = (term.name for term in rules[0].head.terms if isinstance(term, Variable))
    shown = [f"{name} = {print_value(value)}" for name, value in zip(names, first) if not name.startswith("_:")]
    sentence = f"{problem.sentence}, for {', '.join(shown)}" if shown else problem.sentence
    return Lacking(count, first, Problem(problem.code, sentence, remedy=problem.remedy))


def _in_order(value: Value) -> Value:
    """Something that values of one type can be sorted by; RDF terms have no order of their own."""
    return value.text if isinstance(value, RdfTerm) else value


def _problems(rule: LoweredRule, fact: tuple[Value, ...]) -> Iterator[Problem]:
    """What values.py says about the values that an instance lacks, as far as its own columns tell."""
    known = {term: value for term, value in zip(rule.head.terms, fact) if isinstance(term, Variable)}
    for literal in rule.body:
        match literal:
            case Comparison("=", Variable() as variable, Constant(value)):  # as of an aggregate over nothing
                known.setdefault(variable, value)
    for literal in rule.body:
        if isinstance(literal, Comparison) and literal.op == UNDEFINED:
            left = literal.left
            parts = left.arguments if isinstance(left, Call) and left.function == ALL else (left,)
            for part in parts:
                if all(variable in known for variable in variables(part)):
                    try:
                        _value(part, known)
                    except EvaluationError as error:
                        yield error.problems[0]


def _value(term: Term, known: Mapping[Variable, Value]) -> Value:
    match term:
        case Variable():
            return known[term]
        case Constant(value):
            return value
        case Call(function, arguments):
            given = [_value(argument, known) for argument in arguments]
            return values.compare(function[1:], *given) if function.startswith("@") else values.apply(function, given)
