"""Which columns may hold values of any type?

What      : columns declared `any`, undeclared columns whose facts in the program have several types, and undeclared
            columns that rules fill from such columns only.
Idea      : a variable is open when every positive atom that binds it reads it from an open column. Openness spreads
            from bodies to heads; a rule is looked at again when a relation that it reads has opened further.
Invariant : a column that is declared with another type is never open.
Never     : no conflicts (types.py): an open column agrees with everything.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.analysis.components import relations_read
from tidelog.language.terms import Atom, Program, Rule, Variable
from tidelog.language.values import kind

Column = tuple[str, int]


def open_columns(program: Program) -> set[Column]:
    """The columns, as relation and 0-based index, that may hold values of any type."""
    declared = _declared(program)
    found = declared_open(program) | set(_mixed(program)) - declared.keys()
    if not found:
        return found
    readers: dict[str, list[Rule]] = {}
    for rule in program.rules:
        for relation in relations_read(rule):
            readers.setdefault(relation, []).append(rule)
    frontier = sorted({relation for relation, _ in found})
    for relation in frontier:
        for rule in readers.get(relation, ()):
            opened = set(filled(rule, found)) - declared.keys() - found
            found |= opened
            frontier.extend({head for head, _ in opened})
    return found


def declared_open(program: Program) -> set[Column]:
    """The columns that are declared with type `any`."""
    return {column for column, type_ in _declared(program).items() if type_ == "any"}


def open_variables(rule: Rule, found: set[Column]) -> set[str]:
    """The variables of a rule that are bound through open columns only."""
    if not found:
        return set()
    is_open: dict[str, bool] = {}
    for atom in rule.body:
        if isinstance(atom, Atom):
            for index, term in enumerate(atom.terms):
                if isinstance(term, Variable):
                    is_open[term.name] = is_open.get(term.name, True) and (atom.relation, index) in found
    return {name for name, flag in is_open.items() if flag}


def filled(rule: Rule, found: set[Column]) -> Iterator[Column]:
    """The columns of a rule's head that it fills from open columns only."""
    names = open_variables(rule, found)
    for index, term in enumerate(rule.head.terms):
        if isinstance(term, Variable) and term.name in names:
            yield rule.head.relation, index


def _declared(program: Program) -> dict[Column, str]:
    return {(d.relation, i): type_ for d in program.declarations for i, (_, type_) in enumerate(d.columns)}


def _mixed(program: Program) -> Iterator[Column]:
    """Columns in which the program's own facts have values of several types."""
    first: dict[Column, str] = {}
    for fact in program.facts:
        for index, constant in enumerate(fact.values):
            if first.setdefault((fact.relation, index), kind(constant.value)) != kind(constant.value):
                yield fact.relation, index
