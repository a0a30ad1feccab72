"""Facts as lines of subject, predicate and object.

What      : `<a> <p> <b> .` is the fact p("a", "b"); `<a> <p> 25 .` is p("a", 25); `<a> <rdf:type> <C> .` is C("a").
Idea      : one line, one fact, one regular expression.
Invariant : every line is a fact, a comment or blank; all others are reported together.
Never     : this is no RDF reader: prefixes, blank nodes, language tags and foreign data types are refused, because they
            would lose what distinguishes them. (The sources of a pipeline read N-Triples: pipeline/sources/triples.py.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidelog.errors import Place, Problem
from tidelog.language.lexemes import read_number, read_string
from tidelog.language.reader import raise_if_any
from tidelog.language.term_reductions import MAX_PROBLEMS
from tidelog.language.terms import Constant, Fact, Value

_TYPE = frozenset({"rdf:type", "a", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"})
_NODE = r"""<[^<>\s"]*> | "(?:[^"\\]|\\.)*"(?:\^\^<[^<>\s]*>)? | [+-]?[0-9][0-9.eE+-]* | true | false | [\w:-]+"""
_LINE = re.compile(rf"\s*({_NODE})\s+({_NODE})\s+({_NODE})\s*\.\s*(?:\#.*)?", re.VERBOSE)
_NUMBER = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_TYPED = re.compile(r'("(?:[^"\\]|\\.)*")(?:\^\^<(?:http://www\.w3\.org/2001/XMLSchema\#|xsd:)?(\w+)>)?', re.VERBOSE)
_INTEGERS = frozenset({"integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"})
_FLOATS = frozenset({"double", "float", "decimal"})


def read_triples(text: str, source: str) -> tuple[Fact, ...]:
    """The facts of all lines; raises ProgramError with every line that is not a fact."""
    problems: list[Problem] = []
    facts = tuple(_facts(text, source, problems))
    raise_if_any(problems)
    return facts


def _facts(text: str, source: str, problems: list[Problem]) -> Iterator[Fact]:
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        place = Place(source, number, len(line) - len(line.lstrip()) + 1, line.rstrip() if len(line) <= 400 else None)
        match = _LINE.fullmatch(line.rstrip())
        try:
            if match is None:
                raise ValueError("this line is no fact")
            yield _fact(match[1], match[2], match[3], place)
        except (ValueError, OverflowError) as error:
            problems.append(Problem("E119", str(error), place, "write <a> <p> <b> . or <a> <p> 25 ."))
            if len(problems) >= MAX_PROBLEMS:
                return


def _fact(subject: str, predicate: str, target: str, place: Place) -> Fact:
    relation = predicate[1:-1] if predicate.startswith("<") else predicate
    first = Constant(_value(subject), place)
    if relation in _TYPE:
        kind = _value(target)
        if not isinstance(kind, str):
            raise ValueError(f"{target} is no class")
        return Fact(kind, (first,), place)
    return Fact(relation, (first, Constant(_value(target), place)), place)


def _value(node: str) -> Value:
    if node.startswith("<"):
        return node[1:-1]
    if node in ("true", "false"):
        return node == "true"
    if number := _NUMBER.fullmatch(node):
        return read_number(number[2], negative=number[1] == "-")
    if typed := _TYPED.fullmatch(node):
        return _typed_value(read_string(typed[1]), typed[2] or "string")
    if node[0] in '"+-' or node[0].isdigit():
        raise ValueError(f"{node[:40]} is no value")
    return node


def _typed_value(text: str, kind: str) -> Value:
    if kind == "string":
        return text
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    number = _NUMBER.fullmatch(text)
    if number and kind in _INTEGERS and number[2].isdigit():
        return read_number(number[2], negative=number[1] == "-")
    if number and kind in _FLOATS:
        return float(read_number(number[2], negative=number[1] == "-"))
    raise ValueError(f'"{text[:40]}" with type {kind} has no value here')
