"""Which values does a rule compute, and what needs them?

What      : `computed` splits the body of a flat rule (flat_rules.py) into what facts bind at once (early), the values
            that are computed, in an order in which they can be, and the literals that wait for one of them (late).
Idea      : an instance whose arithmetic has no value is no instance, but it is counted. What is counted must not depend
            on the order of joins, so it is defined on this split: `event(x, t), event(y, t + 1)` binds x and t by the
            first atom, computes t + 1, and only then looks for the second.
Invariant : the answer depends on the rule alone. Every variable that the body binds is bound by an early literal, is
            computed, or is bound by a late one; a computed value needs nothing that comes after it.
Never     : no values and no facts; no plan has to follow this order (planning/join_order.py).

`v = term` computes `v` if the term has a function in it, or a computed variable, and can be had without the literals in
which `v` occurs. Otherwise the equation is a test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from tidelog.analysis.grouping import occurrences, shared_variables
from tidelog.language.terms import Aggregate, Atom, Call, Comparison, Literal, Negation, Rule, Term, Variable, variables

_TOTAL = ("=", "!=")
Equations = dict[Variable, Comparison]
"""Computed variables with the equation that computes each."""


@dataclass(frozen=True, slots=True)
class Step:
    """A value that literals wait for, and those of them that need no later one."""

    equation: Comparison
    variable: Variable
    term: Term
    late: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Computed:
    """A body in the order of what needs what.

    `early` are atoms, negated atoms and aggregates that wait for no computed value. `inlined` are the equations of
    values that no such literal waits for; `tests` are the other comparisons.
    """

    early: tuple[Literal, ...]
    steps: tuple[Step, ...]
    inlined: Equations
    tests: tuple[Comparison, ...]

    @property
    def columns(self) -> tuple[Variable, ...]:
        """The variables of early atoms: by their values one instance without a value is told from another."""
        atoms = (literal for literal in self.early if isinstance(literal, Atom))
        return tuple(dict.fromkeys(variable for atom in atoms for variable in variables(atom)))

    def spelled(self, term: Term) -> Term:
        """The term with every computed variable spelled out."""
        match term:
            case Variable():
                steps = {step.variable: step.term for step in self.steps}
                found = steps.get(term) or (term_of(self.inlined[term], term) if term in self.inlined else None)
                return term if found is None else self.spelled(found)
            case Call(function, arguments, place):
                return Call(function, tuple(map(self.spelled, arguments)), place)
            case _:
                return term

    def needs(self, term: Term) -> set[Variable]:
        """The values of steps that a term is computed from, directly or by way of others."""
        steps = {step.variable: step.term for step in self.steps}
        found: set[Variable] = set()
        for variable in variables(term):
            if variable in steps:
                found |= {variable} | self.needs(steps[variable])
            elif variable in self.inlined:
                found |= self.needs(term_of(self.inlined[variable], variable))
        return found


def is_partial(op: str, left: Term, right: Term) -> bool:
    """Whether a comparison can be without a value: it orders values, looks into texts, or has a function in it."""
    return op not in _TOTAL or isinstance(left, Call) or isinstance(right, Call)


def term_of(equation: Comparison, variable: Variable) -> Term:
    """The side of an equation that is not the variable."""
    return equation.right if equation.left == variable else equation.left


def computed(rule: Rule) -> Computed:
    """The split of a flat rule's body."""
    return _Split(rule).answer()


class _Split:
    """One body under examination."""

    def __init__(self, rule: Rule) -> None:
        in_rule = occurrences(rule)
        self.matched = [literal for literal in rule.body if not isinstance(literal, Comparison)]
        self.comparisons = [literal for literal in rule.body if isinstance(literal, Comparison)]
        self.groups = {
            id(one): set(map(Variable, shared_variables(one, in_rule)))
            for one in self.matched
            if isinstance(one, Aggregate)
        }
        self.seen = {id(one): set(self._seen(one, in_rule)) for one in self.matched}

    def _seen(self, literal: Literal, in_rule: dict[str, int]) -> Iterator[Variable]:
        """The variables of a literal that are known outside it, too, or could be."""
        match literal:
            case Negation():
                inside = list(variables(literal))
                yield from (one for one in inside if in_rule[one.name] > inside.count(one))
            case Aggregate(result=result):
                yield from self.groups[id(literal)]
                yield from variables(result)
            case _:
                yield from variables(literal)

    def answer(self) -> Computed:
        """Find what is computed, then go through the body once more in that order."""
        equations = self._equations()
        known = self._known(set(), {}, equations.keys())
        early = self._placed(known, equations.keys(), ())
        inlined, steps, done = Equations(), list[Step](), set(map(id, early))
        waited_for = set[Variable]().union(*self.seen.values())
        waiting = dict(equations)
        while waiting:
            variable = next(v for v, one in waiting.items() if known.issuperset(variables(term_of(one, v))))
            equation = waiting.pop(variable)
            known = self._known({*known, variable}, {}, waiting.keys())
            if variable not in waited_for:
                inlined[variable] = equation
                continue
            late = self._placed(known, waiting.keys(), done)
            done.update(map(id, late))
            steps.append(Step(equation, variable, term_of(equation, variable), late))
        used = set(map(id, equations.values()))
        return Computed(early, tuple(steps), inlined, tuple(one for one in self.comparisons if id(one) not in used))

    def _placed(self, known: set[Variable], waits: Collection[Variable], done: Collection[int]) -> tuple[Literal, ...]:
        found = (one for one in self.matched if id(one) not in done)
        return tuple(one for one in found if self._is_placed(one, known, waits))

    def _equations(self) -> Equations:
        """The equations that compute their variable, until there is no further one."""
        found, size = Equations(), -1
        while size != len(found):
            size = len(found)
            used = set(map(id, found.values()))
            for equation in self.comparisons:
                for variable in _sides(equation) if id(equation) not in used else ():
                    if self._computes(equation, variable, found):
                        found[variable] = equation
                        used.add(id(equation))
                        break
        return found

    def _computes(self, equation: Comparison, variable: Variable, found: Equations) -> bool:
        """Whether an equation can be taken as the way to a variable, and nothing that was bound is lost by that."""
        term = term_of(equation, variable)
        needed = set(variables(term))
        if variable in found or variable in needed or not (isinstance(term, Call) or needed & found.keys()):
            return False
        blocked = {*found, variable}
        if not needed <= self._known(set(), found, {variable}):
            return False
        before, after = self._known(set(), found, set()), self._known(set(), {**found, variable: equation}, set())
        return blocked <= after and before <= after

    def _known(self, start: set[Variable], computing: Equations, blocked: Iterable[Variable]) -> set[Variable]:
        """What is bound when the given equations compute; literals wait for variables that are blocked or computed."""
        known, waits = set(start), {*blocked, *computing}
        size = -1
        while size != len(known):
            size = len(known)
            for literal in self.matched:
                if self._is_placed(literal, known, waits) and not isinstance(literal, Negation):
                    known |= self.seen[id(literal)]
            for variable, equation in computing.items():
                if known.issuperset(variables(term_of(equation, variable))):
                    known.add(variable)
            for equation in self.comparisons:
                for variable in _sides(equation):
                    other = term_of(equation, variable)
                    if variable not in waits and not isinstance(other, Call) and known.issuperset(variables(other)):
                        known.add(variable)
        return known

    def _is_placed(self, literal: Literal, known: set[Variable], waits: Iterable[Variable]) -> bool:
        """Whether a literal can be looked at: it waits for computed variables, and all but atoms for every other."""
        seen = self.seen[id(literal)]
        match literal:
            case Atom():
                return known.issuperset(seen.intersection(waits))
            case Aggregate():
                return known.issuperset(self.groups[id(literal)] | seen.intersection(waits))
            case _:
                return known.issuperset(seen)


def _sides(equation: Comparison) -> Iterator[Variable]:
    """The variables that an equation could compute."""
    if equation.op == "=":
        yield from (side for side in (equation.left, equation.right) if isinstance(side, Variable))
