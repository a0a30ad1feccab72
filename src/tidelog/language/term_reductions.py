"""Reductions of the grammar that build terms.

What      : Lark calls one method per reduction, bottom-up and left to right; here are those for terms and names.
Idea      : no tree is ever built and nothing recurs, so the depth of the text cannot overflow a stack. An expression
            stays what it looks like (`Applied`, `Numeral`, `Aggregated`) until its surroundings need a term or a
            literal.
Invariant : a mistake is recorded with its place and reading goes on with a stand-in; a program with recorded problems
            is never handed out. Terms are nested at most `MAX_DEPTH` deep.
Never     : no literals or statements (see literal_reductions.py, builder.py) and no questions about meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from tidelog.errors import Place, Problem
from tidelog.language.lexemes import AGGREGATE_WORDS, read_number, read_string
from tidelog.language.nodes import Aggregated, Applied, Name, Node, Numeral
from tidelog.language.prefixes import Prefixes
from tidelog.language.rdf_terms import IRI, BlankNode
from tidelog.language.rdf_terms import Literal as RdfLiteral
from tidelog.language.rdf_values import canonical
from tidelog.language.terms import Aggregate, Call, Constant, Literal, Term, Value, Variable, variables

if TYPE_CHECKING:
    from lark import Token

MAX_DEPTH = 200
MAX_PROBLEMS = 100
FUNCTIONS = {"abs": (1, 1), "strlen": (1, 1), "substr": (3, 3), "min": (2, None), "max": (2, None), "cat": (2, None)}
FRESH = "aggregate:"
"""How the names of variables begin that are made for aggregates; no user can write them."""

ALGEBRAIC = "encode the branch in a column of its own"
"""What to do instead of an algebraic data type."""

_FLAT: tuple[int, object] = (0, None)

Deepened = TypeVar("Deepened")
Origin = Callable[[int], tuple[str, int]]
"""The file and the line in it for a line of a text."""


class TermReductions:
    """The state of reading one text, and the reductions for terms."""

    source: str
    lines: list[str]
    origin: Origin | None = None
    """Where a line of the text comes from, if it was put together from several files."""
    problems: list[Problem]
    notes: list[Problem]
    parameters: Mapping[str, Value] | None
    prefixes: Prefixes

    def end_statement(self) -> None:
        """Forget what belongs to the statement that ends here."""
        self.anonymous_count = 0
        self.made: dict[str, Aggregate] = {}
        self._depths: dict[int, tuple[int, object]] = {}
        self._is_hopeless = False

    def place(self, token: Token) -> Place:
        """Where a token stands."""
        return self.place_at(token.line or 1, token.column or 1)

    def place_at(self, line: int, column: int) -> Place:
        """A place with its line's text, unless that is too long to show."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        source, number = self.origin(line) if self.origin is not None else (self.source, line)
        return Place(source, number, column, text.rstrip("\r") if len(text) <= 400 else None)

    def refuse(self, code: str, sentence: str, place: Place | None, remedy: str | None = None) -> None:
        """Record a problem, unless the statement is already given up."""
        if len(self.problems) < MAX_PROBLEMS and not self._is_hopeless:
            self.problems.append(Problem(code, sentence, place, remedy))

    def note(self, sentence: str, place: Place | None, remedy: str) -> None:
        """Note what is read and not obeyed (W101)."""
        self.notes.append(Problem("W101", sentence, place, remedy))

    def give_up(self, code: str, sentence: str, place: Place | None, remedy: str) -> None:
        """Record a problem after which others in the same statement would only be its echoes."""
        self.refuse(code, sentence, place, remedy)
        self._is_hopeless = True

    def variable(self, children: list[Token]) -> Variable:
        """A named variable, with or without a question mark."""
        token = children[0]
        place = self.place(token)
        name = str(token)
        if name[0] == "?":
            name = self.text_of(name[1:], place) if name[1] == "`" else name[1:]
            if name.startswith(("_:", FRESH)):
                self.refuse("E103", f"{name} is no name for a variable", place, "choose a name without a colon")
        return Variable(name, place)

    def anonymous(self, children: list[Token]) -> Variable:
        """`_`: a variable of its own."""
        self.anonymous_count += 1
        return Variable(f"_:{self.anonymous_count - 1}", self.place(children[0]))

    def parameter(self, children: list[Token]) -> Constant:
        """`$name`: a value that is given beside a question; a program has none."""
        place, name = self.place(children[0]), str(children[0])[1:]
        if self.parameters is None:
            self.refuse("E110", "not supported: algebraic data types and counters ($)", place, ALGEBRAIC)
        elif name in self.parameters:
            return Constant(self.parameters[name], place)
        else:
            self.refuse("E120", f"the parameter ${name} has no value", place, f'give one: {{"{name}": ...}}')
        return Constant(0, place)

    def number(self, children: list[Token]) -> Numeral:
        """A number; its sign is not known yet."""
        return Numeral(str(children[0]), self.place(children[0]))

    def string(self, children: list[Token]) -> Constant:
        """A quoted string."""
        place = self.place(children[0])
        return Constant(self.text_of(str(children[0]), place), place)

    def resource(self, children: list[Token]) -> Constant:
        """An IRI in brackets, or a name whose prefix is declared."""
        return Constant(self._iri(children[0]), self.place(children[0]))

    def _iri(self, token: Token) -> IRI:
        text = str(token)
        return IRI(text[1:-1] if text[0] == "<" else self.prefixes.expanded(text))

    def resource_term(self, children: list[Constant]) -> Constant:
        """An IRI among the terms."""
        return children[0]

    def blank(self, children: list[Token]) -> Constant:
        """A blank node, under the label that it has in the graph."""
        return Constant(BlankNode(str(children[0])[2:]), self.place(children[0]))

    def tagged(self, children: list[Token]) -> Constant:
        """A string with a language."""
        place = self.place(children[0])
        return Constant(RdfLiteral(self.text_of(str(children[0]), place), language=str(children[1])[1:]), place)

    def typed(self, children: list[Any]) -> Constant:
        """A literal with a data type, in its canonical form."""
        place = self.place(children[0])
        datatype: IRI = children[1].value
        return Constant(canonical(self.text_of(str(children[0]), place), datatype.value), place)

    def boolean(self, children: list[Token]) -> Constant:
        """`true` or `false`."""
        return Constant(children[0] == "true", self.place(children[0]))

    def minus(self, children: list[Any]) -> Term:
        """A negative number, or `neg` of a term."""
        token, operand = children
        if isinstance(operand, Numeral):
            return self._number(operand, negative=True, place=self.place(token))
        return self._call("neg", (self.as_term(operand),), self.place(token))

    def arithmetic(self, children: list[Any]) -> Term:
        """`left op right`, for every infix operator."""
        left, operator, right = children
        first = self.as_term(left)
        return self._call(str(operator), (first, self.as_term(right)), first.place)

    def group(self, children: list[Node]) -> Node:
        """Parentheses: the same node, one level deeper."""
        node = children[0]
        if isinstance(node, Numeral):
            node = self._number(node)
        return self.deepen(node, 1 + self.depth_of((node,)), node.place)

    def name(self, children: list[Token]) -> Name:
        """A name, in back-quotes or not."""
        token = children[0]
        place = self.place(token)
        if token.type == "QUOTED":
            return Name(self.text_of(str(token), place), True, place)
        if token.type in ("IRI", "PREFIXED"):
            return Name(self._iri(token).value, True, place)
        return Name(str(token), False, place)

    def application(self, children: list[Any]) -> Applied:
        """`name(terms)`."""
        first, *nodes = children
        name = first if isinstance(first, Name) else self.name([first])
        terms = tuple(self.as_term(node) for node in nodes)
        applied = Applied(name, terms)
        self.note_depth(applied, self.depth_of(terms))
        return applied

    def text_of(self, spelled: str, place: Place) -> str:
        """What a quoted string or name means."""
        try:
            return read_string(spelled)
        except (ValueError, OverflowError) as error:
            self.refuse("E103", f"unknown escape {error} in a string", place, r"write \\ for a backslash")
            return spelled

    def as_term(self, node: Node) -> Term:
        """The node where only a term may stand."""
        match node:
            case Variable() | Constant() | Call():
                return node
            case Numeral():
                return self._number(node)
            case Applied():
                return self._applied_term(node)
            case Aggregated():
                return self._aggregated_term(node)
        self.refuse(
            "E106",
            "a term is expected here, not an atom, comparison or list",
            node.place,
            "name its result in the body",
        )
        return Constant(0, node.place)

    def _applied_term(self, node: Applied) -> Term:
        word, place = node.name.text, node.place
        if node.name.is_quoted or word not in FUNCTIONS:
            known = ", ".join(sorted(FUNCTIONS))
            remedy = f"functions are {known} and + - * / % ^"
            if word in AGGREGATE_WORDS:
                remedy = f"an aggregate says over what: {word}{'' if word == 'count' else ' y'} : {{ p(x, y) }}"
            self.refuse("E107", f"there is no function {word}", place, remedy)
            return Constant(0, place)
        least, most = FUNCTIONS[word]
        if len(node.terms) < least or (most is not None and len(node.terms) > most):
            wanted = f"{least}" if most is not None else f"at least {least}"
            remedy = f"give it {wanted}"
            if word in AGGREGATE_WORDS and len(node.terms) == 1:
                remedy += f"; as an aggregate it says over what: {word} y : {{ p(x, y) }}"
            self.refuse("E107", f"{word} has {len(node.terms)} arguments here", place, remedy)
            return Constant(0, place)
        return self._call(word, node.terms, place)

    def _aggregated_term(self, node: Aggregated) -> Term:
        """A new variable for the aggregate's result; the literal that binds it waits in `made`."""
        variable = Variable(f"{FRESH}{len(self.made)}", node.place)
        self.note_depth(variable, self.depth_of((node,)))
        self.made[variable.name] = Aggregate(variable, node.function, node.value, node.body, node.place)
        return variable

    def made_for(self, *terms: Term) -> tuple[Literal, ...]:
        """The aggregates whose results occur in the terms; they belong to the same conjunction as the terms."""
        if not self.made:
            return ()
        names = (variable.name for term in terms for variable in variables(term))
        return tuple(self.made[name] for name in names if name in self.made)

    def _call(self, function: str, arguments: tuple[Term, ...], place: Place | None) -> Term:
        return self.deepen(Call(function, arguments, place), 1 + self.depth_of(arguments), place)

    def note_depth(self, node: object, depth: int) -> None:
        """Note how deeply a node is nested; the note keeps the node alive, so that no other gets its identity."""
        if depth:
            self._depths[id(node)] = depth, node

    def depth_of(self, nodes: Iterable[object]) -> int:
        """How deeply the deepest of the nodes is nested."""
        if not self._depths:
            return 0
        return max((self._depths.get(id(node), _FLAT)[0] for node in nodes), default=0)

    def deepen(self, node: Deepened, depth: int, place: Place | None) -> Deepened | Constant:
        """Note how deeply a node is nested; past the limit a stand-in takes its place, the statement is given up."""
        if depth <= MAX_DEPTH:
            self.note_depth(node, depth)
            return node
        remedy = "compute parts of it in rules of their own"
        self.give_up("E105", f"nested more than {MAX_DEPTH} levels deep", place, remedy)
        return Constant(0, place)

    def _number(self, node: Numeral, *, negative: bool = False, place: Place | None = None) -> Constant:
        try:
            return Constant(read_number(node.text, negative=negative), place or node.place)
        except OverflowError:
            shown = node.text if len(node.text) <= 30 else node.text[:27] + "..."
            remedy = "numbers have 64 bits with a sign; floats are finite"
            self.refuse("E104", f"{shown} is too large a number", node.place, remedy)
            return Constant(0, node.place)
