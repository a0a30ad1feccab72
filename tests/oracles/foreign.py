"""What foreign engines answer, and what they cannot say.

An oracle raises `Inexpressible` with the reason when a program uses something that the engine behind it has not. The
test lists such programs; a program that turns out to be expressible after all must leave the list.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from tidelog.language.terms import Aggregate, Call, Comparison, Constant, Literal, Negation, Program, Term, atoms

Model = set[tuple[str, tuple[Hashable, ...]]]
"""Facts by relation and typed identity (tidelog.language.values.fact_identity)."""


class Inexpressible(Exception):  # noqa: N818 - it is an answer, not a failure
    """The engine has no words for this part of the program."""


def literals(program: Program) -> Iterator[Literal]:
    """Every literal of every rule, those inside aggregates included."""
    waiting: list[Literal] = [literal for rule in program.rules for literal in (rule.head, *rule.body)]
    while waiting:
        literal = waiting.pop()
        yield literal
        if isinstance(literal, Aggregate):
            waiting.extend(literal.body)


def terms(literal: Literal) -> Iterator[Term]:
    """Every term of a literal outermost first; those of an aggregate's body belong to the literals in it."""
    match literal:
        case Comparison(left=left, right=right):
            waiting: list[Term] = [left, right]
        case Aggregate(result=result, value=value):
            waiting = [result, *([] if value is None else [value])]
        case Negation(atom=atom):
            waiting = list(atom.terms)
        case _:
            waiting = list(literal.terms)
    while waiting:
        term = waiting.pop()
        yield term
        if isinstance(term, Call):
            waiting.extend(term.arguments)


def constants(program: Program) -> Iterator[Constant]:
    """Every constant of a program, facts included."""
    for fact in program.facts:
        yield from fact.values
    for literal in literals(program):
        yield from (term for term in terms(literal) if isinstance(term, Constant))


def relations(program: Program) -> set[str]:
    """The name of every relation that occurs."""
    used = {atom.relation for rule in program.rules for part in (rule.head, *rule.body) for atom, _ in atoms(part)}
    return used | {fact.relation for fact in program.facts}


def spelled(name: str) -> str:
    """A name in ASCII letters, digits and underscores; different names stay different."""
    return "".join(letter if letter.isalnum() and letter.isascii() else f"_{ord(letter):x}_" for letter in name)


def dependencies(program: Program) -> dict[str, set[str]]:
    """For every relation with rules, the relations that it is derived from, directly or not."""
    found: dict[str, set[str]] = {}
    for rule in program.rules:
        read = {atom.relation for part in rule.body for atom, _ in atoms(part)}
        found.setdefault(rule.head.relation, set()).update(read)
    for _ in found:
        for read in found.values():
            read.update(*(found.get(relation, set()) for relation in list(read)))
    return found
