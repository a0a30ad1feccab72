"""Random rules and programs.

What      : `RuleMaker` draws one rule at a time over a world; `draw_program` draws a program that recurses.
Idea      : a body is grown atom by atom over shared variables; comparisons, negation, arithmetic and aggregates are
            added over the variables that are bound by then; the head takes what is bound. Safety holds by
            construction.
Invariant : arithmetic cannot diverge. In a rule that may be recursive it is `z = x + c` between two bounds; elsewhere
            it reads lower layers only. Some of it has no value for some facts (`_risky`).
Never     : no analysis of the program under test is used here, so that a fault in it cannot hide itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.differential.schema import DOMAINS, MIXED, NUMBER, SYMBOL, Schema, World, draw_fact
from tidelog.language.renaming import rename_rule, rule_variables
from tidelog.language.terms import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Declaration,
    Fact,
    Literal,
    Negation,
    Program,
    Rule,
    Term,
    Variable,
    variables,
)

ORDERED = ("=", "!=", "<", "<=", ">", ">=")


@dataclass
class Body:
    """A body under construction: its literals, the kind of every variable, and how many variables it has named."""

    literals: list[Literal] = field(default_factory=list)
    kinds: dict[Variable, str] = field(default_factory=dict)
    named: int = 0
    anonymous: int = 0

    def fresh(self, kind: str) -> Variable:
        """A new named variable of a kind."""
        variable = Variable(f"{'xyzuvw'[self.named % 6]}{self.named // 6 or ''}")
        self.named += 1
        self.kinds[variable] = kind
        return variable

    def wildcard(self) -> Variable:
        """A new anonymous variable."""
        self.anonymous += 1
        return Variable(f"_:{self.anonymous - 1}")

    def of_kind(self, kind: str) -> list[Variable]:
        """The variables of a kind, in order of appearance."""
        return [variable for variable, found in self.kinds.items() if found == kind]


@dataclass
class RuleMaker:
    """Draws rules over a world; every rule is safe and keeps the layers."""

    rng: Random
    world: World

    def rule(self, head: Schema, *, recursive: bool = False) -> Rule:
        """A rule for a relation; with `recursive` its body holds an atom of the head's own layer."""
        body = Body()
        below = self.world.at_most(head.layer - 1) or self.world.at(head.layer)
        here = self.world.at(head.layer) if self.world.is_recursive else below
        sources = [self.rng.choice(here) if recursive else self.rng.choice(below)]
        more = self.rng.choices((0, 1, 2), (4, 6, 1))[0]
        sources += [self.rng.choice(below if self.rng.random() < 0.75 else here) for _ in range(more)]
        self.rng.shuffle(sources)
        for schema in sources:
            body.literals.append(self._atom(body, schema))
        grounded_below = all(schema.layer < head.layer for schema in sources)
        self._decorate(body, head, grounded_below)
        return _numbered(Rule(self._head(body, head), tuple(self._permuted(body.literals))))

    def copy_rule(self, head: Schema, source: Schema) -> Rule:
        """`head(x, y) :- source(x, y).` as far as the kinds allow: the usual way into a recursion."""
        body = Body()
        body.literals.append(Atom(source.name, tuple(body.fresh(kind) for kind in source.kinds)))
        return Rule(self._head(body, head), tuple(body.literals))

    def closure_rule(self, head: Schema, step: Schema) -> Rule:
        """One of the classic recursions over a binary relation: left, right, both, symmetric."""
        x, y, z = Variable("x"), Variable("y"), Variable("z")
        bodies: list[tuple[Literal, ...]] = [
            (Atom(step.name, (x, y)), Atom(head.name, (y, z))),
            (Atom(head.name, (x, y)), Atom(step.name, (y, z))),
            (Atom(head.name, (x, y)), Atom(head.name, (y, z))),
            (Atom(head.name, (z, x)),),
            (Atom(head.name, (x, y)), Atom(head.name, (y, z)), Comparison("!=", x, z)),
        ]
        return Rule(Atom(head.name, (x, z)), self.rng.choices(bodies, (4, 4, 2, 1, 1))[0])

    def _atom(self, body: Body, schema: Schema) -> Atom:
        terms: list[Term] = []
        shared = False
        for kind in schema.kinds:
            known = body.of_kind(kind)
            draw = self.rng.random()
            if known and (draw < 0.45 or (not shared and draw < 0.85)):
                terms.append(self.rng.choice(known))
                shared = True
            elif draw > 0.94:
                terms.append(Constant(self.rng.choice(DOMAINS[kind])))
            elif draw > 0.90:
                terms.append(body.wildcard())
            else:
                terms.append(body.fresh(kind))
        return Atom(schema.name, tuple(terms))

    def _decorate(self, body: Body, head: Schema, grounded_below: bool) -> None:
        below = self.world.at_most(head.layer - 1)
        if self.rng.random() < 0.12:
            body.literals.append(self._redundant(body))
        if self.rng.random() < 0.22 and body.kinds:
            body.literals.append(self._comparison(body))
        if below and self.rng.random() < 0.28:
            body.literals.append(self._negation(body, self.rng.choice(below)))
        if below and self.rng.random() < 0.16:
            body.literals.append(self._aggregate(body, below))
        if body.of_kind(NUMBER) and NUMBER in head.kinds and self.rng.random() < 0.25:
            body.literals.extend(self._arithmetic(body, grounded_below))
        if body.kinds and self.rng.random() < 0.2:
            body.literals.extend(self._risky(body, below, grounded_below))

    def _risky(self, body: Body, below: list[Schema], grounded_below: bool) -> list[Literal]:
        """Arithmetic that has no value for some facts: beside atoms, inside them, under ! and inside aggregates."""
        ordered = [variable for variable, kind in body.kinds.items() if kind in (NUMBER, MIXED)]
        numbers = body.of_kind(NUMBER)
        if not numbers:
            mixed = body.of_kind(MIXED)
            return [Comparison(self.rng.choice(ORDERED[2:]), self.rng.choice(mixed), Constant(2))] if mixed else []
        left, right = self.rng.choice(numbers), self.rng.choice(numbers)
        call = self.rng.choice(
            (
                Call("/", (left, right)),
                Call("%", (Constant(7), right)),
                Call("*", (left, Constant(2**62))),
                Call("-", (Call("/", (left, right)), Constant(1))),
            )
        )
        places = [schema for schema in below if NUMBER in schema.kinds]
        kinds = ["test", "order", *(["negation"] if places else ()), *(["equation"] if grounded_below else ())]
        kinds += ["atom", "aggregate"] if places and grounded_below else []
        match self.rng.choice(kinds):
            case "test":
                return [Comparison(self.rng.choice(ORDERED), call, self.rng.choice(numbers))]
            case "order":
                return [Comparison(self.rng.choice(ORDERED[2:]), self.rng.choice(ordered), self.rng.choice(numbers))]
            case "negation":
                schema = self.rng.choice(places)
                return [Negation(_with_call(self._closed(body, schema), schema, call))]
            case "equation":
                return [Comparison("=", body.fresh(NUMBER), call)]
            case "atom":
                schema = self.rng.choice(places)
                return [_with_call(self._closed(body, schema), schema, call)]
            case _:
                return [self._risky_aggregate(body, self.rng.choice(places))]

    def _closed(self, body: Body, schema: Schema) -> Atom:
        """An atom over bound variables and constants."""
        known = (body.of_kind(kind) or [Constant(self.rng.choice(DOMAINS[kind]))] for kind in schema.kinds)
        return Atom(schema.name, tuple(self.rng.choice(terms) for terms in known))

    def _risky_aggregate(self, body: Body, schema: Schema) -> Aggregate:
        """A sum whose members or whose total may be missing."""
        inner = Body(named=body.named)
        terms = tuple(inner.fresh(kind) for kind in schema.kinds)
        body.named = inner.named
        number = self.rng.choice(inner.of_kind(NUMBER))
        values = (Call("/", (Constant(6), number)), Call("*", (number, Constant(2**61))), number)
        return Aggregate(
            body.fresh(NUMBER), self.rng.choice(("sum", "max")), self.rng.choice(values), (Atom(schema.name, terms),)
        )

    def _redundant(self, body: Body) -> Literal:
        """An atom that is implied by one already there: a copy, perhaps with a fresh variable in it."""
        atom = self.rng.choice([literal for literal in body.literals if isinstance(literal, Atom)])
        weaker = [self.rng.random() < 0.4 or (isinstance(t, Variable) and t.is_anonymous) for t in atom.terms]
        return Atom(atom.relation, tuple(body.wildcard() if w else term for w, term in zip(weaker, atom.terms)))

    def _comparison(self, body: Body) -> Comparison:
        left = self.rng.choice(list(body.kinds))
        kind = body.kinds[left]
        others = [variable for variable in body.of_kind(kind) if variable != left]
        right: Term = Constant(self.rng.choice(DOMAINS[kind]))
        if others and self.rng.random() < 0.7:
            right = self.rng.choice(others)
        if kind == SYMBOL and isinstance(right, Constant) and self.rng.random() < 0.15:
            return Comparison(self.rng.choice(("contains", "!contains")), right, left)
        op = self.rng.choice(ORDERED[:2] if kind == MIXED else ORDERED)
        return Comparison("!=" if op == "=" and self.rng.random() < 0.6 else op, left, right)

    def _negation(self, body: Body, schema: Schema) -> Negation:
        """A negated atom over bound variables, constants, and now and then variables of its own (existential)."""
        terms: list[Term] = []
        inner = Body(named=body.named)
        for kind in schema.kinds:
            known = body.of_kind(kind)
            if known and self.rng.random() < 0.75:
                terms.append(self.rng.choice(known))
            elif self.rng.random() < 0.3:
                terms.append(Constant(self.rng.choice(DOMAINS[kind])))
            else:
                terms.append(inner.fresh(kind) if self.rng.random() < 0.5 else body.wildcard())
        body.named = inner.named
        return Negation(Atom(schema.name, tuple(terms)))

    def _aggregate(self, body: Body, below: list[Schema]) -> Aggregate:
        """An aggregate over lower layers; the outer variables that its body uses are its groups."""
        outer = dict(body.kinds) if self.rng.random() < 0.7 else {}
        inner = Body(kinds=dict(outer), named=body.named, anonymous=body.anonymous)
        inner.literals = [self._atom(inner, self.rng.choice(below)) for _ in range(self.rng.choice((1, 1, 2)))]
        used = [variable for variable in inner.kinds if variable not in outer]
        if used and self.rng.random() < 0.2:
            inner.literals.append(self._comparison(Body(kinds={v: inner.kinds[v] for v in used})))
        if self.rng.random() < 0.15:
            # Groups that only the negation mentions are refused in recursive rules (E208).
            bound = {variable for atom in inner.literals for variable in variables(atom)}
            kinds = {variable: kind for variable, kind in inner.kinds.items() if variable in bound}
            inside = Body(kinds=kinds, named=inner.named, anonymous=inner.anonymous)
            inner.literals.append(self._negation(inside, self.rng.choice(below)))
            inner.named, inner.anonymous = inside.named, inside.anonymous
        body.named, body.anonymous = inner.named, inner.anonymous
        numbers = [variable for variable in used if inner.kinds[variable] == NUMBER]
        ordered = [variable for variable in used if inner.kinds[variable] != MIXED]
        if numbers and self.rng.random() < 0.6:
            functions = ("sum", "min", "max", "mean", "median") if self.world.has_floats else ("sum", "min", "max")
            function, value = self.rng.choice(functions), self.rng.choice(numbers)
        elif ordered and self.rng.random() < 0.4:
            function, value = self.rng.choice(("min", "max")), self.rng.choice(ordered)
        else:
            return Aggregate(body.fresh(NUMBER), "count", None, tuple(inner.literals))
        kind = inner.kinds[value] if function in ("min", "max") else NUMBER
        return Aggregate(body.fresh(kind), function, value, tuple(inner.literals))

    def _arithmetic(self, body: Body, grounded_below: bool) -> list[Literal]:
        left = self.rng.choice(body.of_kind(NUMBER))
        if not grounded_below:
            bound, step = Constant(self.rng.randint(3, 6)), Constant(self.rng.randint(1, 2))
            result = body.fresh(NUMBER)
            low = Comparison(">=", left, Constant(0))
            return [low, Comparison("=", result, Call("+", (left, step))), Comparison("<=", result, bound)]
        right: Term = self.rng.choice(body.of_kind(NUMBER))
        call = self.rng.choice(
            (
                Call("+", (left, right)),
                Call("-", (left, right)),
                Call("*", (left, Constant(2))),
                Call("%", (left, Constant(3))),
                Call("/", (left, Constant(2))),
                Call("max", (left, right)),
                Call("abs", (Call("-", (left, right)),)),
            )
        )
        return [Comparison("=", body.fresh(NUMBER), call)]

    def _head(self, body: Body, head: Schema) -> Atom:
        terms: list[Term] = []
        for kind in head.kinds:
            known = body.of_kind(kind)
            fresh = [variable for variable in known if variable not in terms]
            if known and self.rng.random() < 0.95:
                latest = self.rng.random() < 0.4
                terms.append((fresh or known)[-1] if latest else self.rng.choice(fresh or known))
            else:
                terms.append(Constant(self.rng.choice(DOMAINS[kind])))
        return Atom(head.name, tuple(terms))

    def _permuted(self, literals: list[Literal]) -> list[Literal]:
        """The body in another order now and then: order carries no meaning."""
        return self.rng.sample(literals, len(literals)) if self.rng.random() < 0.3 else literals


def _with_call(atom: Atom, schema: Schema, call: Call) -> Atom:
    """The atom with a computed value in its first column of numbers."""
    at = schema.kinds.index(NUMBER)
    return Atom(atom.relation, tuple(call if number == at else term for number, term in enumerate(atom.terms)))


def _numbered(rule: Rule) -> Rule:
    """The rule as the parser would read it: anonymous variables numbered in order of appearance."""
    wildcards = dict.fromkeys(variable.name for variable in rule_variables(rule) if variable.is_anonymous)
    return rename_rule(rule, {name: f"_:{number}" for number, name in enumerate(wildcards)})


def draw_rules(rng: Random, world: World) -> list[Rule]:
    """The rules of a program: a closure over `e`, then rules of every kind for every derived relation."""
    maker = RuleMaker(rng, world)
    by_name = {schema.name: schema for schema in world.relations}
    rules = [maker.copy_rule(by_name["p"], by_name["e"])]
    if world.is_recursive:
        rules.append(maker.closure_rule(by_name["p"], by_name["e"]))
    for schema in world.relations:
        if schema.layer == 0:
            continue
        rules.append(maker.rule(schema))
        if schema.layer == 1 or rng.random() < 0.3:
            rules.append(maker.rule(schema, recursive=True))
    named = [Rule(rule.head, rule.body, f"r{n}" if rng.random() < 0.6 else None) for n, rule in enumerate(rules, 1)]
    unique = {(rule.head, rule.body): rule for rule in named}
    return list(unique.values())


def draw_program(rng: Random, world: World) -> Program:
    """Rules and initial facts: base relations well filled, derived ones with an explicit fact now and then."""
    facts: dict[tuple[str, tuple[Constant, ...]], Fact] = {}
    for schema in world.relations:
        count = rng.randint(3, 7) if schema.layer == 0 else rng.choice((0, 0, 0, 1, 1, 2))
        for _ in range(count):
            values = tuple(Constant(value) for value in draw_fact(rng, schema))
            facts[schema.name, values] = Fact(schema.name, values)
    declarations = tuple(_declaration(schema) for schema in world.relations if world.has_floats)
    return Program(tuple(draw_rules(rng, world)), tuple(facts.values()), declarations)


def _declaration(schema: Schema) -> Declaration:
    """Numbers may be floats and mixed columns anything, so both are declared `any`."""
    types = {NUMBER: "any", SYMBOL: "symbol", MIXED: "any"}
    return Declaration(schema.name, tuple((f"c{position}", types[kind]) for position, kind in enumerate(schema.kinds)))
