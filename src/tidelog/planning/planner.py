"""Plans for a rule: one per driving literal, one for given heads, one for all instances.

Idea       : semi-naive and inverse semi-naive evaluation drive each body literal in turn (Motik et al. 2015, section
             3); backward chaining drives the head; added rules run over everything.
Invariant  : every plan of a rule enumerates the same instances, each once.
Never      : no data beyond estimates of sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from tidelog.language.terms import Atom, Call, Comparison, Constant, Negation, Term, Variable, variables
from tidelog.planning.apart_groups import apart_groups
from tidelog.planning.join_order import Estimates, order, shared_variables
from tidelog.planning.lowered import LoweredRule
from tidelog.planning.plan import (
    NOWHERE,
    Absent,
    Apply,
    Bind,
    Column,
    Compute,
    Driver,
    Expression,
    Ignore,
    Join,
    Known,
    Literally,
    Plan,
    Same,
    Slot,
    Step,
    Test,
)


def plan_literal(rule: LoweredRule, literal: int, estimates: Estimates) -> Plan:
    """The plan that starts from facts of one body literal, positive or negated."""
    driving = rule.body[literal]
    assert isinstance(driving, Atom | Negation)
    atom = driving if isinstance(driving, Atom) else driving.atom
    slots = _Slots()
    kept = _needed(rule) if isinstance(driving, Atom) else shared_variables(rule, driving)
    columns = slots.columns(atom.terms, only=kept)
    steps, head, returns = _body(rule, literal, slots, estimates)
    return Plan(rule, Driver.LITERAL, literal, atom.relation, columns, steps, head, slots.count, returns)


def plan_head(rule: LoweredRule, estimates: Estimates, leading: int | None = None) -> Plan:
    """The plan that starts from facts of the head: the supports of given facts.

    A head term that is computed cannot be inverted: its value is bound and compared at the end. If given, the atom
    `leading` is joined first, whatever the estimates say.
    """
    slots = _Slots()
    stand_ins: list[Term] = []
    tests: list[tuple[Variable, Call]] = []
    for position, term in enumerate(rule.head.terms):
        if isinstance(term, Call):
            tests.append((Variable(f"_:head{position}"), term))
            stand_ins.append(tests[-1][0])
        else:
            stand_ins.append(term)
    columns = slots.columns(stand_ins)
    steps, head, returns = _body(rule, None, slots, estimates, leading)
    last = tuple(Test("=", slots.known(variable), slots.expression(call)) for variable, call in tests)
    if last:
        returns = ()
    return Plan(rule, Driver.HEAD, None, rule.head.relation, columns, steps + last, head, slots.count, returns)


def other_leading(plan: Plan) -> int | None:
    """The atom that might as well be joined first with given heads: the last one that has a column of the head."""
    given = set(variables(plan.rule.head))
    for step in reversed(plan.steps[1:]):
        if isinstance(step, Join) and not given.isdisjoint(variables(plan.rule.body[step.literal])):
            return step.literal
    return None


def plan_all(rule: LoweredRule, estimates: Estimates) -> Plan:
    """The plan that enumerates every instance."""
    slots = _Slots()
    steps, head, returns = _body(rule, None, slots, estimates)
    return Plan(rule, Driver.NOTHING, None, None, (), steps, head, slots.count, returns)


class _Slots:
    """Numbers variables in the order in which a plan fills them."""

    def __init__(self) -> None:
        self._slots: dict[Variable, Slot] = {}

    @property
    def count(self) -> int:
        return len(self._slots)

    def __contains__(self, variable: object) -> bool:
        return variable in self._slots

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(self._slots)

    def known(self, variable: Variable) -> Slot:
        return self._slots[variable]

    def fill(self, variable: Variable) -> Slot:
        return self._slots.setdefault(variable, Slot(len(self._slots)))

    def columns(self, terms: Sequence[Term], only: Collection[Variable] | None = None) -> tuple[Column, ...]:
        """How the columns of an atom meet the slots; variables not in `only`, if given, are ignored.

        Repeated variables that are ignored still have to be equal, so they get slots of their own.
        """
        before = self._slots.keys() & terms
        is_plain = len(set(terms)) == len(terms)
        repeated = () if is_plain else {term for term, times in Counter(terms).items() if times > 1}
        found: list[Column] = []
        for term in terms:
            if isinstance(term, Constant):
                found.append(Known(Literally(term.value)))
                continue
            assert isinstance(term, Variable)
            if term in before:
                found.append(Known(self._slots[term]))
            elif term in self._slots:
                found.append(Same(self._slots[term]))
            elif only is not None and term not in only and term not in repeated:
                found.append(Ignore())
            else:
                found.append(Bind(self.fill(term)))
        return tuple(found)

    def expression(self, term: Term) -> Expression:
        match term:
            case Variable():
                return self._slots[term]
            case Constant(value):
                return Literally(value)
            case Call(function, arguments):
                return Apply(function, tuple(self.expression(argument) for argument in arguments))


def _body(
    rule: LoweredRule, driving: int | None, slots: _Slots, estimates: Estimates, leading: int | None = None
) -> tuple[tuple[Step, ...], tuple[Expression, ...], tuple[int, ...]]:
    """The steps of a plan after its driver, the head, and the steps to return to (see `Plan.returns`).

    Literals that have to hold, but share no variable with the head or the driver, come first: they are found true once.
    """
    steps: list[Step] = []
    needed, kept, last = _needed(rule), set(variables(rule.head)), -1
    placed = order(rule, driving, slots.variables, estimates, leading)
    first: list[int] = []
    returns: list[int] = []
    for group in apart_groups(rule, {*slots.variables, *kept}):
        members = [position for position in placed if position in group]  # the driver may be one, and is not placed
        if members:
            returns += [NOWHERE] * (len(members) - 1) + [len(first) - 1]
            first += members
    for position in (*first, *(position for position in placed if position not in first)):
        known = slots.count
        is_before = driving is not None and position < driving
        match rule.body[position]:
            case Atom(relation, terms):
                columns = slots.columns(terms, only=needed)
                steps.append(Join(relation, columns, position, is_before))
            case Negation(Atom(relation, terms)):
                # Variables that nothing has bound are local to the negated atom.
                steps.append(Absent(relation, slots.columns(terms, only=()), position, is_before))
            case Comparison(op, left, right):
                steps.append(_comparison(slots, op, left, right, position))
        if not kept.isdisjoint(slots.variables[known:]):
            last = len(steps) - 1
    returns += [NOWHERE] * (len(steps) - len(returns)) + [last]
    return tuple(steps), tuple(slots.expression(term) for term in rule.head.terms), tuple(returns)


def _needed(rule: LoweredRule) -> set[Variable]:
    """The variables that occur more than once in the rule: the others need no slot."""
    seen: set[Variable] = set()
    needed: set[Variable] = set()
    for part in (rule.head, *rule.body):
        for variable in variables(part):
            (needed if variable in seen else seen).add(variable)
    return needed


def _comparison(slots: _Slots, op: str, left: Term, right: Term, literal: int) -> Step:
    if op == "=":
        for target, source in ((left, right), (right, left)):
            if isinstance(target, Variable) and target not in slots:
                value = slots.expression(source)
                return Compute(slots.fill(target), value, literal)
    return Test(op, slots.expression(left), slots.expression(right), literal)
