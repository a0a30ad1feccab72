"""Rules of the user over a graph, in either layout.

What      : whether a program needs the layout of plain triples, its rules in the words of that layout, and the whole
            program of a kind of reasoning in it.
Idea      : `ub:Student(x)` and `ub:advisor(x, y)` are the classes and properties of the graph; a relation without a
            colon is the user's own and stays what it is.
Invariant : a program means the same in both layouts, or is refused: where all classes and properties are one relation,
            a rule that derives one of them cannot negate or aggregate another.
Never     : no facts.

Codes: E212 a rule that derives triples from the absence of others; E214 an inline class or property.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from tidelog.analysis.impact import without
from tidelog.errors import Problem, ProgramError
from tidelog.language.parser import parse
from tidelog.language.printer import print_rule
from tidelog.language.renaming import with_atoms
from tidelog.language.terms import Aggregate, Atom, Constant, Fact, Program, Rule, atoms
from tidelog.rdf.axioms import KINDS, PREDICATES
from tidelog.rdf.layouts import RDF_TYPE, is_statement, term_of_name, triple_of
from tidelog.rdf.quads import Triple
from tidelog.rdf.rule_table import TRIPLE, rule_table

HELPERS = """
.decl triple(s: any, p: any, o: any)
.decl member(l: any, x: any)
.decl before(l: any, x: any, y: any)
.decl chain(l: any, x: any, y: any)
.decl all_of(l: any, y: any)
.decl same_keys(c: any, l: any, x: any, y: any)
.decl key_tail(c: any, l: any)
.decl chain_tail(l: any)
.decl all_tail(l: any)
.decl inconsistency(rule: any, x: any, y: any)
.decl ill_typed(l: any, d: any)
.decl literal_type(l: any, d: any)
.decl literal_value(l: any, v: any)
"""
"""The relations of the rule table hold values of any type."""


def takes_triples(program: Program) -> bool:
    """Whether a rule speaks of triples as such, or derives axioms."""
    for rule in program.rules:
        if rule.head.relation in PREDICATES or rule.head.relation in KINDS or rule.head.relation == TRIPLE:
            return True
        if any(atom.relation == TRIPLE for literal in rule.body for atom, _ in atoms(literal)):
            return True
    return False


def triples_among(facts: Iterable[Fact]) -> list[Triple]:
    """The triples that a program writes down as facts of classes, of properties or of `triple`."""
    return [
        triple_of(fact.relation, [constant.value for constant in fact.values])
        for fact in facts
        if is_statement(fact.relation)
    ]


def no_triples(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts that a program writes down of relations of the user's own."""
    return tuple(fact for fact in facts if not is_statement(fact.relation))


def checked_user_rules(program: Program) -> Program:
    """The program, if none of its inline relations is a class or a property, whose facts are triples."""
    for one in program.declarations:
        if one.is_inline and is_statement(one.relation):
            sentence = f"{one.relation} is a class or a property, and what is inline has no triples"
            raise ProgramError.of("E214", sentence, place=one.place, remedy="leave out inline in its declaration")
    return program


def with_rules(own: Program, added: Program, removed: Sequence[str]) -> Program:
    """The user's program after rules came and went; removing one that the user does not have is refused."""
    kept = without(own.rules, removed) if removed else own.rules
    declarations = (*own.declarations, *checked_user_rules(added).declarations)
    return Program((*kept, *added.rules), own.facts, declarations, own.inputs, own.outputs)


def cannot_go_over(program: Program) -> bool:
    """Whether a rule means nothing in the layout of plain triples (E212)."""
    return any(True for rule in program.rules for _ in _negations(rule))


def reasoning_over_triples(program: Program, reasoning: str, options: frozenset[str] = frozenset()) -> Program:
    """The program of the user and a kind of reasoning, over `triple`: axioms are facts of it like others."""
    user = over_triples(program)
    rules = tuple(rule for _, rule in rule_table(reasoning, options))
    return Program(
        (*rules, *user.rules),
        user.facts,
        (*parse(HELPERS).declarations, *user.declarations),
        user.inputs,
        user.outputs,
    )


def over_triples(program: Program) -> Program:
    """The program with `triple` in the place of classes and properties."""
    problems = [problem for rule in program.rules for problem in _negations(rule)]
    if problems:
        raise ProgramError(problems)
    rules = tuple(
        replace(rule, head=_atom(rule.head), body=tuple(with_atoms(literal, _atom) for literal in rule.body))
        for rule in program.rules
    )
    facts = tuple(_fact(fact) for fact in program.facts)
    return Program(rules, facts, program.declarations, program.inputs, program.outputs)


def removed_over_triples(rules: Iterable[str]) -> Iterator[str]:
    """What removes the same rules over `triple`: names of rules as they are, texts in the words of `triple`."""
    for rule in rules:
        found: tuple[Rule, ...] = ()
        if ":-" in rule:
            with suppress(ProgramError):  # a text that is no rule is refused where rules are removed
                found = over_triples(parse(rule if rule.rstrip().endswith(".") else f"{rule}.")).rules
        yield from map(print_rule, found) if found else (rule,)


def _negations(rule: Rule) -> Iterator[Problem]:
    """What is wrong with a rule over triples that derives a triple."""
    if not is_statement(rule.head.relation):
        return
    for literal in rule.body:
        for atom, is_monotone in atoms(literal):
            if not is_monotone and is_statement(atom.relation):
                verb = "counts on" if isinstance(literal, Aggregate) else "negates"
                yield Problem(
                    "E212",
                    f"the rule derives {rule.head.relation} and {verb} {atom.relation}, and here all classes and"
                    " properties are one relation",
                    literal.place or atom.place or rule.place,
                    "let the rule derive a relation of your own, whose name has no colon",
                )


def _atom(atom: Atom) -> Atom:
    if ":" not in atom.relation or len(atom.terms) not in (1, 2):
        return atom
    named = Constant(term_of_name(atom.relation))
    if len(atom.terms) == 1:
        return Atom(TRIPLE, (atom.terms[0], Constant(RDF_TYPE), named), atom.place)
    return Atom(TRIPLE, (atom.terms[0], named, atom.terms[1]), atom.place)


def _fact(fact: Fact) -> Fact:
    atom = _atom(Atom(fact.relation, fact.values))
    return Fact(atom.relation, tuple(term for term in atom.terms if isinstance(term, Constant)), fact.place)
