"""Programs as recursive SQL, run by DuckDB.

What      : `model(program)` makes a table for every relation, below first. Linear recursion over one relation is one
            `WITH RECURSIVE ... UNION` query; other recursion, which SQL cannot say, is rounds of `INSERT ... EXCEPT`.
Idea      : a value is text with a letter for its type in front (`i1`, `f1.0`, `btrue`, `s1`), so that columns may mix
            types and equality is identity. Macros compute on the decoded values (dialect.sql).
Invariant : nothing of Tidelog's analysis or evaluation is used; only the program's terms.
Never     : values are quoted by one function, and names spelled in ASCII; no text of a program reaches SQL as it is.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from tests.oracles.foreign import Model, dependencies, relations, spelled
from tests.oracles.sql_rules import columns, literal_text, select
from tidelog.language.terms import Program, Rule, Value, atoms
from tidelog.language.values import fact_identity

DIALECT = Path(__file__).with_name("dialect.sql")


def model(program: Program) -> Model:
    """The program's model as DuckDB sees it."""
    needs, arities = dependencies(program), _arities(program)
    with duckdb.connect() as connection:
        connection.execute(DIALECT.read_text(encoding="utf-8"))
        done: set[str] = set()
        for relation in sorted(relations(program), key=lambda name: (len(needs.get(name, set()) | {name}), name)):
            if relation not in done:
                component = {
                    relation,
                    *(other for other in needs.get(relation, ()) if relation in needs.get(other, ())),
                }
                _make(connection, program, component, arities)
                done |= component
        return _read(connection, arities)


def _make(
    connection: duckdb.DuckDBPyConnection, program: Program, component: set[str], arities: dict[str, int]
) -> None:
    """The tables of relations that need each other: one recursive query if SQL can say it, else rounds of insertion."""
    rules = [rule for rule in program.rules if rule.head.relation in component]
    if len(component) == 1 and all(_own_atoms(rule, component) <= 1 for rule in rules):
        (relation,) = component
        connection.execute(_table(relation, arities[relation], rules, _facts(program, relation)))
        return
    for relation in component:
        connection.execute(_table(relation, arities[relation], [], _facts(program, relation)))
    while sum(_insert_new(connection, rule) for rule in rules):
        pass


def _own_atoms(rule: Rule, component: set[str]) -> int:
    return sum(atom.relation in component for part in rule.body for atom, _ in atoms(part))


def _insert_new(connection: duckdb.DuckDBPyConnection, rule: Rule) -> int:
    """Apply a rule once to everything; how many facts are new."""
    name = f"r_{spelled(rule.head.relation)}"
    row = connection.execute(f"INSERT INTO {name} ({select(rule)}) EXCEPT (SELECT * FROM {name})").fetchone()
    return int(row[0]) if row else 0


def _table(relation: str, arity: int, rules: list[Rule], facts: list[str]) -> str:
    """The statement that makes a relation's table: facts and plain rules first, recursive rules over the rest."""
    name, names = f"r_{spelled(relation)}", ", ".join(columns(arity))
    nothing = f"SELECT {', '.join(f'NULL::VARCHAR AS {column}' for column in columns(arity))} WHERE false"
    plain = [select(rule) for rule in rules if not _reads(rule, relation)]
    recursive = [select(rule) for rule in rules if _reads(rule, relation)]
    start = " UNION ".join([nothing, *facts, *plain])
    if not recursive:
        return f"CREATE TABLE {name} AS {start}"
    return (
        f"CREATE TABLE {name} AS WITH RECURSIVE {name}({names}) AS "
        f"(({start}) UNION ({' UNION '.join(recursive)})) SELECT * FROM {name}"
    )


def _reads(rule: Rule, relation: str) -> bool:
    return any(atom.relation == relation for part in rule.body for atom, _ in atoms(part))


def _facts(program: Program, relation: str) -> list[str]:
    rows = [[literal_text(c.value) for c in fact.values] for fact in program.facts if fact.relation == relation]
    return [f"SELECT {', '.join(row or ['TRUE'])}" for row in rows]


def _arities(program: Program) -> dict[str, int]:
    found = {fact.relation: len(fact.values) for fact in program.facts}
    for rule in program.rules:
        for part in (rule.head, *rule.body):
            found.update((atom.relation, len(atom.terms)) for atom, _ in atoms(part))
    return found


def _read(connection: duckdb.DuckDBPyConnection, arities: dict[str, int]) -> Model:
    found: Model = set()
    for relation, arity in arities.items():
        rows = connection.execute(f"SELECT DISTINCT * FROM r_{spelled(relation)}").fetchall()
        found.update((relation, fact_identity([_value(text) for text in row[:arity]])) for row in rows)
    return found


def _value(text: str) -> Value:
    kind, rest = text[0], text[1:]
    match kind:
        case "i":
            return int(rest)
        case "f":
            return float(rest)
        case "b":
            return rest == "true"
        case _:
            return rest
