"""Check a proof, without trusting the search that found it.

What      : `check_proof` says what is wrong with a proof, if anything.
Idea      : checking is easier than finding: the premises are given, so every variable of a rule's atoms is known at
            once, and only negations and aggregates have to be looked up. None of the search's code is used.
Invariant : no complaint means that the root follows from the explicit facts by the program's rules, given the facts
            that negations and aggregates ask about.
Never     : nothing of explain.py or instances.py is imported; values are compared as language/values.py defines them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tidelog.language.partial import aggregate, apply, holds
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
from tidelog.language.terms import atoms as atoms_of
from tidelog.language.values import fact_identity, identity
from tidelog.provenance.proof import Proof

FactsOf = Callable[[str], Iterable[tuple[Value, ...]]]
"""All facts of a relation."""

_Known = dict[str, Value]


def check_proof(
    proof: Proof, rules: Sequence[Rule], facts_of: FactsOf, is_explicit: Callable[[str, tuple[Value, ...]], bool]
) -> list[str]:
    """The faults of a proof, in words; an empty list if it has none."""
    faults: list[str] = []
    seen: set[int] = set()
    open_ = [proof]
    while open_:
        node = open_.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        fault = _fault(node, rules, facts_of, is_explicit)
        if fault:
            faults.append(f"{node.relation}{node.values!r}: {fault}")
        open_.extend(node.premises)
    return faults


def _fault(
    node: Proof, rules: Sequence[Rule], facts_of: FactsOf, is_explicit: Callable[[str, tuple[Value, ...]], bool]
) -> str | None:
    if node.rule is None:
        return None if is_explicit(node.relation, node.values) and not node.premises else "it is not explicit"
    if node.rule not in rules:
        return "its rule is not one of the program's"
    atoms = [literal for literal in node.rule.body if isinstance(literal, Atom)]
    members = list(_recursive(node.rule, rules))
    inside = [literal for goal in members for literal in goal.body if isinstance(literal, Atom)]
    if len(atoms) + len(inside) != len(node.premises):
        return "it does not have one premise per atom"
    pairs: list[tuple[Atom, str, tuple[Value, ...]]] = [(node.rule.head, node.relation, node.values)]
    pairs += [(atom, one.relation, one.values) for atom, one in zip(atoms, node.premises)]
    known: _Known = {}
    for atom, relation, values in pairs:
        if atom.relation != relation or len(atom.terms) != len(values) or not _unify(atom, values, known):
            return "its premises do not fit the rule"
    others: list[Literal] = [literal for literal in node.rule.body if not isinstance(literal, Atom)]
    return _unmet(node.rule, others, known, pairs, facts_of) or _not_best(node, members, len(atoms), known, facts_of)


def _recursive(rule: Rule, rules: Sequence[Rule]) -> Iterator[Aggregate]:
    """The aggregates of a rule over relations that depend on the rule's own: each stands on one of its members."""
    for literal in rule.body:
        if isinstance(literal, Aggregate):
            below, before = {atom.relation for atom in literal.body if isinstance(atom, Atom)}, -1
            while before < len(below):
                before = len(below)
                below |= {one.relation for each in rules if each.head.relation in below for one in _all_atoms(each)}
            if rule.head.relation in below:
                yield literal


def _all_atoms(rule: Rule) -> Iterator[Atom]:
    return (atom for literal in rule.body for atom, _ in atoms_of(literal))


def _not_best(node: Proof, goals: Sequence[Aggregate], at: int, known: _Known, facts_of: FactsOf) -> str | None:
    """Which aggregate does not stand on a member that gives its value."""
    rule = node.rule
    assert rule is not None
    outer = {variable.name for literal in (rule.head, *rule.body) for variable in _outer(literal)}
    for goal in goals:
        atoms = [literal for literal in goal.body if isinstance(literal, Atom)]
        given, at = [premise.values for premise in node.premises[at : at + len(atoms)]], at + len(atoms)
        group, best = {name: known[name] for name in known.keys() & outer}, _value(goal.result, known)
        if not any(
            goal.value is not None
            and _value(goal.value, row) == best
            and all(
                fact_identity(values) == fact_identity(list(_values(atom, row))) for atom, values in zip(atoms, given)
            )
            for row in _rows(list(goal.body), group, facts_of)
        ):
            return "its premises are no best member of an aggregate"
    return None


def _values(atom: Atom, row: _Known) -> Iterator[Value]:
    """The values of an atom; one that has none is no value of a fact."""
    return (value for value in (_value(term, row) for term in atom.terms) if value is not None)


def _unmet(
    rule: Rule,
    others: list[Literal],
    known: _Known,
    pairs: list[tuple[Atom, str, tuple[Value, ...]]],
    facts_of: FactsOf,
) -> str | None:
    """Which condition fails: results of aggregates and equations first, because they give values to the others."""
    outer = {variable.name for literal in (rule.head, *rule.body) for variable in _outer(literal)}
    left = list(others)
    while left:
        ready = next((one for one in left if _is_decidable(one, known, outer)), None)
        if ready is None:
            return "a variable has no value"
        left.remove(ready)
        if not _holds(ready, known, outer, facts_of):
            return f"a condition fails: {type(ready).__name__}"
    for atom, _, values in pairs:
        for term, value in zip(atom.terms, values):
            if not holds("=", _value(term, known), value):
                return "an expression has another value"
    return None


def _outer(literal: Literal) -> Iterator[Variable]:
    """The variables of a literal that belong to the rule, not to the inside of a negation or an aggregate."""
    match literal:
        case Aggregate(result=result):
            yield from variables(result)
        case Negation():
            return
        case _:
            yield from variables(literal)


def _unify(atom: Atom, values: tuple[Value, ...], known: _Known) -> bool:
    for term, value in zip(atom.terms, values):
        if isinstance(term, Variable):
            if identity(known.setdefault(term.name, value)) != identity(value):
                return False
        elif isinstance(term, Constant) and identity(term.value) != identity(value):
            return False
    return True


def _is_decidable(literal: Literal, known: _Known, outer: set[str]) -> bool:
    match literal:
        case Comparison(op=op, left=left, right=right):
            unknown = [side for side in (left, right) if not _has_value(side, known)]
            return not unknown or (op == "=" and len(unknown) == 1 and isinstance(unknown[0], Variable))
        case Aggregate(result=result, value=value, body=body):
            inner = {variable.name for part in (*body, *((value,) if value else ())) for variable in variables(part)}
            return (inner & outer) - {variable.name for variable in variables(result)} <= known.keys()
    return all(variable.name in known or variable.name not in outer for variable in variables(literal))


def _holds(literal: Literal, known: _Known, outer: set[str], facts_of: FactsOf) -> bool:
    match literal:
        case Negation(atom=atom):
            calls = [term for term in atom.terms if isinstance(term, Call)]
            lacks = any(_value(call, known) is None for call in calls)
            return not lacks and not any(True for _ in _rows([atom], known, facts_of))
        case Comparison(op="=", left=Variable(name=name), right=right) if name not in known:
            return _computes(name, right, known)
        case Comparison(op="=", left=left, right=Variable(name=name)) if name not in known:
            return _computes(name, left, known)
        case Comparison(op=op, left=left, right=right):
            return holds(op, _value(left, known), _value(right, known))
        case Aggregate(result=result):
            value = _aggregate(literal, {name: known[name] for name in known.keys() & outer}, facts_of)
            if value is None:
                return False
            if isinstance(result, Variable):
                return identity(known.setdefault(result.name, value)) == identity(value)
            return holds("=", _value(result, known), value)
    return False


def _computes(name: str, term: Term, known: _Known) -> bool:
    """Give a variable the value of a term; False if it has none."""
    value = _value(term, known)
    if value is not None:
        known[name] = value
    return value is not None


def _aggregate(literal: Aggregate, known: _Known, facts_of: FactsOf) -> Value | None:
    """The value over all distinct substitutions of the body's variables."""
    rows: dict[object, Value] = {}
    names = sorted({variable.name for part in literal.body for variable in variables(part)})
    for row in _rows(list(literal.body), known, facts_of):
        key = fact_identity([row[name] for name in names if name in row])
        value = 0 if literal.value is None else _value(literal.value, row)
        if value is not None:
            rows[key] = value
    return aggregate(literal.function, list(rows.values()))


def _rows(body: list[Literal], known: _Known, facts_of: FactsOf) -> Iterator[_Known]:
    """Nested loops over all facts: slow, and plainly right."""
    atoms = [literal for literal in body if isinstance(literal, Atom)]
    others: list[Literal] = [literal for literal in body if not isinstance(literal, Atom)]
    rows = [dict(known)]
    for atom in atoms:
        facts = list(facts_of(atom.relation))
        joined = ((dict(row), fact) for row in rows for fact in facts if len(fact) == len(atom.terms))
        rows = [row for row, fact in joined if _unify(atom, fact, row)]
    outer = {variable.name for literal in body for variable in _outer(literal)} | known.keys()
    for row in rows:
        left = list(others)
        holds = True
        while left and holds:
            ready = next((one for one in left if _is_decidable(one, row, outer)), None)
            if ready is None:
                holds = False
                break
            left.remove(ready)
            holds = _holds(ready, row, outer, facts_of)
        if holds and all(_calls_agree(atom, row, facts_of) for atom in atoms):
            yield row


def _calls_agree(atom: Atom, row: _Known, facts_of: FactsOf) -> bool:
    """Whether an atom with expressions is a fact once they have values."""
    if not any(isinstance(term, Call) for term in atom.terms):
        return True
    wanted = [_value(term, row) for term in atom.terms]
    return any(all(map(holds, ["="] * len(fact), wanted, fact)) for fact in facts_of(atom.relation))


def _has_value(term: Term, known: _Known) -> bool:
    return all(variable.name in known for variable in variables(term))


def _value(term: Term, known: _Known) -> Value | None:
    """The value of a term, None if it has none."""
    if isinstance(term, Variable):
        return known[term.name]
    if isinstance(term, Constant):
        return term.value
    return apply(term.function, [_value(argument, known) for argument in term.arguments])
