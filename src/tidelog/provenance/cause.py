"""Why a fact came or went with an update.

What      : `cause` finds the derivation that a change gave to a fact, or took from it.
Idea      : a fact that came has a proof now, one that went had a proof before. The search for proofs is given the
            version that has the proof, and told to stop at facts that the change did not touch; so what is left of the
            proof is the way from the fact to what the update did: facts inserted or deleted, rules added or removed,
            absences and aggregates that turned.
Invariant : every leaf was there before and after, or is an explicit fact of the update. The version before is made of
            the present one and the change, so nothing has to be kept but what the update withdrew.
Cost      : what lies between the fact and the update, not the materialisation.
Never     : no backend is imported, and nothing is derived.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.changes.change import Change
from tidelog.errors import UsageError
from tidelog.language.printer import print_fact, print_rule
from tidelog.language.terms import Aggregate, Atom, Constant, Negation, Rule, Term, Value, Variable, atoms
from tidelog.language.values import fact_identity
from tidelog.provenance.before import Before
from tidelog.provenance.both_versions import Index, Past, Present
from tidelog.provenance.explain import explain
from tidelog.provenance.instances import Fact, Facts
from tidelog.provenance.proof import Proof, indented


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a fact came or went: a proof that the update gave to it, or took from it, cut where nothing changed."""

    has_come: bool
    proof: Proof
    facts: tuple[Fact, ...]
    """The explicit facts of the proof that the update inserted, or deleted."""
    rules: tuple[Rule, ...]
    """The rules of the proof that the update added, or removed."""
    turned: Mapping[int, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        verb, did = ("came", "inserted") if self.has_come else ("went", "deleted")
        fact = print_fact(self.proof.relation, self.proof.values)
        return f"<Cause: {fact} {verb}; {len(self.facts)} facts {did}, {len(self.rules)} rules changed>"

    def __str__(self) -> str:
        verb = "came" if self.has_come else "went: this proof is lost, and there is no other"
        own, shown = set(map(_key, self.facts)), set[int]()

        def line(node: Proof) -> tuple[str, tuple[str, ...] | None]:
            if node.rule is None:
                return self._explicit(_key((node.relation, node.values)) in own), None
            if id(node) in shown:
                return "as above", None
            shown.add(id(node))
            word = "" if node.rule not in self.rules else "the new rule " if self.has_come else "the removed rule "
            return f"by {word}{print_rule(node.rule.as_written)}", tuple(self._conditions(node))

        first = f"{print_fact(self.proof.relation, self.proof.values)} {verb}"
        return "\n".join([first, *indented(self.proof, 1, line)])

    def _repr_html_(self) -> str:
        from tidelog.changes.html import lines_html

        return lines_html(str(self))

    def _explicit(self, is_own: bool) -> str:
        """What is said about an explicit fact, which the update changed or not."""
        if is_own:
            return "is inserted" if self.has_come else "is deleted"
        return "was there before" if self.has_come else "is still there"

    def _conditions(self, node: Proof) -> Iterator[str]:
        """The conditions under a fact, with a word where one has turned."""
        for condition in node.conditions:
            has_turned = condition in self.turned.get(id(node), ())
            yield condition + (f"  {'since now' if self.has_come else 'until now'}" if has_turned else "")


def cause(fact: Fact, change: Change, before: Before, rules: tuple[Rule, ...], held: Facts) -> Cause:
    """The cause for one fact of a change; E809 if the change has nothing to do with the fact."""
    relation, values = fact
    has_come = values in change.inserted[relation]
    if not has_come and values not in change.deleted[relation]:
        sentence = f"{print_fact(relation, values)} neither came nor went with this change"
        raise UsageError.of("E809", sentence, remedy="ask for a fact of change.inserted or change.deleted")
    view: Present | Past = Present(held, change) if has_come else Past(held, change, before.withdrawn)
    found = explain(relation, values, rules if has_come else before.rules, view)
    if found is None:
        raise UsageError.of("E809", f"{print_fact(relation, values)} has no proof", remedy="see engine.verify")
    others = set(before.rules if has_come else rules)
    nodes = list(_nodes(found))
    own = (one for one in nodes if one.rule is None and view.is_own(one.relation, one.values))
    changed = dict.fromkeys(one.rule for one in nodes if one.rule is not None and one.rule not in others)
    against = Index(change.deleted if has_come else change.inserted)
    along = Index(change.inserted if has_come else change.deleted)
    turned = {id(node): tuple(_turned(node, against, along)) for node in nodes if node.rule is not None}
    facts = {_key(one): one for one in ((leaf.relation, leaf.values) for leaf in own)}
    return Cause(has_come, found, tuple(facts.values()), tuple(changed), turned)


def _key(fact: Fact) -> object:
    return fact[0], fact_identity(fact[1])


def _nodes(proof: Proof) -> Iterator[Proof]:
    """Every node once."""
    seen, open_ = set[int](), [proof]
    while open_:
        node = open_.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            open_.extend(reversed(node.premises))


def _turned(node: Proof, against: Index, along: Index) -> Iterator[str]:
    """The conditions of a node that the change touched: an absent fact on the other side, an aggregate on any."""
    rule = node.rule
    if rule is None:
        return
    positive = [literal for literal in rule.body if isinstance(literal, Atom)]
    known: dict[str, Value] = {}
    for atom, values in ((rule.head, node.values), *((a, p.values) for a, p in zip(positive, node.premises))):
        known |= {term.name: value for term, value in zip(atom.terms, values) if isinstance(term, Variable)}
    others = [literal for literal in rule.body if not isinstance(literal, Atom)]
    for literal, told in zip(others, node.conditions):
        sides = (
            (against,) if isinstance(literal, Negation) else (against, along) if isinstance(literal, Aggregate) else ()
        )
        patterns = [Atom(one.relation, tuple(_filled(term, known) for term in one.terms)) for one, _ in atoms(literal)]
        if any(True for side in sides for pattern in patterns for _ in side.matching(pattern)):
            yield told


def _filled(term: Term, known: Mapping[str, Value]) -> Term:
    return Constant(known[term.name]) if isinstance(term, Variable) and term.name in known else term
