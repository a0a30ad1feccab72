"""How many columns has each relation?

What      : the arity of every relation, and every use that disagrees with it (E201, both places).
Idea      : a declaration decides; without one, the first use in the text does.
Invariant : every relation that the program mentions has an arity.
Never     : no types (types.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tidelog.errors import Place, Problem, ProgramError
from tidelog.language.terms import Program, Rule, atoms


def arities(program: Program) -> dict[str, int]:
    """The arity of each relation."""
    return {relation: arity for relation, (arity, _) in _decided(program).items()}


def problems(program: Program) -> Iterator[Problem]:
    """Uses with another number of columns (E201) and relations declared twice (E207)."""
    yield from _declared_twice(program)
    decided = _decided(program)
    for relation, arity, place in _uses(program):
        expected, first = decided[relation]
        if arity != expected:
            yield Problem(
                "E201",
                f"{relation} has {_columns(arity)} here but {_columns(expected)} elsewhere",
                place,
                f"give {relation} the same number of columns everywhere",
                ((first, f"{relation} has {_columns(expected)} here"),) if first else (),
            )


def agree(program: Program, stored: Callable[[str], int | None], fresh: Sequence[Rule] | None = None) -> None:
    """Raise E201 for rules and declarations whose number of columns differs from that of the stored facts.

    Facts are checked against the rules when they come in. So if the new rules are known (`fresh`), only they are asked.
    """
    new = None if fresh is None else (use for rule in fresh for use in mentions(rule))
    if new is not None and all(stored(relation) in (None, arity) for relation, arity, _ in new):
        return
    found = []
    for relation, (arity, place) in _decided(program).items():
        known = stored(relation)
        if known is not None and known != arity:
            sentence = f"{relation} has {_columns(arity)} here but its facts have {_columns(known)}"
            remedy = f"delete the facts of {relation}, and the rules that derive them, in an update before this one"
            found.append(Problem("E201", sentence, place, remedy))
    if found:
        raise ProgramError(found)


def mentions(rule: Rule) -> Iterator[tuple[str, int, Place | None]]:
    """Every mention of a relation in a rule, with its number of columns and its place."""
    yield rule.head.relation, len(rule.head.terms), rule.head.place or rule.place
    for literal in rule.body:
        for atom, _ in atoms(literal):
            yield atom.relation, len(atom.terms), atom.place or rule.place


def _declared_twice(program: Program) -> Iterator[Problem]:
    first: dict[str, Place | None] = {}
    for declaration in program.declarations:
        relation = declaration.relation
        if relation in first:
            before = first[relation]
            related = ((before, "the first declaration"),) if before else ()
            yield Problem("E207", f"{relation} is declared twice", declaration.place, "keep one declaration", related)
        first.setdefault(relation, declaration.place)


def _decided(program: Program) -> dict[str, tuple[int, Place | None]]:
    decided: dict[str, tuple[int, Place | None]] = {}
    for relation, arity, place in _uses(program):
        decided.setdefault(relation, (arity, place))
    return decided


def _uses(program: Program) -> Iterator[tuple[str, int, Place | None]]:
    """Every mention of a relation, declarations first, then in the order of the text."""
    for declaration in program.declarations:
        yield declaration.relation, len(declaration.columns), declaration.place
    yield from sorted(_mentions(program), key=lambda use: (use[2].line, use[2].column) if use[2] else (0, 0))


def _mentions(program: Program) -> Iterator[tuple[str, int, Place | None]]:
    for rule in program.rules:
        yield from mentions(rule)
    for fact in program.facts:
        yield fact.relation, len(fact.values), fact.place


def _columns(arity: int) -> str:
    return "1 column" if arity == 1 else f"{arity} columns"
