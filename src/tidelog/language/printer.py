"""A program becomes text.

What      : rules, facts and whole programs in the grammar that parser.py reads.
Idea      : print with the fewest parentheses; what a bare spelling would change gets quotes or parentheses.
Invariant : `parse(print_program(p)) == p`; `canonical_text` is equal for two rules exactly if they differ only in their
            name and the names of their variables.
Never     : no evaluation; nothing here reads text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tidelog.language.lexemes import (
    CONSTRAINT_WORDS,
    spell_label,
    spell_name,
    spell_string,
    spell_value,
    spell_variable,
)
from tidelog.language.renaming import rename_rule, rule_variables
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
)

_SUM, _PRODUCT, _SIGNED, _POWER, _PRIMARY = range(5)
_LEVELS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT, "^": _POWER}


def print_program(program: Program) -> str:
    """The whole program, one statement per line: declarations, inputs, outputs, facts, rules."""
    return "".join(f"{line}\n" for line in _lines(program))


def print_rule(rule: Rule) -> str:
    """One rule with its name, full stop included."""
    label = "" if rule.name is None else f"{spell_label(rule.name)}: "
    head = print_literal(rule.head)
    if rule.body:
        return f"{label}{head} :- {_body(rule.body)}."
    is_fact_like = rule.name is None and all(isinstance(term, Constant) for term in rule.head.terms)
    return f"{label}{head} :- true." if is_fact_like else f"{label}{head}."


def canonical_text(rule: Rule) -> str:
    """An unnamed rule's identity: the rule without its name, its variables renamed v0, v1, ... as they appear."""
    if rule.canonical is not None:
        return rule.canonical
    names: dict[str, str] = {}
    for variable in rule_variables(rule):
        names.setdefault(variable.name, f"v{len(names)}")
    renamed = rename_rule(rule, names)
    text = print_rule(Rule(renamed.head, renamed.body))
    object.__setattr__(rule, "canonical", text)  # a rule is frozen, and this follows from it
    return text


def rule_key(rule: Rule) -> str:
    """What a rule is known by: its name, or its canonical text as it was written."""
    return canonical_text(rule.as_written) if rule.name is None else rule.name


def print_fact(relation: str, values: Iterable[Value]) -> str:
    """A fact without a full stop, such as `edge("a", 1)`."""
    return f"{_relation(relation)}({', '.join(map(spell_value, values))})"


def print_value(value: Value) -> str:
    """A constant as a program writes it."""
    return spell_value(value)


def print_literal(literal: Literal) -> str:
    """An atom, negation, comparison or aggregate."""
    match literal:
        case Atom(relation=relation, terms=terms):
            return f"{_relation(relation)}({', '.join(map(print_term, terms))})"
        case Negation(atom=atom):
            return f"!{print_literal(atom)}"
        case Comparison(op=op, left=left, right=right):
            if op.lstrip("!") in CONSTRAINT_WORDS:
                return f"{op}({print_term(left)}, {print_term(right)})"
            return f"{print_term(left)} {op} {print_term(right)}"
        case Aggregate(result=result, function=function, value=value, body=body):
            return f"{print_term(result)} = {_aggregated(function, value)} : {{ {_body(body)} }}"


def print_term(term: Term) -> str:
    """A variable, constant or expression with the fewest parentheses."""
    return _term(term, _SUM)


def _aggregated(function: str, value: Term | None) -> str:
    """`count`, `sum x`, or `sum((x + y) * z)` where parentheses behind the word would read as an argument list."""
    if value is None:
        return function
    text = print_term(value)
    return f"{function}({text})" if text.startswith("(") or text.endswith(")") else f"{function} {text}"


def _lines(program: Program) -> Iterator[str]:
    for declaration in program.declarations:
        columns = ", ".join(f"{spell_name(name)}: {spell_name(kind)}" for name, kind in declaration.columns)
        yield f".decl {spell_name(declaration.relation)}({columns}){' inline' if declaration.is_inline else ''}"
    for word, directives in (("input", program.inputs), ("output", program.outputs)):
        for relation, options in directives:
            yield f".{word} {spell_name(relation)}{_options(options)}"
    for fact in program.facts:
        yield print_fact(fact.relation, (constant.value for constant in fact.values)) + "."
    for rule in program.rules:
        yield print_rule(rule)


def _options(options: Sequence[tuple[str, str]]) -> str:
    shown = ", ".join(f"{spell_name(name)}={spell_string(value)}" for name, value in options)
    return f"({shown})" if options else ""


def _body(literals: Iterable[Literal]) -> str:
    return ", ".join(map(print_literal, literals)) or "true"


def _relation(name: str) -> str:
    return spell_string(name, "`") if name in CONSTRAINT_WORDS else spell_name(name)


def _term(term: Term, least: int) -> str:
    """The term's text, in parentheses if it binds less tightly than its surroundings need."""
    text, level = _with_level(term)
    return text if level >= least else f"({text})"


def _with_level(term: Term) -> tuple[str, int]:
    match term:
        case Variable(name=name):
            return ("_" if term.is_anonymous else spell_variable(name)), _PRIMARY
        case Constant(value=value):
            text = spell_value(value)
            return text, _SIGNED if text.startswith("-") else _PRIMARY
        case Call(function="neg", arguments=(Constant(value=value),)):
            return f"-({spell_value(value)})", _SIGNED
        case Call(function="neg", arguments=(inner,)):
            return f"-{_term(inner, _SIGNED)}", _SIGNED
        case Call(function="^", arguments=(base, exponent)):
            return f"{_term(base, _PRIMARY)} ^ {_term(exponent, _SIGNED)}", _POWER
        case Call(function=function, arguments=(left, right)) if function in _LEVELS:
            level = _LEVELS[function]
            return f"{_term(left, level)} {function} {_term(right, level + 1)}", level
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(print_term, arguments))})", _PRIMARY


def names(rule: Rule) -> tuple[str, ...]:
    """What users may call a rule: its name, the name of the statement that it is a part of, its text."""
    return (*given_names(rule), canonical_text(rule), print_rule(rule))


def given_names(rule: Rule) -> tuple[str, ...]:
    """The names that the author of a rule gave it: its own, and that of the statement that it is a part of."""
    if rule.name is None:
        return ()
    statement, _, part = rule.name.rpartition(".")
    return (rule.name, statement) if part.isdigit() and statement else (rule.name,)
