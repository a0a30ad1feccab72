"""What all reference algorithms have in common: a program, its facts, and `apply`.

What      : an `Algorithm` keeps rules, explicit facts and the materialisation; a subclass says in `maintain` how one
            stratum follows an update.
Idea      : an update is made net (deletions first, then insertions), the strata of the new rules are taken in order,
            and each hands its net change upwards (stratified.py).
Invariant : after `apply` the facts equal recomputation, and the returned change is the difference to before; if `apply`
            raises, nothing has changed.
Never     : no algorithm here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.analysis.components import strata
from tidelog.analysis.stratification import problems
from tidelog.errors import ProgramError
from tidelog.language.printer import canonical_text, rule_key
from tidelog.language.terms import Atom, Program, Rule
from tidelog.reference.evaluation import Instance, instances, uniform
from tidelog.reference.facts import FactSet, GroundFact, JournaledFactSet, to_fact
from tidelog.reference.stratified import Step

Change = tuple[frozenset[GroundFact], frozenset[GroundFact]]


@dataclass(frozen=True)
class Update:
    """Facts deleted (E-) and inserted (E+), rules removed and added."""

    insert: tuple[GroundFact, ...] = ()
    delete: tuple[GroundFact, ...] = ()
    add_rules: tuple[Rule, ...] = ()
    remove_rules: tuple[Rule | str, ...] = ()


class Algorithm(ABC):
    """A maintained materialisation. `counters` sum over all updates since the program was loaded."""

    handles_recursion = True
    looks_ahead = False

    def __init__(self, program: Program) -> None:
        self._rules: tuple[Rule, ...] = ()
        self._explicit = FactSet()
        self._facts = JournaledFactSet()
        self._inserting = FactSet()
        self._considered: set[tuple[object, ...]] = set()
        self.counters: Counter[str] = Counter()
        facts = [to_fact(fact.relation, [constant.value for constant in fact.values]) for fact in program.facts]
        self.apply(facts, (), program.rules)
        self.counters.clear()

    @property
    def facts(self) -> frozenset[GroundFact]:
        """The materialisation, explicit facts included."""
        return frozenset(self._facts)

    @property
    def explicit(self) -> frozenset[GroundFact]:
        """The explicit facts."""
        return frozenset(self._explicit)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The present rules."""
        return self._rules

    def apply(
        self,
        insert: Iterable[GroundFact] = (),
        delete: Iterable[GroundFact] = (),
        add_rules: Iterable[Rule] = (),
        remove_rules: Iterable[Rule | str] = (),
    ) -> Change:
        """Process one update; returns the facts inserted and deleted, net."""
        inserting = dict.fromkeys(insert)
        deleting = [fact for fact in dict.fromkeys(delete) if fact in self._explicit and fact not in inserting]
        new = [fact for fact in inserting if fact not in self._explicit]
        after = changed_rules(self._rules, add_rules, remove_rules)
        self.refuse(after)
        self._considered.clear()
        self._inserting = FactSet(new)
        bookkeeping = self.remember()
        self._explicit.difference_update(deleting)
        try:
            inserted, deleted = self._strata_in_order(deleting, new, after)
        except BaseException:
            self._facts.rollback()
            self._explicit.update(deleting)
            self.restore(bookkeeping)
            raise
        self._facts.update(inserted)
        self._facts.difference_update(deleted)
        self._facts.commit()
        self._explicit.update(new)
        self._rules = after
        self.finish()
        return frozenset(inserted), frozenset(deleted)

    def refuse(self, rules: tuple[Rule, ...]) -> None:
        """Raise if the algorithm cannot maintain these rules."""
        found = list(problems(Program(rules=rules), allows_optima=False))
        if found:
            raise ProgramError(found)

    @abstractmethod
    def maintain(self, step: Step) -> None:
        """Change `step.present` from the materialisation before the update into the one after it, for one stratum."""

    def finish(self) -> None:
        """Called when an update has taken effect."""
        return

    def remember(self) -> object:
        """What the algorithm keeps beside facts and rules, for `restore`."""
        return None

    def restore(self, bookkeeping: object) -> None:
        """Go back to what `remember` gave, because an update is refused."""
        assert bookkeeping is None

    def consider(self, phase: str, instance: Instance, group: str | None = None) -> None:
        """Count a derivation; one that the same group of phases has already considered in this update is `repeated`."""
        self.counters[phase] += 1
        key = (group or phase, id(instance.rule), instance.substitution)
        if key in self._considered:
            self.counters["repeated"] += 1
        self._considered.add(key)

    def _strata_in_order(
        self, delete: list[GroundFact], insert: list[GroundFact], after: tuple[Rule, ...]
    ) -> tuple[FactSet, FactSet]:
        """The net change: first of the relations that no rule derives, then stratum by stratum."""
        levels = strata(after)
        inserted, deleted = self._underived(delete, insert, after)
        known = {*self._facts.relations(), *inserted.relations(), *levels}
        for level in range(max(levels.values(), default=-1) + 1):
            rules = [rule for rule in after if levels[rule.head.relation] == level]
            read = {literal.relation for rule in rules for literal in rule.body if isinstance(literal, Atom)}
            own = frozenset(relation for relation in levels if levels[relation] == level)
            step = Step(
                level=level,
                present=self._facts,
                explicit=self._explicit,
                delete=[fact for fact in deleted if fact[0] in read] + [fact for fact in delete if fact[0] in own],
                insert=[fact for fact in inserted if fact[0] in read] + [fact for fact in insert if fact[0] in own],
                own=own,
                below=frozenset(relation for relation in known if levels.get(relation, -1) < level),
                kept=tuple(rule for rule in rules if rule in self._rules),
                added=tuple(rule for rule in rules if rule not in self._rules),
                removed=tuple(rule for rule in self._rules if rule not in after and rule.head.relation in own),
                inserted_below=inserted,
                deleted_below=deleted,
            )
            self.maintain(step)
            up, down = self._facts.changes()
            self._facts.rollback()
            inserted.update(fact for fact in up if fact[0] in own)
            deleted.update(fact for fact in down if fact[0] in own)
        return inserted, deleted

    def _underived(
        self, delete: list[GroundFact], insert: list[GroundFact], after: tuple[Rule, ...]
    ) -> tuple[FactSet, FactSet]:
        """The net change of relations that no rule derives (any more): there only explicit facts hold."""
        heads = {rule.head.relation for rule in after}
        gone = [fact for fact in delete if fact[0] not in heads]
        for rule in self._rules:
            if rule.head.relation not in heads:
                gone += [each.head for each in instances(rule, uniform(rule, self._facts, self._facts))]
        inserting = set(insert)
        return (
            FactSet(fact for fact in insert if fact[0] not in heads and fact not in self._facts),
            FactSet(fact for fact in gone if fact not in self._explicit and fact not in inserting),
        )


def changed_rules(
    rules: tuple[Rule, ...], add_rules: Iterable[Rule], remove_rules: Iterable[Rule | str]
) -> tuple[Rule, ...]:
    """The rules after an update: removals first, by rule, name or canonical text; a known rule is not added twice."""
    kept = {rule_key(rule): rule for rule in rules}
    for gone in remove_rules:
        if isinstance(gone, Rule):
            kept.pop(rule_key(gone), None)
        else:
            kept = {key: rule for key, rule in kept.items() if gone not in (key, canonical_text(rule))}
    for rule in add_rules:
        kept.setdefault(rule_key(rule), rule)
    return tuple(kept.values())
