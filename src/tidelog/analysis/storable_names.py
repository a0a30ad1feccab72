"""Can every name and every constant be stored?

What      : names that no relation, rule or column can have (E211): empty ones, those that begin with @, and texts that
            are not valid Unicode, which no constant can be either.
Idea      : any other text may be a name, because names are never code, paths or queries. Those with @ are our own,
            and a rule that derived facts of one would write into them.
Never     : facts that come as values are looked at where they come in (changes/names.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.analysis.arities import mentions
from tidelog.errors import Place, Problem
from tidelog.language.rdf_terms import RdfTerm
from tidelog.language.terms import Constant, Program, Rule, constants
from tidelog.language.values import is_unicode

_REMEDY = "remove the lone surrogates"
QUESTION = "@query"
"""The head of the rule that a question is turned into: ours, never written in a text and never stored."""


def of_rules(rules: Iterable[Rule]) -> Iterator[Problem]:
    """Names in rules that cannot be stored."""
    for rule in rules:
        for relation, _, place in mentions(rule):
            if place is not None or relation != QUESTION:
                yield from _relation(relation, place)
        if rule.name is not None and not is_unicode(rule.name):
            yield _no_unicode("rule", rule.place)
        for part in (rule.head, *rule.body):
            yield from _constants(constants(part), rule.place)


def of_directives(program: Program) -> Iterator[Problem]:
    """Names in declarations and facts that cannot be stored."""
    for declaration in program.declarations:
        yield from _relation(declaration.relation, declaration.place)
        if not all(is_unicode(name) for name, _ in declaration.columns):
            yield _no_unicode("column", declaration.place)
    for fact in program.facts:
        yield from _relation(fact.relation, fact.place)
        yield from _constants(fact.values, fact.place)


def _relation(name: str, place: Place | None) -> Iterator[Problem]:
    if not name or name.startswith("@"):
        what = f"relation names must not begin with @: {name}" if name else "a relation needs a name"
        yield Problem("E211", what, place, "choose another name")
    elif not is_unicode(name):
        yield _no_unicode("relation", place)


def _constants(found: Iterable[Constant], place: Place | None) -> Iterator[Problem]:
    for constant in found:
        value = constant.value
        text = value.text if isinstance(value, RdfTerm) else value
        if isinstance(text, str) and not text.isascii() and not is_unicode(text):
            yield Problem("E211", "a string is not valid Unicode", constant.place or place, _REMEDY)


def _no_unicode(what: str, place: Place | None) -> Problem:
    return Problem("E211", f"the name of this {what} is not valid Unicode", place, _REMEDY)
