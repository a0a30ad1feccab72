"""One rule as one SELECT.

What      : `select(rule)` joins the body's atoms, filters by its comparisons and negations, and computes the head.
Idea      : a variable stands for the expression that first bound it: a column, the other side of an `=`, or an
            aggregate's subquery. Later occurrences become equalities. A negated atom is NOT EXISTS, so its local
            variables are existential.
Invariant : facts are distinct, so that every row of a join is one substitution, and an aggregate over it counts each
            once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from tests.oracles.foreign import Inexpressible, spelled
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Literal,
    Negation,
    Rule,
    Term,
    Value,
    Variable,
    variables,
)

FUNCTIONS = {
    "+": "plus",
    "-": "minus",
    "*": "times",
    "/": "quotient",
    "%": "remainder",
    "^": "power",
    "neg": "negative",
    "abs": "size",
    "min": "lesser",
    "max": "greater",
    "cat": "joined",
    "strlen": "length_of",
    "substr": "part_of",
}
COMPARISONS = {
    "=": "{0} = {1}",
    "!=": "{0} <> {1}",
    "<": "less({0}, {1})",
    "<=": "less_or_equal({0}, {1})",
    ">": "less({1}, {0})",
    ">=": "less_or_equal({1}, {0})",
    "match": "matches({0}, {1})",
    "!match": "NOT matches({0}, {1})",
    "contains": "holds({0}, {1})",
    "!contains": "NOT holds({0}, {1})",
}


def columns(arity: int) -> list[str]:
    """The columns of a table; a relation without columns has one that says that its fact is there."""
    return [f"c{position}" for position in range(arity)] or ["present"]


def select(rule: Rule) -> str:
    """The query that gives the heads of a rule."""
    query = _Query(count())
    query.add_body(rule.body)
    head = [f"{query.text(term)} AS {column}" for term, column in zip(rule.head.terms, columns(len(rule.head.terms)))]
    return query.select(head or ["TRUE AS present"])


def literal_text(value: Value) -> str:
    """A constant as SQL text, with the letter of its type."""
    match value:
        case bool():
            shown = f"b{str(value).lower()}"
        case int():
            shown = f"i{value}"
        case float():
            return f"('f' || (CAST('{value!r}' AS DOUBLE)::VARCHAR))"
        case _:
            shown = f"s{value}"
    return "'" + shown.replace("'", "''") + "'"


@dataclass
class _Query:
    """A query under construction; an aggregate's or a negation's inner query knows the outer bindings."""

    numbers: count[int]
    bound: dict[str, str] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    def add_body(self, body: tuple[Literal, ...]) -> None:
        """Atoms first, then whatever is ready, until all is said."""
        for literal in body:
            if isinstance(literal, Atom):
                self._atom(literal)
        waiting = [literal for literal in body if not isinstance(literal, Atom)]
        waiting.sort(key=lambda literal: isinstance(literal, Negation))
        while waiting:
            ready = next((literal for literal in waiting if self._add(literal)), None)
            if ready is None:
                raise Inexpressible("the order of evaluation is not found")
            waiting.remove(ready)

    def select(self, expressions: list[str]) -> str:
        """The text of the query."""
        source = f" FROM {', '.join(self.tables)}" if self.tables else ""
        where = f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
        return f"SELECT {', '.join(expressions)}{source}{where}"

    def text(self, term: Term) -> str:
        """The expression of a term whose variables are bound."""
        match term:
            case Variable(name=name):
                return self.bound[name]
            case Constant(value=value):
                return literal_text(value)
            case Call(function=function, arguments=arguments):
                return f"{FUNCTIONS[function]}({', '.join(map(self.text, arguments))})"

    def _atom(self, atom: Atom) -> None:
        alias = f"t{next(self.numbers)}"
        self.tables.append(f"r_{spelled(atom.relation)} AS {alias}")
        cells = [(term, f"{alias}.c{position}") for position, term in enumerate(atom.terms)]
        for term, cell in sorted(cells, key=lambda pair: isinstance(pair[0], Call)):
            if isinstance(term, Variable) and term.name not in self.bound:
                self.bound[term.name] = cell
            else:
                self.conditions.append(f"{cell} = {self.text(term)}")

    def _add(self, literal: Literal) -> bool:
        """Say a literal if all that it needs is bound."""
        match literal:
            case Comparison():
                return self._comparison(literal)
            case Aggregate():
                return self._aggregate(literal)
            case Negation(atom=atom):
                inner = _Query(self.numbers, dict(self.bound))
                inner._atom(atom)
                self.conditions.append(f"NOT EXISTS ({inner.select(['1'])})")
                return True
            case Atom():
                raise TypeError("atoms are said first")

    def _comparison(self, literal: Comparison) -> bool:
        left, right = literal.left, literal.right
        open_left, open_right = not self._is_bound(left), not self._is_bound(right)
        if literal.op == "=" and isinstance(left, Variable) and open_left and not open_right:
            self.bound[left.name] = self.text(right)
        elif literal.op == "=" and isinstance(right, Variable) and open_right and not open_left:
            self.bound[right.name] = self.text(left)
        elif open_left or open_right:
            return False
        else:
            self.conditions.append(COMPARISONS[literal.op].format(self.text(left), self.text(right)))
        return True

    def _aggregate(self, literal: Aggregate) -> bool:
        inner = _Query(self.numbers, dict(self.bound))
        inner.add_body(literal.body)
        member = "'i1'" if literal.value is None else inner.text(literal.value)
        result = f"({inner.select([f'agg_{literal.function}({member})'])})"
        if isinstance(literal.result, Variable) and literal.result.name not in self.bound:
            self.bound[literal.result.name] = result
            self.conditions.append(f"{result} IS NOT NULL")
        elif self._is_bound(literal.result):
            self.conditions.append(f"{result} = {self.text(literal.result)}")
        else:
            return False
        return True

    def _is_bound(self, term: Term) -> bool:
        return all(variable.name in self.bound for variable in variables(term))
