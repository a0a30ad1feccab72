"""`tidelog check FILE...`: what is wrong with a program, or what it is made of.

What      : prints every problem with its place and remedy, or a table of the program's relations and what is doubtful.
Idea      : the problems are those of analysis/program_check.py; the table answers the other questions.
Invariant : exit code 1 if and only if a file has a problem; all files are looked at.
Never     : no evaluation.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import TYPE_CHECKING

from tidelog.cli import Subparsers
from tidelog.cli.options import add_dialect
from tidelog.language.lexemes import spell_name
from tidelog.visible import visible

if TYPE_CHECKING:
    from tidelog.language.terms import Program

HEADINGS = ("relation", "columns", "kind", "rules", "facts", "component", "recursion", "stratum")


def register(subparsers: Subparsers) -> None:
    """Describe the command's arguments."""
    parser = subparsers.add_parser("check", help="print a program's problems, or a summary of its relations")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a program")
    add_dialect(parser)
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    parser.add_argument("--plans", action="store_true", help="print the join plans too: drivers, orders, indexes")


def run(args: argparse.Namespace) -> int:
    """Check each file; problems go to stderr, summaries to stdout."""
    from tidelog.analysis.program_check import problems
    from tidelog.errors import ProgramError
    from tidelog.language import directives
    from tidelog.language.read import read_program

    is_wrong = False
    for index, file in enumerate(args.files):
        try:
            program = read_program(file, args.dialect)
            found = [*problems(program), *directives.problems(program)]
            if found:
                raise ProgramError(found)
        except ProgramError as error:
            is_wrong = True
            print(error, file=sys.stderr)
            count = len(error.problems)
            print(f"{visible(file)}: {count} problem{'' if count == 1 else 's'}", file=sys.stderr)
        else:
            _doubt(program)
            print(("\n" if index else "") + summary(program, file))
            if args.plans and program.rules:
                print(f"\nplans\n{_plans(program)}")
    return 1 if is_wrong else 0


def _plans(program: Program) -> str:
    from tidelog.analysis.inlining import evaluated_rules
    from tidelog.planning.description import describe
    from tidelog.planning.lowering import lower

    return describe(lower(evaluated_rules(program)).stages)


def _doubt(program: Program) -> None:
    """Warn of variables that occur once, and of relations that resemble another name and that nothing here fills."""
    from tidelog.analysis.doubts import single_variables, unfilled
    from tidelog.language.terms import atoms
    from tidelog.observe.notices import warn

    known = {*(rule.head.relation for rule in program.rules), *(fact.relation for fact in program.facts)}
    known |= {one.relation for one in program.declarations} | {relation for relation, _ in program.inputs}
    read = {atom.relation for rule in program.rules for literal in rule.body for atom, _ in atoms(literal)}
    for problem in single_variables(program.rules):
        warn(problem)
    for problem in unfilled(program.rules, known.__contains__, lambda: sorted(known | read)):
        warn(problem)


def summary(program: Program, title: str) -> str:
    """The program's relations as a table: explicit ones first, then derived ones in order of evaluation."""
    from tidelog.analysis.components import components, strata
    from tidelog.analysis.inlining import evaluated_rules

    rows, rules = _rows(program), evaluated_rules(program)
    level = strata(rules)
    counts = (
        (len(rows), "relation", "relations"),
        (len(program.rules), "rule", "rules"),
        (len(program.facts), "fact", "facts"),
        (len(components(rules)), "component", "components"),
        (len(set(level.values())), "stratum", "strata"),
    )
    first = f"{visible(title)}: " + ", ".join(
        f"{number} {one if number == 1 else many}" for number, one, many in counts
    )
    return "\n".join([first, *_table((HEADINGS, *rows))]) if rows else first


def _rows(program: Program) -> list[tuple[str, ...]]:
    from tidelog.analysis.components import components, strata
    from tidelog.analysis.inlining import evaluated_rules, inline_relations
    from tidelog.analysis.recursion import Recursion, is_linear, recursion
    from tidelog.analysis.types import relation_types

    types = relation_types(program)
    rules = Counter(rule.head.relation for rule in program.rules)
    facts = Counter(fact.relation for fact in program.facts)
    evaluated, inline = evaluated_rules(program), inline_relations(program)
    level = strata(evaluated)
    place = {relation: index for index, relation in enumerate(types)}
    rows: list[tuple[str, ...]] = [
        (spell_name(relation), _columns(types[relation]), "explicit", "", _number(facts[relation]), "", "", "")
        for relation in types
        if relation not in level and relation not in inline
    ]
    rows += [
        (spell_name(name), _columns(types[name]), "inline", _number(rules[name]), *4 * ("",)) for name in sorted(inline)
    ]
    for number, component in enumerate(components(evaluated), start=1):
        kind = recursion(component)
        shown = "" if kind is Recursion.NONE else str(kind)
        if kind is Recursion.MUTUAL:
            shown = f"mutual, {'linear' if is_linear(component) else 'non-linear'}"
        for relation in sorted(component.relations, key=place.__getitem__):
            columns, stratum = _columns(types[relation]), str(level[relation])
            own = (_number(rules[relation]), _number(facts[relation]))
            rows.append((spell_name(relation), columns, "derived", *own, str(number), shown, stratum))
    return rows


def _columns(types: tuple[str | None, ...]) -> str:
    """The types in brackets, `?` where nothing determines one."""
    return f"({', '.join(type_ or '?' for type_ in types)})"


def _number(count: int) -> str:
    return str(count) if count else ""


def _table(rows: tuple[tuple[str, ...], ...]) -> list[str]:
    """Aligned columns; those without any content but the heading are left out."""
    kept = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
    widths = {i: max(len(row[i]) for row in rows) for i in kept}
    lines = ["  " + "  ".join(row[i].ljust(widths[i]) for i in kept).rstrip() for row in rows]
    rule = "  " + "  ".join("-" * widths[i] for i in kept)
    return [lines[0], rule, *lines[1:]]
