"""The rules that a graph's axioms mean, while axioms come and go.

What      : `Reasoner`: an ontology, the relations that facts mention, and the rules that follow from both.
Idea      : axioms that come and go give another reasoner. The rules that only one of two reasoners has are what an
            update adds and removes.
Invariant : a reasoner never changes, so an update that fails leaves the one before it in force.
Never     : no facts but axioms, and nothing is applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidelog.language.terms import Program, Rule
from tidelog.rdf.axioms import Compiled, Ontology, compiled
from tidelog.rdf.layouts import BeyondRulesError
from tidelog.rdf.quads import Triple

MANY_AXIOMS = 3_000
"""With more axioms they are kept as facts: a rule costs a quarter of a millisecond, a fact less than a microsecond."""


@dataclass(frozen=True, slots=True)
class Reasoner:
    """What a graph in the layout `rules` knows of its vocabulary."""

    reasoning: str
    ontology: Ontology = field(default_factory=Ontology)
    mentioned: Mapping[str, int] = field(default_factory=dict)
    """The relations that triples or rules have named so far, with their columns."""
    compiled: Mapping[str, Compiled] = field(default_factory=dict)

    def after(
        self, come: Iterable[Triple], gone: Iterable[Triple], named: Mapping[str, int], own: Program, most: int | None
    ) -> Reasoner:
        """The reasoner when axioms have come and gone and facts have named relations; `own` are the user's rules.

        Raises BeyondRulesError if the general rules are needed, or if there are more than `most` axioms.
        """
        come, gone = list(come), list(gone)
        both = next((name for name, arity in named.items() if self.mentioned.get(name, arity) != arity), None)
        if both is not None:
            raise BeyondRulesError(f"{both} is a class and a property")
        more = {name: arity for name, arity in named.items() if name not in self.mentioned}
        if not (come or gone or more):
            return self
        ontology = self.ontology.changed(come, gone) if come or gone else self.ontology
        if most is not None and ontology.size > most:
            raise BeyondRulesError(f"there are more than {most} axioms")
        derived = {rule.head.relation: len(rule.head.terms) for rule in own.rules}
        mentioned = {**derived, **self.mentioned, **more}
        rules = compiled(ontology, self.reasoning, mentioned) if self.reasoning != "none" else {}
        return Reasoner(self.reasoning, ontology, mentioned, rules)

    def rules_since(self, before: Reasoner) -> tuple[list[Rule], tuple[str, ...]]:
        """The rules that `before` lacks, and the names of those that it has and this one lacks."""
        if self is before:
            return [], ()
        known = before.compiled
        same = {name for name, one in self.compiled.items() if name in known and known[name].rule == one.rule}
        added = [one.rule for name, one in self.compiled.items() if name not in same]
        return added, tuple(name for name in known if name not in same)
