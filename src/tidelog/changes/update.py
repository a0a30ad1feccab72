"""Updates: what comes in.

What      : an `Update` (facts to delete and insert, rules to remove and add), its JSON-lines form, and `net`, which
            merges consecutive updates into one.
Idea      : an update takes facts F to (F without deletions) with insertions, and rules alike. Two of them compose to
            one: delete D1 + D2, insert (I1 without D2) + I2.
Invariant : deletions come first; applying `net(updates)` leaves the explicit facts and rules that applying them one by
            one leaves. An update is never changed after it is made.
Never     : nothing is applied here, and no relation is looked up.

One line of an update file: {"delete": [["edge","a","b"]], "insert": [...], "add_rules": "...", "remove_rules": ["r1"]}.
RDF terms are written as in JSON-LD (json_terms.py); "dialect" says in which dialect the rules of the line are.
Codes: E305 a line that is no update, E307 a file that is missing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, TypeAlias

from tidelog.changes import json_terms
from tidelog.changes.columns import Columns, plain
from tidelog.changes.declared import asked_fact
from tidelog.changes.fact_sources import to_table
from tidelog.changes.names import asked_facts
from tidelog.changes.opening import opened_plainly
from tidelog.changes.strict_json import RepeatedKeyError, read_json
from tidelog.errors import Place, Problem, ProgramError, UpdateError, UsageError, expect
from tidelog.language.parser import parse
from tidelog.language.printer import names, print_program
from tidelog.language.read import asked_rules, in_own_words, read_rules
from tidelog.language.terms import Declaration, Program, Rule, Value
from tidelog.language.values import fact_identity

Facts: TypeAlias = Mapping[str, Columns]
Types: TypeAlias = Callable[[str], tuple[str, ...] | None]

_KEYS = ("delete", "insert", "add_rules", "remove_rules", "dialect")
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Update:
    """One transaction: deletions, then insertions, of facts and of rules. Make it with `Update.of`."""

    insert: Facts = field(default_factory=dict)
    delete: Facts = field(default_factory=dict)
    add_rules: str = ""
    remove_rules: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        insert: Mapping[str, object] | None = None,
        delete: Mapping[str, object] | None = None,
        add_rules: str | None = None,
        remove_rules: Sequence[str] = (),
        arities: Mapping[str, int] | None = None,
    ) -> Update:
        """An update from anything that holds facts (see fact_sources.py); `arities`, where known, are checked."""
        known = arities or {}
        expect(add_rules, str | None, "what add_rules holds", "a text")
        removed = asked_rules(None, remove_rules)[1]
        inserted, deleted = asked_facts(insert, "insert"), asked_facts(delete, "delete")
        return cls(_tables(inserted, known), _tables(deleted, known), add_rules or "", removed)

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles hold the same columns; a read-only mapping cannot be pickled."""
        return type(self), (dict(self.insert), dict(self.delete), self.add_rules, self.remove_rules)

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing."""
        return not (self.insert or self.delete or self.add_rules.strip() or self.remove_rules)


def read_updates(source: str | Path | IO[bytes]) -> Iterator[Update]:
    """The updates of JSON lines, one by one; blank lines are skipped, bad ones refused with file and line.

    The source is a file, a FIFO, or anything open that gives lines, such as standard input.
    """
    return (update for _, update in numbered_updates(source))


def numbered_updates(source: str | Path | IO[bytes]) -> Iterator[tuple[int, Update]]:
    """As `read_updates`, each with the number of its line."""
    if not isinstance(source, str | Path):
        expect(source, Iterable, "the source of updates", "a path, or an open file")
        yield from _updates_of(source, getattr(source, "name", "<updates>"))
        return
    with opened_plainly(Path(source), "give a file with one update a line") as file:
        yield from _updates_of(file, str(source))


def _updates_of(lines: Iterable[bytes], source: str) -> Iterator[tuple[int, Update]]:
    for number, line in enumerate(lines, 1):
        if line.strip(b" \t\r\n"):
            yield number, read_update(line, source, number)


def read_update(line: str | bytes, source: str = "<update>", number: int = 1) -> Update:
    """The update that one line of JSON describes."""

    def refused(sentence: str, remedy: str, column: int = 1) -> UpdateError:
        text = line.decode(errors="replace") if isinstance(line, bytes) else line
        place = Place(source, number, column, text.rstrip() if len(text) <= _SHOWN else None)
        return UpdateError(Problem("E305", sentence, place, remedy))

    try:
        content = read_json(line)
    except ValueError as error:
        message, column = getattr(error, "msg", str(error)), getattr(error, "colno", 1)
        sentence = message if isinstance(error, RepeatedKeyError) else f"the line is not JSON: {message}"
        raise refused(sentence, "write one JSON object a line, each key once", column) from error
    mistake = _mistake(content)
    if mistake:
        raise refused(mistake, 'write {"insert": [["relation", value, ...]], "delete": [...], ...}')
    try:
        insert, delete = _by_relation(content.get("insert", [])), _by_relation(content.get("delete", []))
        added, removed = _in_own_words(content)
        return Update.of(insert, delete, added, removed)
    except (UpdateError, ProgramError, UsageError) as error:
        place = Place(source, number, 1)
        is_own = isinstance(error, UpdateError)
        problems = ((p.code if is_own else "E305", p.sentence, p.remedy) for p in error.problems)
        raise UpdateError(Problem(code, sentence, place, remedy) for code, sentence, remedy in problems) from error


def _in_own_words(content: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The rules to add, and the names or texts of those to remove; another dialect's become Tidelog's own."""
    added, removed, dialect = content.get("add_rules", ""), content.get("remove_rules", []), content.get("dialect")
    if dialect is None:
        return added, tuple(removed)
    program = print_program(read_rules(added, dialect)) if added else ""
    return program, tuple(in_own_words(rule, dialect) for rule in removed)


def write_updates(path: str | Path, updates: Iterable[Update]) -> None:
    """Write updates as JSON lines."""
    with Path(path).open("w", encoding="utf-8") as file:
        file.writelines(to_json(update) + "\n" for update in updates)


def to_json(update: Update) -> str:
    """An update as one line of JSON, without the keys that ask for nothing."""
    content: dict[str, Any] = {}
    for key, facts in (("delete", update.delete), ("insert", update.insert)):
        if facts:
            content[key] = [
                [relation, *map(json_terms.to_json, values)] for relation, table in facts.items() for values in table
            ]
    if update.add_rules.strip():
        content["add_rules"] = update.add_rules
    if update.remove_rules:
        content["remove_rules"] = list(update.remove_rules)
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def net(updates: Iterable[Update], rules: Container[str] = (), types: Types = lambda _: None) -> Update:
    """One update that has the effect of all, in order.

    `rules` says which rule names exist before the first of them: a rule that the updates add and remove again is not
    removed by the result unless it was there before. `types` gives the declared types of a relation: where they say
    float, 9 and 9.0 are one value.
    """
    inserted: dict[str, dict[Any, tuple[Value, ...]]] = defaultdict(dict)
    deleted: dict[str, dict[Any, tuple[Value, ...]]] = defaultdict(dict)
    added: list[Rule] = []
    declared: list[Declaration] = []
    removed: dict[str, None] = {}
    expect(updates, Iterable, "what is merged", "updates")
    for update in updates:
        expect(update, Update, "an update", "an Update (Update.of)")
        text = parse(update.add_rules)
        declared.extend(text.declarations)
        known = {one.relation: tuple(kind for _, kind in one.columns) for one in reversed(declared)}
        for relation, given in _facts(update.delete):
            values = asked_fact(given, types(relation) or known.get(relation))
            key = fact_identity(values)
            inserted[relation].pop(key, None)
            deleted[relation][key] = values
        inline = ((fact.relation, tuple(constant.value for constant in fact.values)) for fact in text.facts)
        for relation, given in chain(_facts(update.insert), inline):
            values = asked_fact(given, types(relation) or known.get(relation))
            key = fact_identity(values)
            deleted[relation].pop(key, None)
            inserted[relation][key] = values
        added = _without(added, update.remove_rules, removed, rules)
        added.extend(text.rules)
    program = print_program(Program(tuple(dict.fromkeys(added)), (), tuple(declared)))
    return Update.of(_listed(inserted), _listed(deleted), program, tuple(removed))


def _facts(tables: Facts) -> Iterator[tuple[str, tuple[Value, ...]]]:
    return ((relation, values) for relation, table in tables.items() for values in table)


def _without(added: list[Rule], removing: Sequence[str], removed: dict[str, None], rules: Container[str]) -> list[Rule]:
    """The added rules that survive the removal; names that reach further back are noted in `removed`."""
    for name in removing:
        left = [rule for rule in added if name not in names(rule)]
        if len(left) == len(added) or name in rules:
            removed[name] = None
        added = left
    return added


def _listed(facts: Mapping[str, Mapping[Any, tuple[Value, ...]]]) -> dict[str, list[tuple[Value, ...]]]:
    return {relation: list(found.values()) for relation, found in facts.items() if found}


def _tables(facts: Mapping[str, object], arities: Mapping[str, int]) -> Facts:
    """Facts as columns, without the relations that have none."""
    tables = {relation: to_table(source, relation, arities.get(relation)) for relation, source in facts.items()}
    return MappingProxyType({relation: table for relation, table in tables.items() if len(table)})


def _by_relation(facts: Iterable[list[Any]]) -> dict[str, list[tuple[Value, ...]]]:
    """`["edge", "a", "b"]` as a fact of `edge`."""
    found: dict[str, list[tuple[Value, ...]]] = defaultdict(list)
    for row, (relation, *values) in enumerate(facts, 1):
        where = f"a fact of {relation}"
        found[relation].append(tuple(plain(json_terms.from_json(value), where, row) for value in values))
    return found


def _mistake(content: object) -> str | None:
    """What is wrong with the shape of a line, if anything."""
    if not isinstance(content, dict):
        return "the line is not a JSON object"
    unknown = [key for key in content if key not in _KEYS]
    if unknown:
        return f"an update has no {unknown[0]!r}; it has {', '.join(_KEYS)}"
    for key in ("delete", "insert"):
        facts = content.get(key, [])
        if not isinstance(facts, list) or not all(isinstance(fact, list) and fact for fact in facts):
            return f"{key} is not a list of facts"
        if not all(isinstance(fact[0], str) for fact in facts):
            return f"a fact in {key} does not begin with the name of its relation"
    if not isinstance(content.get("dialect", ""), str):
        return "dialect is not a string"
    if not isinstance(content.get("add_rules", ""), str):
        return "add_rules is not a string"
    names = content.get("remove_rules", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return "remove_rules is not a list of strings"
    return None
