"""Programs as answer set programs, solved by clingo.

What      : `model(program)` translates rules and facts, lets clingo ground and solve, and reads the one answer set
            back.
Idea      : a stratified program has exactly one answer set, its model. Relations are called `r_...`, variables
            `V...`; whole numbers and strings are clingo's own, floats and bools become opaque terms that equal only
            themselves.
Invariant : nothing of Tidelog's analysis or evaluation is used; only the program's terms.
Never     : floats are not computed with, nor strings taken apart: clingo has no such functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import clingo

from tests.oracles.foreign import Inexpressible, Model, constants, literals, relations, spelled, terms
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Value,
    Variable,
    variables,
)
from tidelog.language.values import fact_identity

FUNCTIONS = {
    "+": "({}+{})",
    "-": "({}-{})",
    "*": "({}*{})",
    "/": "({}/{})",
    "%": "({}\\{})",
    "^": "({}**{})",
    "neg": "(-{})",
    "abs": "|{}|",
}
AGGREGATES = {"count": "#count", "sum": "#sum", "min": "#min", "max": "#max"}
SMALLEST, LARGEST = -(2**31), 2**31 - 1


def model(program: Program) -> Model:
    """The program's model as clingo sees it."""
    _refuse_computed_floats(program)
    control = clingo.Control(["--warn=none"])
    control.add("base", [], "\n".join(_statements(program)))
    control.ground([("base", [])])
    names = {f"r_{spelled(name)}": name for name in relations(program)}
    found: list[Model] = []
    control.solve(on_model=lambda answer: found.append(_read(answer.symbols(atoms=True), names)))
    if len(found) != 1:
        raise AssertionError(f"clingo finds {len(found)} answer sets for a stratified program")
    return found[0]


def _refuse_computed_floats(program: Program) -> None:
    """Floats and bools are opaque to clingo; where anything is ordered or computed they would be ordered as terms."""
    if all(type(constant.value) in (int, str) for constant in constants(program)):
        return
    for literal in literals(program):
        ordered = isinstance(literal, Comparison) and literal.op not in ("=", "!=")
        aggregated = isinstance(literal, Aggregate) and literal.function != "count"
        if ordered or aggregated or any(isinstance(term, Call) for term in terms(literal)):
            raise Inexpressible("clingo can neither order floats nor compute with them")


def _statements(program: Program) -> Iterator[str]:
    for fact in program.facts:
        yield f"{_relation(fact.relation, [_constant(constant.value) for constant in fact.values])}."
    for number, rule in enumerate(program.rules):
        yield from _Translation(rule, number).statements()


class _Translation:
    """The translation of one rule; negations with local variables become relations of their own."""

    def __init__(self, rule: Rule, number: int) -> None:
        self.rule, self.number = rule, number
        self.projections: list[str] = []

    def statements(self) -> Iterator[str]:
        outside = list(variables(self.rule.head))
        body = self._body(self.rule.body, outside)
        yield f"{_atom(self.rule.head)} :- {', '.join(body) or '#true'}."
        yield from self.projections

    def _body(self, body: tuple[Literal, ...], outside: Iterable[Variable]) -> list[str]:
        parts: list[str] = []
        for literal in body:
            others = [other for other in body if other is not literal]
            shared = {*outside, *(variable for other in others for variable in variables(other))}
            parts.extend(self._literal(literal, shared))
        return parts

    def _literal(self, literal: Literal, shared: set[Variable]) -> Iterator[str]:
        match literal:
            case Atom():
                yield _atom(literal)
            case Negation(atom=atom):
                yield self._negation(atom, shared)
            case Comparison(op=op) if op.lstrip("!") in ("match", "contains"):
                raise Inexpressible("clingo cannot look into strings")
            case Comparison(op=op, left=left, right=right):
                yield f"{_term(left)} {op} {_term(right)}"
            case Aggregate():
                yield from self._aggregate(literal, shared)

    def _negation(self, atom: Atom, shared: set[Variable]) -> str:
        """`not` over a projection to the shared variables, which keeps the local ones existential."""
        kept = sorted({variable.name for variable in variables(atom) if variable in shared})
        name = f"hidden_{self.number}_{len(self.projections)}"
        projected = f"{name}({','.join(map(_variable, kept))})" if kept else name
        self.projections.append(f"{projected} :- {_atom(atom)}.")
        return f"not {projected}"

    def _aggregate(self, literal: Aggregate, shared: set[Variable]) -> Iterator[str]:
        if literal.function not in AGGREGATES:
            raise Inexpressible(f"clingo has no {literal.function}")
        bound = [variable for part in literal.body if not isinstance(part, Negation) for variable in variables(part)]
        local = sorted({_variable(variable.name) for variable in bound if variable not in shared})
        members = [*([] if literal.value is None else [_term(literal.value)]), *local] or ["0"]
        body = ", ".join(self._body(literal.body, shared))
        result = _term(literal.result)
        yield f"{result} = {AGGREGATES[literal.function]} {{ {','.join(members)} : {body} }}"
        if literal.function in ("min", "max"):
            yield f"{result} != #sup"
            yield f"{result} != #inf"


def _atom(atom: Atom) -> str:
    return _relation(atom.relation, [_term(term) for term in atom.terms])


def _relation(name: str, arguments: list[str]) -> str:
    return f"r_{spelled(name)}({','.join(arguments)})" if arguments else f"r_{spelled(name)}"


def _term(term: Term) -> str:
    match term:
        case Variable(name=name):
            return _variable(name)
        case Constant(value=value):
            return _constant(value)
        case Call(function=function, arguments=arguments):
            return _call(function, arguments)


def _call(function: str, arguments: tuple[Term, ...]) -> str:
    if function not in FUNCTIONS:
        raise Inexpressible(f"clingo has no function {function}")
    return FUNCTIONS[function].format(*map(_term, arguments))


def _variable(name: str) -> str:
    return f"V{spelled(name)}"


def _constant(value: Value) -> str:
    if isinstance(value, bool | float):
        return f'{type(value).__name__}("{value!r}")'
    if isinstance(value, int):
        if not SMALLEST <= value <= LARGEST:
            raise Inexpressible("clingo's numbers have 32 bits")
        return str(value)
    return str(clingo.String(value))


def _read(symbols: Iterable[clingo.Symbol], names: dict[str, str]) -> Model:
    return {
        (names[symbol.name], fact_identity([_value(argument) for argument in symbol.arguments]))
        for symbol in symbols
        if symbol.name in names
    }


def _value(symbol: clingo.Symbol) -> Value:
    if symbol.type is clingo.SymbolType.Number:
        return symbol.number
    if symbol.type is clingo.SymbolType.String:
        return symbol.string
    text = symbol.arguments[0].string
    return text == "True" if symbol.name == "bool" else float(text)
