"""Short names for the hidden relations of aggregates and rewrites.

What      : `short_names` gives every hidden relation among some a word and a number; `renamed` writes
            a literal with these names; `in_words` says in a few words what one relation holds.
Idea      : the name of a hidden relation is its definition, so that equal aggregates share one. People who read plans,
            pictures and the names of jobs want the word.
Invariant : no short name is the name of another relation; the same relations in the same order get the same names.
Never     : nothing is looked up by a short name.

    @count/1: `@`(v0, v1) :- p(v0, v1).      is called      count1      and holds      results of count
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tidelog.language.renaming import fresh
from tidelog.language.terms import Atom, Literal, Negation
from tidelog.planning.lowered import LACKING_PREFIX, MEMBERS_PREFIX, UNDEFINED_PREFIX, is_hidden, is_of_rewrites


def short_names(relations: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """Hidden relation -> its short name; names in `taken` are somebody else's."""
    names: dict[str, str] = {}
    used = set(taken)
    for relation in relations:
        if is_hidden(relation) and relation not in names:
            names[relation] = fresh(_word(relation), used, 1)
    return names


def renamed(literal: Literal, names: Mapping[str, str]) -> Literal:
    """The literal with short names where it has hidden relations."""
    match literal:
        case Atom(relation=relation):
            return replace(literal, relation=names.get(relation, relation))
        case Negation(atom=atom):
            return replace(literal, atom=replace(atom, relation=names.get(atom.relation, atom.relation)))
        case _:
            return literal


def in_words(relation: str) -> str:
    """What people call a relation: its name, or what a hidden one holds."""
    if not is_hidden(relation):
        return relation
    if is_of_rewrites(relation):
        return "prefixes of rules"
    if relation.startswith(UNDEFINED_PREFIX):
        return "missing values"
    if relation.startswith(MEMBERS_PREFIX):
        return f"members of {_function(relation, MEMBERS_PREFIX)}"
    if relation.startswith(LACKING_PREFIX):
        return f"groups without {_function(relation, LACKING_PREFIX)}"
    return f"results of {_function(relation, '@')}"


def _function(relation: str, prefix: str) -> str:
    return relation.removeprefix(prefix).partition("/")[0]


def _word(relation: str) -> str:
    if is_of_rewrites(relation):
        return "prefix"
    if relation.startswith(MEMBERS_PREFIX):
        return "members"
    return "without" if relation.startswith(LACKING_PREFIX) else _function(relation, "@")
