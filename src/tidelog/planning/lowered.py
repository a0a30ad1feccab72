"""Rules in the form that plans are made from.

What      : the few shapes left after aggregates and nested calls are taken apart (see lowering.py). A *component* is a
            set of mutually recursive relations of the user's program (analysis/components.py): what a person sees. A
            *stage* is the same for lowered rules: what is planned and maintained. Most components are one stage. A rule
            with an aggregate adds a hidden stage in front for the results, and one more for the members unless a
            relation's facts are the members already. A recursion through `min` or `max` is one stage with all of them.
Invariant : body atoms hold variables and constants only; calls stand in comparisons and heads.
            Relations whose names begin with `@` are ours; users read short names for them (short_names.py).
Never     : no order of evaluation here (join_order.py) and no data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from tidelog.language.printer import canonical_text
from tidelog.language.terms import Atom, Comparison, Negation, Rule, Variable

BodyLiteral = Atom | Negation | Comparison
UNDEFINED_PREFIX = "@undefined"
"""With this begin the names of relations of instances without a value (undefined.py)."""
MEMBERS_PREFIX = "@of "
"""With this begin the names of relations of what an aggregate is taken of (lowering.py)."""
LACKING_PREFIX = "@lacking "
"""With this begin the names of relations of groups without a value."""
REWRITES_PREFIX = "@rewrites"
"""With this begin the names of relations of rewrites, which are kept beside the facts (rewrites.py)."""


@dataclass(frozen=True, slots=True)
class LoweredRule:
    """A rule without aggregates. `key` names the user's rule it comes from (`source`), for counters and messages."""

    key: str
    head: Atom
    body: tuple[BodyLiteral, ...]
    source: Rule

    def __hash__(self) -> int:
        """By the text of the source, which is kept there: rules are looked up whenever rules change.

        By the key it would not do: thousands of sources may have one, if they are one rule with inline relations.
        """
        return hash(canonical_text(self.source))

    @property
    def reads(self) -> set[str]:
        """The relations of its body, negated ones included."""
        return {
            literal.relation if isinstance(literal, Atom) else literal.atom.relation
            for literal in self.body
            if not isinstance(literal, Comparison)
        }


@dataclass(frozen=True, slots=True)
class GroupRule:
    """`relation(group..., result)` from the facts of `body_relation(group..., locals..., value)`.

    `group` is the number of leading group columns; the value, if the function needs one, is the last column. `source`
    is the user's rule that the aggregate stands in. `body_relation` is hidden, or the user's own if its facts have the
    groups first and the value last. Groups whose members have no aggregate (a sum that overflows, values without order)
    are facts of `lacking(group...)`.
    """

    key: str
    relation: str
    function: str
    body_relation: str
    group: int
    body_arity: int
    source: Rule

    @property
    def lacking(self) -> str:
        """The relation of groups without a value; that of a count, which always has one, stays empty."""
        return f"{LACKING_PREFIX}{self.relation[1:]}"


@dataclass(frozen=True)
class Stage:
    """What is maintained in one step: mutually recursive relations with all the lowered rules that derive them.

    A stage holds either ordinary rules or one group rule (`groups`), unless a recursion takes the least or greatest of
    its own values: then it holds both, and `is_strict` and `is_bounded` say what analysis/optima.py means by them. For
    example,

        h(x, n) :- q(x), n = count : { p(x, _) }.

    has one component, h, and two stages: the results of the count, and h. With a longer body of the aggregate there are
    three: the substitutions of the body come first.
    """

    relations: frozenset[str]
    rules: tuple[LoweredRule, ...]
    groups: tuple[GroupRule, ...]
    is_recursive: bool
    is_strict: bool = True
    is_bounded: bool = True
    has_links: bool = False
    """Whether it has rules that give every value where a version keeps the best one."""

    @cached_property
    def linked(self) -> Stage:
        """The stage with `best(group, value) :- member(group, ..., value)` in the place of each group rule."""
        return replace(self, rules=(*self.rules, *map(_link, self.groups)), groups=(), has_links=True)

    @cached_property
    def links(self) -> Stage:
        """Nothing but these rules."""
        return replace(self, rules=tuple(map(_link, self.groups)), groups=(), has_links=True)

    @cached_property
    def alone(self) -> tuple[Stage, ...]:
        """Each rule as a stage of its own, over the same relations; they stay the same objects."""
        return tuple(replace(self, rules=(rule,)) for rule in self.rules)

    @cached_property
    def finds_undefined(self) -> bool:
        """Whether its facts are instances without a value."""
        return any(relation.startswith(UNDEFINED_PREFIX) for relation in self.relations)

    @cached_property
    def name(self) -> str:
        """The component in the user's words, for messages: its relations; of a hidden stage the relation it serves."""
        visible = [relation for relation in self.relations if not is_hidden(relation)]
        if visible:
            return ", ".join(sorted(visible))
        rules = [rule for rule in self.rules if not is_of_rewrites(rule.head.relation)]
        sources = {*(rule.source for rule in rules), *(group.source for group in self.groups)}
        what = "missing values" if self.finds_undefined else "an aggregate"
        return f"{what} in {', '.join(sorted({source.head.relation for source in sources}))}"


def _link(group: GroupRule) -> LoweredRule:
    member = tuple(Variable(f"_:member{at}") for at in range(group.body_arity))
    best = Atom(group.relation, (*member[: group.group], member[-1]))
    return LoweredRule(group.key, best, (Atom(group.body_relation, member),), group.source)


def is_hidden(relation: str) -> bool:
    """Whether a relation is hidden: made by lowering, and never seen by users."""
    return relation.startswith("@")


def is_of_rewrites(relation: str) -> bool:
    """Whether a relation holds rewrites: kept for one strategy, and no part of a version."""
    return relation.startswith(REWRITES_PREFIX)
