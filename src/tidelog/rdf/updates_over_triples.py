"""Updates of an engine that holds a graph as triples.

What      : `update_over_triples` gives an update that names classes and properties in the words of `triple`.
Idea      : facts and rules of an update are read as those of the program are (user_rules.py). What the rules about data
            types have to know of inserted literals (datatypes.py) is added.
Invariant : an update means the same whether it says `ub:Chair(x)` or `triple(x, rdf:type, ub:Chair)`. What is known of
            a literal stays when a triple with it goes.
Never     : nothing is applied here.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.changes.update import Facts, Update
from tidelog.language.parser import parse
from tidelog.language.printer import print_program
from tidelog.rdf.datatypes import literal_facts
from tidelog.rdf.layouts import is_statement, triples_of
from tidelog.rdf.quads import of_triples
from tidelog.rdf.rule_table import TRIPLE
from tidelog.rdf.user_rules import over_triples, removed_over_triples


def update_over_triples(update: Update, reasoning: str) -> Update:
    """The same update over `triple`, for an engine that reasons as asked."""
    added = print_program(over_triples(parse(update.add_rules))) if update.add_rules.strip() else ""
    insert, delete = _over_triples(update.insert), _over_triples(update.delete)
    if reasoning == "owl-rl" and TRIPLE in insert:
        known = literal_facts(of_triples([(s, p, o) for s, p, o in insert[TRIPLE]]), everything=False)  # type: ignore[attr-defined]
        insert = {**insert, **known}
    return Update.of(insert, delete, added, tuple(removed_over_triples(update.remove_rules)))


def _over_triples(facts: Facts) -> Mapping[str, object]:
    """Facts with those of classes and properties as triples."""
    if not any(is_statement(name) and name != TRIPLE for name in facts):
        return facts
    own = {name: table for name, table in facts.items() if not is_statement(name)}
    found = [triple for name, table in facts.items() if is_statement(name) for triple in triples_of(name, table)]
    return {**own, TRIPLE: found}
