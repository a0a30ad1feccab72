"""What a program is made of: terms, literals, rules.

What      : immutable values; the parser makes them, everything else reads them.
Idea      : one small vocabulary for every dialect, so that analysis, planning and the reference never see text.
Invariant : equality ignores places; `1`, `1.0`, `True` and `"1"` are four different constants.
Never     : no evaluation and no text here (see values.py, printer.py, parser.py).

Anonymous variables (`_`) are ordinary variables whose names no user can write: `_:0`, `_:1`, ... numbered per rule
in order of appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.errors import Place
from tidelog.language.rdf_terms import RdfTerm

Value = int | float | str | bool | RdfTerm
Options = tuple[tuple[str, str], ...]
"""What a directive says about a file: names and values."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A named or anonymous variable."""

    name: str
    place: Place | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        """By the name: plans and analyses look variables up all the time."""
        return hash(self.name)

    @property
    def is_anonymous(self) -> bool:
        """Whether the user wrote `_`."""
        return self.name.startswith("_:")


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A typed constant; `Constant(1) != Constant(1.0) != Constant(True)`."""

    value: Value
    place: Place | None = field(default=None, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value).__name__, self.value))


@dataclass(frozen=True, slots=True)
class Call:
    """A function applied to terms: `+ - * / % ^`, `neg`, `abs`, `min`, `max`, `cat`, `strlen`, `substr`."""

    function: str
    arguments: tuple[Term, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


Term = Variable | Constant | Call


@dataclass(frozen=True, slots=True)
class Atom:
    """A relation applied to terms. In a body its terms are variables and constants or calls over bound variables."""

    relation: str
    terms: tuple[Term, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """`!atom`. Variables that occur nowhere else in the rule are existential inside it."""

    atom: Atom
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left op right`, op one of `= != < <= > >=`, `match`, `contains`, `!match`, `!contains`.

    `=` binds a variable when the other side is bound. `match(pattern, text)` and `contains(part, text)` keep their
    argument order: left is the pattern or part.
    """

    op: str
    left: Term
    right: Term
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`result = function value : { body }`; `value` is None for `count`.

    Grouped by the variables that occur both in the aggregate and elsewhere in the rule (`result` is no such
    variable). Every distinct substitution of the body's variables counts once. Over no substitution `count` and
    `sum` give 0 and the others no result.
    """

    result: Term
    function: str
    value: Term | None
    body: tuple[Literal, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


Literal = Atom | Negation | Comparison | Aggregate


@dataclass(frozen=True, slots=True)
class Rule:
    """`name: head :- body.` Rules are compared with their names; `canonical_text(rule)` is their identity without."""

    head: Atom
    body: tuple[Literal, ...]
    name: str | None = None
    place: Place | None = field(default=None, compare=False, repr=False)
    canonical: str | None = field(default=None, init=False, compare=False, repr=False)
    """What `canonical_text` has found, once somebody asked."""
    written: Rule | None = field(default=None, compare=False, repr=False)
    """The user's rule that this one says without inline relations (analysis/inlining.py); None if it is as written."""

    @property
    def as_written(self) -> Rule:
        """The rule that the user wrote: this one, unless inline relations were replaced in it."""
        return self if self.written is None else self.written


@dataclass(frozen=True, slots=True)
class Fact:
    """A ground fact as written in a program."""

    relation: str
    values: tuple[Constant, ...]
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Declaration:
    """`.decl relation(name: type, ...)`; types are `number`, `unsigned`, `float`, `symbol`, `bool` or `any`.

    An inline relation is not stored: its rules stand wherever it is used (analysis/inlining.py).
    """

    relation: str
    columns: tuple[tuple[str, str], ...]
    place: Place | None = field(default=None, compare=False, repr=False)
    is_inline: bool = False


class Directed(tuple[str, Options]):
    """The relation of an `.input` or `.output` and its options: a pair that knows its place."""

    place: Place | None = None

    @classmethod
    def at(cls, relation: str, options: Options, place: Place | None) -> Directed:
        """The pair with its place."""
        made = cls((relation, options))
        made.place = place
        return made


@dataclass(frozen=True, slots=True)
class Program:
    """Rules, facts, declarations and the relations named by `.input` and `.output` (with their options)."""

    rules: tuple[Rule, ...] = ()
    facts: tuple[Fact, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    inputs: tuple[tuple[str, Options], ...] = ()
    outputs: tuple[tuple[str, Options], ...] = ()
    drawn: ClassVar[Callable[[Program], str]] = lambda _: ""
    """The rule graph as HTML; the front door, tidelog/__init__.py, knows who draws it."""

    def __repr__(self) -> str:
        """How much there is; a program can be megabytes."""
        return f"<Program: {len(self.rules)} rules, {len(self.facts)} facts, {len(self.declarations)} declarations>"

    def __str__(self) -> str:
        """The program as text."""
        from tidelog.language.printer import print_program

        return print_program(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>{Program.drawn(self)}"


NO_RULES = Program()


def variables(part: Term | Literal) -> Iterator[Variable]:
    """Every occurrence of a variable in a term or literal, left to right, aggregates' bodies included."""
    match part:
        case Variable():
            yield part
        case Constant():
            return
        case Call(arguments=parts) | Atom(terms=parts):
            for inner in parts:
                if isinstance(inner, Variable):
                    yield inner
                else:
                    yield from variables(inner)
        case Negation(atom=atom):
            yield from variables(atom)
        case Comparison(left=left, right=right):
            yield from variables(left)
            yield from variables(right)
        case Aggregate(result=result, value=value, body=body):
            yield from variables(result)
            if value is not None:
                yield from variables(value)
            for literal in body:
                yield from variables(literal)


def made_of(part: Term | Literal) -> tuple[Term | Literal, ...]:
    """What a term or literal is made of: the terms of an atom, the atom of a negation, both sides of a comparison."""
    match part:
        case Call(arguments=arguments):
            return arguments
        case Atom(terms=terms):
            return terms
        case Negation(atom=atom):
            return (atom,)
        case Comparison(left=left, right=right):
            return (left, right)
        case Aggregate(result=result, value=value, body=body):
            return (result, *body) if value is None else (result, value, *body)
        case _:
            return ()


def constants(part: Term | Literal) -> Iterator[Constant]:
    """Every occurrence of a constant in a term or literal, aggregates' bodies included."""
    if isinstance(part, Constant):
        yield part
    for one in made_of(part):
        yield from constants(one)


def atoms(literal: Literal) -> Iterator[tuple[Atom, bool]]:
    """The atoms of a literal with whether they occur monotonically: False under `!` and inside aggregates."""
    match literal:
        case Atom():
            yield literal, True
        case Negation(atom=atom):
            yield atom, False
        case Aggregate(body=body):
            for inner in body:
                for atom, _ in atoms(inner):
                    yield atom, False
        case Comparison():
            return
