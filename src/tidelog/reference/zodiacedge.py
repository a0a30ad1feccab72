"""ZodiacEdge: reasoning by hyper-nodes, redone only where a change of rules or facts reaches.

Idea       : every hyper-node keeps what its own rules derive (its IDB) and reads the explicit facts and the IDBs of its
             predecessors (its EDB). A change makes some hyper-nodes directly impacted; the plan visits what they
             reach, in topological order, and stops where nothing has changed.
Source     : Xu, Cure 2023, Algorithms 1-4 and section 4.4.3. The graph's part (Algorithm 1 lines 1-4, Algorithms 2-4)
             is `analysis.hypergraph` and `analysis.rule_changes`; here are the facts.
Invariant  : the explicit facts and all IDBs together are the materialisation.
Cost       : a hyper-node is redone as a whole, unless all it meets is a new rule.
Departures : a change of explicit facts directly impacts the hyper-nodes that read their relations; successors are
             redone, not maintained by the paper's B/F variant, which it leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.analysis.components import relations_read
from tidelog.analysis.hypergraph import Hypergraph, HyperNode, hypergraph
from tidelog.analysis.rule_changes import RuleChange, delete_rules, execution_plan, insert_rules
from tidelog.language.terms import Program, Rule
from tidelog.reference.evaluation import Instance, driven, instances, positive_atoms, uniform
from tidelog.reference.facts import FactSet, GroundFact, Without
from tidelog.reference.recompute import Recompute

IDB = frozenset[GroundFact]


class ZodiacEdge(Recompute):
    """Recomputes hyper-nodes instead of strata, and only those that a change can reach."""

    def __init__(self, program: Program) -> None:
        self.graph: Hypergraph = hypergraph(())
        self.idbs: dict[frozenset[Rule], IDB] = {}
        self.plan: tuple[HyperNode, ...] = ()
        super().__init__(program)

    def remember(self) -> tuple[Hypergraph, dict[frozenset[Rule], IDB]]:
        """The HRDG and the IDBs of its hyper-nodes."""
        return self.graph, self.idbs

    def restore(self, bookkeeping: object) -> None:
        """Back to the remembered HRDG and IDBs."""
        assert isinstance(bookkeeping, tuple)
        self.graph, self.idbs = bookkeeping

    def _strata_in_order(
        self, delete: list[GroundFact], insert: list[GroundFact], after: tuple[Rule, ...]
    ) -> tuple[FactSet, FactSet]:
        """Hyper-nodes in order: the whole program is one graph, negation included."""
        change, fresh = self._impact({fact[0] for fact in (*delete, *insert)}, after)
        explicit = frozenset((*self._explicit, *insert))
        self.graph, self.idbs = change.graph, self._reason(change, fresh, explicit)
        wanted = FactSet(explicit.union(*self.idbs.values()))
        inserted = FactSet(fact for fact in wanted if fact not in self._facts)
        return inserted, FactSet(fact for fact in self._facts if fact not in wanted)

    def _impact(self, changed: set[str], after: tuple[Rule, ...]) -> tuple[RuleChange, frozenset[int]]:
        """The new HRDG with its DIHN, and those hyper-nodes that only met new rules (section 4.4.3, first case)."""
        deleted = delete_rules(self.graph, [rule for rule in self._rules if rule not in after])
        inserted = insert_rules(deleted.graph, after)
        redone = {rule for node in deleted.impacted for rule in deleted.graph.nodes[node].rules}
        redone |= {rule for rule in after if changed & set(relations_read(rule))}
        again = frozenset(
            position for position, node in enumerate(inserted.graph.nodes) if not redone.isdisjoint(node.rules)
        )
        return RuleChange(inserted.graph, inserted.impacted | again), inserted.impacted - again

    def _reason(self, change: RuleChange, fresh: frozenset[int], explicit: IDB) -> dict[frozenset[Rule], IDB]:
        """Algorithm 1 lines 5-10 along the plan of Algorithm 4; other hyper-nodes keep their IDBs."""
        graph, before = change.graph, self.idbs
        idbs = {frozenset(node.rules): before.get(frozenset(node.rules), frozenset()) for node in graph.nodes}
        dirty: set[int] = set()
        plan = execution_plan(change)
        self.plan = tuple(graph.nodes[position] for position in plan)
        for position in plan:  # line 6
            rules = frozenset(graph.nodes[position].rules)
            predecessors = {a for a, b in graph.positive | graph.negative if b == position and a != position}
            is_touched = not dirty.isdisjoint(predecessors)
            if position not in change.impacted and not is_touched:
                self.counters["skipped"] += 1
                continue
            edb = explicit.union(*(idbs[frozenset(graph.nodes[a].rules)] for a in predecessors))  # line 7
            old = frozenset[GroundFact]().union(*(idb for known, idb in before.items() if known & rules))
            if position in fresh and not is_touched:
                known = frozenset().union(*(node for node in before if node <= rules))
                idbs[rules] = self._extend(graph.nodes[position], edb, old, rules - known)
            else:
                idbs[rules] = self._extend(graph.nodes[position], edb, frozenset(), rules)  # line 8
            if idbs[rules] != old:
                dirty.add(position)
        return idbs

    def _extend(self, node: HyperNode, edb: IDB, idb: IDB, first: Iterable[Rule]) -> IDB:
        """Semi-naive evaluation over EDB u IDB: some rules first, then all rules on what is new."""
        self.counters["reasoned"] += 1
        present, derived = FactSet(edb | idb), set(idb)
        first = frozenset(first)
        found = [each for rule in node.rules if rule in first for each in _all(rule, present)]
        while found:
            self.counters["derivations"] += len(found)
            derived.update(each.head for each in found)
            new = FactSet(each.head for each in found if each.head not in present)
            present.update(new)
            found = [each for rule in node.rules for each in _round(rule, present, new)]
        return frozenset(derived)


def _all(rule: Rule, present: FactSet) -> list[Instance]:
    return list(instances(rule, uniform(rule, present, present)))


def _round(rule: Rule, present: FactSet, new: FactSet) -> list[Instance]:
    """`H <- B1^(I \\ N), ..., Bi^N, ..., Bn^I` for every i."""
    return [
        each
        for position in positive_atoms(rule)
        for each in instances(rule, driven(rule, position, Without(present, new), new, present, present))
    ]
