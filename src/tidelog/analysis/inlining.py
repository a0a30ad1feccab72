"""A program without its inline relations.

What      : `inlined` gives the rules that are evaluated: those of a program, with the rules of inline relations in the
            place of their atoms; `problems` says which relations cannot be inline.
Idea      : an inline relation is a macro, as in Souffle. It is expanded here, once, when a program is checked; whatever
            comes later (stages, strategies, questions, proofs) sees rules without inline relations and knows of none.
            The program itself keeps the rules as they were written.
Invariant : every rule that is evaluated knows the rule as it was written (`Rule.written`). A rule whose expansion does
            not change stays the same object from one program to the next. Without inline relations nothing is made.
Never     : no facts, and no atom is replaced here (unfolding.py).

Codes: E213 an inline relation that depends on itself; E214 one with facts or files; E216 too many rules without inline
relations; E202 a variable that only the head of an inline rule has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tidelog.analysis.arities import arities
from tidelog.analysis.components import components
from tidelog.analysis.unfolding import MOST_RULES, TooManyError, Unfolded, Unfolding
from tidelog.errors import Problem, ProgramError
from tidelog.language.terms import Directed, Program, Rule, atoms, variables

BLOCKING = frozenset({"E201", "E202", "E207", "E210", "E213"})
"""With these mistakes of the written program nothing can be put in the place of inline atoms."""


@dataclass(frozen=True, slots=True)
class Inlined:
    """The rules of a program without its inline relations, in the order of the written ones."""

    written: tuple[Rule, ...]
    made: tuple[tuple[Unfolded, ...], ...]
    """For each written rule what it becomes; nothing for those of inline relations."""
    problems: tuple[Problem, ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are evaluated."""
        return tuple(one.rule for some in self.made for one in some)

    @property
    def changed(self) -> tuple[Unfolded, ...]:
        """The rules that are not as they were written."""
        return tuple(one for some in self.made for one in some if one.used)


def inline_relations(program: Program) -> frozenset[str]:
    """The relations that are declared inline."""
    return frozenset(one.relation for one in program.declarations if one.is_inline)


def inline_part(program: Program) -> Program:
    """The inline relations of a program with their rules: what a question or a single rule needs of it."""
    names = inline_relations(program)
    if not names:
        return Program()
    rules = tuple(rule for rule in program.rules if rule.head.relation in names)
    return Program(rules, (), tuple(one for one in program.declarations if one.is_inline))


def inlined_of(program: Program) -> Inlined | None:
    """The rules that are evaluated, of a checked program; None if it has no inline relations."""
    return inlined(program) if inline_relations(program) else None


def evaluated_rules(program: Program) -> tuple[Rule, ...]:
    """The rules that are evaluated; of a program whose inline relations are wrong, the rules as they are."""
    try:
        found = None if any(True for _ in problems(program)) else inlined_of(program)
    except ProgramError:
        return program.rules
    return program.rules if found is None else found.rules


def untouched(program: Program) -> tuple[Rule, ...]:
    """The rules that use no inline relation and derive none."""
    names = inline_relations(program)
    return tuple(
        rule
        for rule in program.rules
        if rule.head.relation not in names
        and names.isdisjoint(atom.relation for literal in rule.body for atom, _ in atoms(literal))
    )


def problems(program: Program) -> Iterator[Problem]:
    """What is wrong with inline relations by themselves."""
    names = inline_relations(program)
    if not names:
        return
    yield from _stored(program, names)
    own = tuple(rule for rule in program.rules if rule.head.relation in names)
    for rule in own:
        yield from _unused_variables(rule)
    for component in components(own):
        if component.is_recursive:
            among = component.relations
            first = next(rule for rule in own if rule.head.relation in among)
            cycle = " -> ".join(_cycle(first.head.relation, component.rules))
            sentence = f"{first.head.relation} is inline and depends on itself: {cycle}"
            yield Problem("E213", sentence, first.place, f"leave out inline in the declaration of {_one_of(among)}")


def inlined(program: Program, before: Inlined | None = None) -> Inlined:
    """The rules that are evaluated, for a program without the problems above; `before` are those of an earlier one."""
    names = inline_relations(program)
    definitions: dict[str, list[Rule]] = {name: [] for name in names}
    for rule in program.rules:
        if rule.head.relation in names:
            definitions[rule.head.relation].append(rule)

    @cache
    def rules_of(relation: str) -> Sequence[Rule] | None:
        own = definitions.get(relation)
        return None if own is None else [one.rule for rule in own for one in unfolding.unfolded(rule)]

    unfolding, known = Unfolding(rules_of, is_typed(program)), _by_rule(before)
    made: list[tuple[Unfolded, ...]] = []
    try:
        for component in components(_in_use(program, definitions)):
            for name in component.relations & names:  # what others use comes first, so that none waits for a long chain
                rules_of(name)
        for rule in program.rules:
            found = () if rule.head.relation in names else unfolding.unfolded(rule)
            made.append(_same_objects(found, known.get(id(rule), ())))
    except TooManyError as error:
        sentence = f"without inline relations the program has more than {MOST_RULES:,} rules, or very long or deep ones"
        remedy = "leave out inline in the declaration of a relation with several rules"
        raise ProgramError.of("E216", sentence, place=error.rule.place, remedy=remedy) from None
    return Inlined(program.rules, tuple(made), tuple(dict.fromkeys(unfolding.problems)))


def is_typed(program: Program) -> bool:
    """Whether every relation is declared, and no column is open: then no comparison meets values without an order."""
    declared = {one.relation for one in program.declarations}
    kinds = (kind for one in program.declarations for _, kind in one.columns)
    return arities(program).keys() <= declared and "any" not in kinds


def explained(one: Unfolded, problem: Problem) -> Problem:
    """A problem of a rule that is not as it was written, which names the inline relations in it."""
    if not one.used:
        return problem
    names = ", ".join(sorted({rule.head.relation for rule in one.used}))
    rules = ((rule.place, f"{rule.head.relation} is inline, by this rule") for rule in one.used)
    related = tuple((place, note) for place, note in rules if place is not None)
    return replace(
        problem,
        sentence=f"{problem.sentence} (with the rules of {names} in its place)",
        place=problem.place or one.rule.place,
        related=(*problem.related, *dict.fromkeys(related)),
    )


def _in_use(program: Program, definitions: Mapping[str, Sequence[Rule]]) -> tuple[Rule, ...]:
    """The inline rules that rules which are evaluated come to: the others cost nothing, and nothing is wrong with them
    until a question uses them.
    """
    found: dict[str, None] = {}
    left = [rule for rule in program.rules if rule.head.relation not in definitions]
    while left:
        read = {atom.relation for literal in left.pop().body for atom, _ in atoms(literal)}
        for name in sorted((read & definitions.keys()) - found.keys()):
            found[name] = None
            left.extend(definitions[name])
    return tuple(rule for name in found for rule in definitions[name])


def _by_rule(before: Inlined | None) -> dict[int, tuple[Unfolded, ...]]:
    return {} if before is None else dict(zip(map(id, before.written), before.made))


def _same_objects(new: tuple[Unfolded, ...], old: tuple[Unfolded, ...]) -> tuple[Unfolded, ...]:
    """The new expansions of a rule; those that it had before are the same objects."""
    before = {one.rule: one.rule for one in old}
    return tuple(Unfolded(before.get(one.rule, one.rule), one.used) for one in new)


def _stored(program: Program, names: frozenset[str]) -> Iterator[Problem]:
    """Inline relations with facts or files."""
    remedy = "leave out inline in its declaration"
    for fact in program.facts:
        if fact.relation in names:
            sentence = f"{fact.relation} is inline, and an inline relation has no facts"
            yield Problem("E214", sentence, fact.place, f"write it as a rule: ... :- true., or {remedy}")
    for word, directives in (("input", program.inputs), ("output", program.outputs)):
        for pair in directives:
            if pair[0] in names:
                place = pair.place if isinstance(pair, Directed) else None
                sentence = f"{pair[0]} is inline, and .{word} asks for its facts, which are not stored"
                yield Problem("E214", sentence, place, remedy)


def _unused_variables(rule: Rule) -> Iterator[Problem]:
    """Variables of an inline head that would vanish from the rules that use it."""
    head = list(variables(rule.head))
    body = {variable for literal in rule.body for variable in variables(literal)}
    for variable in head:
        if variable not in body and head.count(variable) == 1:
            name = "_" if variable.is_anonymous else variable.name
            sentence = f"variable {name} occurs in the head of the inline relation {rule.head.relation} only"
            yield Problem("E202", sentence, variable.place or rule.place, f"let {name} occur in the body")


def _cycle(start: str, rules: Sequence[Rule]) -> list[str]:
    """A shortest way from a relation to itself, by what the rules read."""
    reads: dict[str, list[str]] = {}
    for rule in rules:
        found = (atom.relation for literal in rule.body for atom, _ in atoms(literal))
        reads.setdefault(rule.head.relation, []).extend(found)
    ways, seen = [[start]], set[str]()
    while True:
        further = []
        for way in ways:
            for relation in reads.get(way[-1], ()):
                if relation == start:
                    return [*way, start]
                if relation not in seen:
                    seen.add(relation)
                    further.append([*way, relation])
        ways = further


def _one_of(relations: frozenset[str]) -> str:
    return next(iter(relations)) if len(relations) == 1 else f"one of {', '.join(sorted(relations))}"
