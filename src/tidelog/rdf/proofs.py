"""Proofs in the words of the graph.

What      : `GraphProof` shows an engine's proof as triples, with the rule of the W3C's table and the axioms' triples.
Idea      : a compiled rule is known by name, and the ontology's compiler remembers which triples it comes from.
Invariant : every axiom that is shown was given; every other line is a triple of the graph.
Never     : no search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.language.printer import print_fact
from tidelog.language.rdf_terms import IRI
from tidelog.language.terms import Value
from tidelog.provenance.proof import Proof
from tidelog.rdf.axioms import Compiled
from tidelog.rdf.layouts import is_statement, triple_of
from tidelog.rdf.quads import Triple
from tidelog.rdf.vocabulary import shortened


@dataclass(frozen=True)
class GraphProof:
    """Why a triple is there. `proof` is the engine's own."""

    proof: Proof
    compiled: Mapping[str, Compiled] = field(repr=False)

    @property
    def axioms(self) -> list[Triple]:
        """The explicit triples of the axioms that the proof uses."""
        found: dict[Triple, None] = {}
        waiting, seen = [self.proof], set[int]()
        while waiting:
            node = waiting.pop()
            if id(node) not in seen:
                seen.add(id(node))
                found |= dict.fromkeys(self._axioms(node))
                waiting.extend(node.premises)
        return list(found)

    def __str__(self) -> str:
        shown: set[tuple[str, tuple[Value, ...]]] = set()
        written: list[str] = []
        waiting: list[tuple[int, Proof | Triple]] = [(0, self.proof)]
        while waiting:
            depth, node = waiting.pop()
            indent = "  " * depth
            if isinstance(node, tuple):
                written.append(f"{indent}{show(node)}  is an axiom")
                continue
            fact, key = self._fact(node), (node.relation, node.values)
            if node.rule is None:
                written.append(f"{indent}{fact}  is explicit")
            elif key in shown:
                written.append(f"{indent}{fact}  as above")
            else:
                shown.add(key)
                written.append(f"{indent}{fact}  by {_rule_name(node)}")
                below: list[Proof | Triple] = [*self._axioms(node), *node.premises]
                waiting.extend((depth + 1, one) for one in reversed(below))
        return "\n".join(written)

    def _axioms(self, node: Proof) -> tuple[Triple, ...]:
        name = None if node.rule is None else node.rule.name
        return self.compiled[name].axioms if name is not None and name in self.compiled else ()

    @staticmethod
    def _fact(node: Proof) -> str:
        if is_statement(node.relation):
            return show(triple_of(node.relation, node.values))
        return print_fact(node.relation, node.values)


def show(triple: Triple) -> str:
    """A triple for people."""
    return " ".join(shortened(term.value) if isinstance(term, IRI) else _plain(term) for term in triple)


def _plain(term: Value) -> str:
    return f'"{term}"' if isinstance(term, str) else str(term)


def _rule_name(node: Proof) -> str:
    name = node.rule.name if node.rule is not None else None
    if name is None:
        from tidelog.language.printer import print_rule

        return print_rule(node.rule.as_written) if node.rule is not None else ""
    return name.partition("(")[0].strip()
