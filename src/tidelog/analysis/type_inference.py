"""The walk over a program that finds what determines the types of its columns.

What      : feeds declarations, rules and facts to unification.py: terms to the columns they stand in, functions,
            comparisons and aggregates to what they need and give.
Invariant : rules come before facts, so that a fact which does not fit the rules is the place that is reported.
Cost      : each term is looked at once.
Never     : no wording of contradictions (types.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.analysis.arities import arities
from tidelog.analysis.open_columns import Column, declared_open, filled, open_columns, open_variables
from tidelog.analysis.unification import NUMERIC, Evidence, Unification
from tidelog.errors import Place, Problem
from tidelog.language.printer import print_term
from tidelog.language.rdf_terms import RdfTerm
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Fact,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Variable,
)
from tidelog.language.values import kind

_BASE = {"number": "number", "unsigned": "number", "float": "float", "symbol": "symbol", "bool": "bool"}


class TypeInference:
    """The walk over one program."""

    def __init__(self, program: Program) -> None:
        self.unification = Unification()
        self.declaration_problems: list[Problem] = []
        self.arity = arities(program)
        self._open = open_columns(program)
        self.has_opened = not self._open <= declared_open(program)
        """Whether a column that is not declared as `any` is open: it may close again when a rule goes."""
        self._declared: dict[Column, str] = {}
        self._columns: dict[Column, int] = {}
        self._variables: dict[str, int] = {}
        self._calls: dict[int, int] = {}
        self._open_here: set[str] = set()
        self._negatives: dict[str, Constant] = {}
        self._place: Place | None = None
        for declaration in program.declarations:
            for index, (_, type_) in enumerate(declaration.columns):
                self._declare((declaration.relation, index), type_, declaration.place)
        for rule in program.rules:
            self._rule(rule)
        for fact in program.facts:
            self._fact(fact)
        self.unification.settle()

    @property
    def is_contradictory(self) -> bool:
        """Whether something does not agree."""
        return bool(self.unification.clashes or self.declaration_problems)

    def takes(self, rules: Iterable[Rule]) -> bool:
        """Go on with further rules, whose arities are known to agree; False if they open columns or do not agree.

        After False the whole program has to be walked again. A column that opens may have given its type to others,
        which must forget it; and of two types that contradict each other, the earlier one in the text is the right one.
        """
        for rule in rules:
            if any(column not in self._open and column not in self._declared for column in filled(rule, self._open)):
                return False
            self._rule(rule)
        self.unification.settle()
        return not self.is_contradictory

    def column_type(self, column: Column) -> str | None:
        """A column's type; declared types are given in the user's words."""
        if column in self._open:
            return "any"
        if column in self._declared:
            return self._declared[column]
        return self.unification.type_of(self._columns[column]) if column in self._columns else None

    def _declare(self, column: Column, type_: str, place: Place | None) -> None:
        base = _BASE.get(type_)
        if type_ != "any" and base is None:
            known = "number, unsigned, float, symbol, bool or any"
            self.declaration_problems.append(Problem("E109", f"there is no type {type_}", place, f"use {known}"))
        elif base is not None and column not in self._declared:
            self._declared[column] = type_
            self._columns[column] = self.unification.node(Evidence(base, place, f"{_name(column)} as declared"))

    def _rule(self, rule: Rule) -> None:
        self._variables, self._calls = {}, {}
        self._negatives = dict(_negatives(rule))
        self._open_here = open_variables(rule, self._open)
        self._place = rule.place
        for literal in rule.body:
            self._literal(literal)
        self._atom(rule.head)

    def _fact(self, fact: Fact) -> None:
        self._place, self._negatives = fact.place, {}
        for index, constant in enumerate(fact.values):
            if type(constant.value) is int and self._declared.get((fact.relation, index)) == "float":
                continue  # taken as the float that it is equal to, as every fact is
            self._fill((fact.relation, index), constant, len(fact.values))

    def _literal(self, literal: Literal) -> None:
        match literal:
            case Atom():
                self._atom(literal)
            case Negation(atom=atom):
                negatives, self._negatives = self._negatives, {}  # that a fact is missing is no reason to refuse a rule
                self._atom(atom)
                self._negatives = negatives
            case Comparison():
                self._comparison(literal)
            case Aggregate():
                self._aggregate(literal)

    def _atom(self, atom: Atom) -> None:
        for index, term in enumerate(atom.terms):
            self._fill((atom.relation, index), term, len(atom.terms))

    def _fill(self, column: Column, term: Term, arity: int) -> None:
        """A term stands in a column; those of a class or property, which an IRI names, hold values of any type."""
        if ":" in column[0]:
            return
        node = self._node(term)
        if column in self._open or self.arity[column[0]] != arity or node is None:
            return
        if column not in self._columns:
            self._columns[column] = self.unification.node()
        self.unification.unify(node, self._columns[column], _subject(term), _name(column), term.place or self._place)
        value = self._negatives.get(term.name, term) if isinstance(term, Variable) else term
        if self._declared.get(column) == "unsigned" and isinstance(value, Constant) and _is_negative(value):
            said = print_term(value) if value is term else f"{_subject(term)} is {print_term(value)}, which"
            sentence = f"{said} is negative but {_name(column)} is unsigned"
            place = term.place or self._place
            self.declaration_problems.append(Problem("E203", sentence, place, "declare the column as number"))

    def _comparison(self, comparison: Comparison) -> None:
        left, right = self._node(comparison.left), self._node(comparison.right)
        place = comparison.place or self._place
        context = f"the comparison with {print_term(comparison.right)}"
        if comparison.op.lstrip("!") in ("match", "contains"):
            for term in (comparison.left, comparison.right):
                self._need(term, "symbol", comparison.op.lstrip("!"), place)
        elif left is not None and right is not None:
            if comparison.op in ("=", "!="):
                self.unification.unify(left, right, _subject(comparison.left), context, place)
            else:
                self._ordered(left, right, comparison.left, comparison.right, place)

    def _ordered(self, left: int, right: int, a: Term, b: Term, place: Place | None) -> None:
        """Both sides have an order in common: numbers and floats, symbols, or bools."""

        def constraint() -> None:
            clashes = len(self.unification.clashes)
            for node, other, term, against in ((left, right, a, b), (right, left, b, a)):
                found = self.unification.evidence(other)
                if found is not None and len(self.unification.clashes) == clashes:
                    type_ = NUMERIC if found.type in ("number", "float") else found.type
                    needed = Evidence(type_, found.place, found.why)
                    context = f"the comparison with {print_term(against)}"
                    self.unification.require(node, needed, _subject(term), context, place)

        self.unification.watch([left, right], constraint)

    def _need(self, term: Term, type_: str, function: str, place: Place | None) -> None:
        node = self._node(term)
        if node is not None:
            evidence = Evidence(type_, place, f"what {function} needs")
            self.unification.require(node, evidence, _subject(term), function, term.place or place)

    def _aggregate(self, aggregate: Aggregate) -> None:
        for literal in aggregate.body:
            self._literal(literal)
        result, place = self._node(aggregate.result), aggregate.place or self._place
        if aggregate.function in ("sum", "mean", "median") and aggregate.value is not None:
            self._need(aggregate.value, NUMERIC, aggregate.function, place)
        if result is None:
            return
        if aggregate.function in ("min", "max", "sum"):
            value = None if aggregate.value is None else self._node(aggregate.value)
            if value is not None:
                self.unification.unify(result, value, _subject(aggregate.result), aggregate.function, place)
            return
        type_ = "number" if aggregate.function == "count" else "float"
        evidence = Evidence(type_, place, f"the result of {aggregate.function}")
        self.unification.require(result, evidence, _subject(aggregate.result), aggregate.function, place)

    def _node(self, term: Term) -> int | None:
        """The class of a term; None for a variable that may have any type."""
        match term:
            case Variable(name=name):
                if name in self._open_here:
                    return None
                if name not in self._variables:
                    self._variables[name] = self.unification.node()
                return self._variables[name]
            case Constant(value=RdfTerm()):
                return None
            case Constant(value=value):
                return self.unification.node(Evidence(kind(value), term.place or self._place, print_term(term)))
            case Call():
                if id(term) not in self._calls:
                    self._calls[id(term)] = self._call(term)
                return self._calls[id(term)]

    def _call(self, call: Call) -> int:
        place = call.place or self._place
        if call.function in ("cat", "strlen", "substr"):
            takes = ("symbol", "number", "number") if call.function == "substr" else ("symbol",) * len(call.arguments)
            for argument, type_ in zip(call.arguments, takes, strict=False):
                self._need(argument, type_, call.function, place)
            gives = "number" if call.function == "strlen" else "symbol"
            return self.unification.node(Evidence(gives, place, f"the result of {call.function}"))
        if call.function not in ("min", "max"):
            for argument in call.arguments:
                self._need(argument, NUMERIC, call.function, place)
        return self._numeric_result(call, place)

    def _numeric_result(self, call: Call, place: Place | None) -> int:
        """Of arithmetic: a float if an argument is one, a number if all are; of min and max: the common type."""
        nodes = [node for node in map(self._node, call.arguments) if node is not None]
        is_extreme = call.function in ("min", "max")
        why = f"the result of {call.function}"
        result = self.unification.node(None if is_extreme else Evidence(NUMERIC, place, why))
        if len(nodes) < len(call.arguments):
            return result
        if is_extreme:
            for node, argument in zip(nodes[1:], call.arguments[1:]):
                self._ordered(nodes[0], node, call.arguments[0], argument, place)

        def constraint() -> None:
            types = {self.unification.type_of(node) for node in nodes}
            common = types.pop() if len(types) == 1 else None
            if not is_extreme and "float" in types:
                common = "float"
            if common is not None:
                self.unification.require(result, Evidence(common, place, why), why, "its use", place)

        self.unification.watch(nodes, constraint)
        return result


def _name(column: Column) -> str:
    return f"column {column[1] + 1} of {column[0]}"


def _subject(term: Term) -> str:
    if isinstance(term, Variable):
        return "_" if term.is_anonymous else f"variable {term.name}"
    return print_term(term)


def _negatives(rule: Rule) -> Iterator[tuple[str, Constant]]:
    """The variables that a rule makes equal to a negative constant."""
    for literal in rule.body:
        match literal:
            case (
                Comparison(op="=", left=Variable(name=name), right=Constant() as constant)
                | Comparison(op="=", left=Constant() as constant, right=Variable(name=name))
            ) if _is_negative(constant):
                yield name, constant


def _is_negative(constant: Constant) -> bool:
    return isinstance(constant.value, int) and constant.value < 0
