"""Random update streams.

What      : `draw_case(seed)` draws a world, a program and a stream of updates to it.
Idea      : each update is drawn from a handful of kinds, one per promise that an engine may break: delete, insert,
            both, re-insert, delete what is absent, insert what is present, delete and insert the same fact, add and
            remove rules, rules and facts at once, and rules that must be refused.
Invariant : same seed, same case, on every machine. Added rules keep the world's layers, so the program stays
            stratified.
Never     : no engine under test is asked what to do next.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.differential.case import Case, State, Update, Values, key
from tests.differential.programs import RuleMaker, draw_program
from tests.differential.schema import Schema, World, draw_fact, draw_world
from tidelog.language.printer import canonical_text, rule_key
from tidelog.language.terms import Atom, Negation, Program, Rule, Variable

Facts = tuple[tuple[str, Values], ...]


def draw_case(seed: int) -> Case:
    """The case of a seed."""
    rng = Random(seed)
    world = draw_world(rng)
    program = draw_program(rng, world)
    return Case(program, UpdateMaker(rng, world, program).stream(rng.randint(2, 6)), seed)


class UpdateMaker:
    """Draws updates one after the other, following the state that they lead to."""

    def __init__(self, rng: Random, world: World, program: Program) -> None:
        self.rng, self.world = rng, world
        self.state = State.of(program)
        self.gone: list[tuple[str, Values]] = []
        self.retired: list[Rule] = []
        self.added = 0
        self.kinds: dict[Callable[[], Update], int] = {
            self.delete: 8,
            self.insert: 3,
            self.exchange: 4,
            self.reinsert: 2,
            self.idle: 1,
            self.delete_and_insert_same: 1,
            self.add_rule: 2,
            self.remove_rule: 2,
            self.rules_and_facts: 2,
            self.refused: 1,
        }

    def stream(self, length: int) -> tuple[Update, ...]:
        """So many updates."""
        return tuple(self._next() for _ in range(length))

    def _next(self) -> Update:
        update = self.rng.choices(list(self.kinds), list(self.kinds.values()))[0]()
        if not update.refused:
            self.gone.extend(update.delete)
            removed = set(update.remove_rules)
            self.retired.extend(rule for rule in self.state.rules if rule_key(rule) in removed)
        self.state = self.state.after(update)
        return update

    def delete(self) -> Update:
        """Delete one to three explicit facts; the same one may be named twice, which counts once."""
        return Update(delete=self._present(self.rng.choices((1, 2, 3), (6, 3, 1))[0]))

    def insert(self) -> Update:
        """Insert one to three facts, sometimes of a derived relation."""
        return Update(insert=self._drawn(self.rng.randint(1, 3)))

    def exchange(self) -> Update:
        """Delete and insert in one update."""
        return Update(delete=self._present(self.rng.randint(1, 2)), insert=self._drawn(self.rng.randint(1, 2)))

    def reinsert(self) -> Update:
        """Bring back facts that were deleted before."""
        if not self.gone:
            return self.delete()
        return Update(insert=tuple(self.rng.sample(self.gone, min(2, len(self.gone)))))

    def idle(self) -> Update:
        """Delete what is absent, insert what is present (twice): nothing may happen, least of all a ghost."""
        present = self._present(1)
        return Update(delete=self._absent(), insert=present + present)

    def delete_and_insert_same(self) -> Update:
        """Delete and insert the same facts, one present and one not; afterwards both are there."""
        facts = self._present(1) + self._drawn(1)
        return Update(delete=facts, insert=facts)

    def add_rule(self) -> Update:
        """Add a new rule, or one that was removed before."""
        if self.retired and self.rng.random() < 0.5:
            rule = self.retired.pop(self.rng.randrange(len(self.retired)))
        else:
            head = self.rng.choice(self.world.at_least(0 if self.world.is_recursive else 1))
            recursive = head.layer == 0 or self.rng.random() < 0.4
            drawn = RuleMaker(self.rng, self.world).rule(head, recursive=recursive)
            self.added += 1
            rule = Rule(drawn.head, drawn.body, f"added{self.added}" if self.rng.random() < 0.6 else None)
        present = {canonical_text(known) for known in self.state.rules}
        return self.delete() if canonical_text(rule) in present else Update(add_rules=(rule,))

    def remove_rule(self) -> Update:
        """Remove a rule of the present program."""
        if not self.state.rules:
            return self.add_rule()
        return Update(remove_rules=(rule_key(self.rng.choice(self.state.rules)),))

    def rules_and_facts(self) -> Update:
        """Facts and rules, in and out, in one update."""
        rules, facts = self.rng.choice((self.add_rule, self.remove_rule))(), self.exchange()
        return Update(facts.insert, facts.delete, rules.add_rules, rules.remove_rules)

    def refused(self) -> Update:
        """A rule that is unsafe or that closes a cycle through negation, with facts beside it that must not go in."""
        head = self.rng.choice([schema for schema in self.world.relations if schema.kinds])
        if self.rng.random() < 0.5:
            rule = Rule(Atom(head.name, _variables("z", head)), (Atom("e", (Variable("x"), Variable("y"))),))
        else:
            positive = Atom(head.name, _variables("x", head))
            rule = Rule(positive, (positive, Negation(Atom(head.name, tuple(reversed(positive.terms))))))
        return Update(insert=self._drawn(1), add_rules=(rule,), refused="ProgramError")

    def _present(self, count: int) -> Facts:
        """Explicit facts of the state; those that rules read are drawn more often, because more depends on them."""
        facts = [(relation, values) for (relation, _), values in self.state.facts.items()]
        read = {atom.relation for rule in self.state.rules for atom in rule.body if isinstance(atom, Atom)}
        weights = [9 if relation == "e" else 4 if relation in read else 1 for relation, _ in facts]
        return tuple(self.rng.choices(facts, weights, k=count)) if facts else ()

    def _drawn(self, count: int) -> Facts:
        base, derived = self.world.at(0), self.world.relations
        schemas = [self.rng.choice(base if self.rng.random() < 0.8 else derived) for _ in range(count)]
        return tuple((schema.name, draw_fact(self.rng, schema)) for schema in schemas)

    def _absent(self) -> Facts:
        drawn = self._drawn(3)
        return tuple(fact for fact in drawn if key(*fact) not in self.state.facts)


def _variables(letter: str, schema: Schema) -> tuple[Variable, ...]:
    return tuple(Variable(f"{letter}{index}") for index in range(len(schema.kinds)))
