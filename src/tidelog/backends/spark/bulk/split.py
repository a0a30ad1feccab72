"""Rules in two-way steps, for relations that are too large to be given to every shard.

What      : a rule whose partitioned facts share no variable becomes a chain of rules with two atoms each, through
            relations of our own that hold the variables still needed.
Idea      : the left-deep join of every database; each step is exchanged like any other fact, so the chain needs no
            other machinery, and semi-naive evaluation of the steps repeats no work.
Invariant : the chain derives the heads of the rule and nothing else outside our own relations; the last step carries
            the rule's key.
Never     : no data.

    s(x, y) :- e(a, x), s(a, b), e(b, y).      becomes      @step(x, b) :- e(a, x), s(a, b).
                                                            s(x, y) :- @step(x, b), e(b, y).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidelog.language.terms import Atom, Comparison, Negation, Variable, variables
from tidelog.planning.lowered import BodyLiteral, LoweredRule, Stage

STEP = "@step "


def in_steps(stage: Stage, rules: Sequence[LoweredRule]) -> tuple[Stage, tuple[LoweredRule, ...]]:
    """The stage and its rules, with every rule that joins more than two literals taken apart."""
    found: list[LoweredRule] = []
    for number, rule in enumerate(rules):
        found.extend(_steps(rule, number))
    own = {rule.head.relation for rule in found if is_step(rule.head.relation)}
    return replace(stage, relations=stage.relations | own), tuple(found)


def is_step(relation: str) -> bool:
    """Whether a relation holds the middle of a chain."""
    return relation.startswith(STEP)


def _steps(rule: LoweredRule, number: int) -> list[LoweredRule]:
    """A left-deep chain: atoms in an order in which each shares a variable with those before, then negated atoms."""
    atoms = _connected([literal for literal in rule.body if isinstance(literal, Atom)])
    bound = {variable for atom in atoms for variable in variables(atom)}
    negated = [literal for literal in rule.body if isinstance(literal, Negation)]
    apart = [one for one in negated if atoms and bound.issuperset(_shared(rule, one))]
    late = [
        literal
        for literal in rule.body
        if isinstance(literal, Comparison) or (literal in negated and literal not in apart)
    ]
    chain: list[BodyLiteral] = [*atoms, *apart]
    if len(chain) < 3:
        return [rule]
    found: list[LoweredRule] = []
    before: BodyLiteral = chain[0]
    for at, literal in enumerate(chain[1:-1], start=1):
        needed = {v for part in (rule.head, *chain[at + 1 :], *late) for v in variables(part)}
        here = dict.fromkeys(
            v for part in (before, literal if isinstance(literal, Atom) else None) if part for v in variables(part)
        )
        head = Atom(f"{STEP}{number}.{at}", tuple(variable for variable in here if variable in needed))
        found.append(LoweredRule(STEP, head, (before, literal), rule.source))
        before = head
    return [*found, replace(rule, body=(before, chain[-1], *late))]


def _shared(rule: LoweredRule, negation: Negation) -> set[Variable]:
    """The variables of a negated atom that occur elsewhere in the rule; the others are existential inside it."""
    elsewhere = {v for part in (rule.head, *rule.body) if part is not negation for v in variables(part)}
    return elsewhere.intersection(variables(negation))


def _connected(atoms: list[Atom]) -> list[Atom]:
    """The atoms in an order in which each shares a variable with those before it, if there is one."""
    ordered, waiting = atoms[:1], atoms[1:]
    while waiting:
        bound = {variable for atom in ordered for variable in variables(atom)}
        following = next((atom for atom in waiting if bound.intersection(variables(atom))), waiting[0])
        waiting.remove(following)
        ordered.append(following)
    return ordered
