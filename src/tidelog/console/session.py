"""A session: an engine, and what a person asks of it.

What      : `Session.run` carries out one piece of input and gives back what to print; commands are the methods whose
            names begin with `do_`, and their docstrings are what `.help` prints.
Idea      : a question prints a table, an update its change. The last change can be explained, every update undone: its
            opposite is remembered before it is applied.
Invariant : whatever is wrong with an input leaves the session as it was.
Never     : no terminal here (terminal.py), and nothing is written to disk but by `.save`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import filterfalse, islice

from tidelog.analysis.impact import without
from tidelog.analysis.spelling import nearest
from tidelog.changes.change import Change
from tidelog.changes.declared import asked_fact
from tidelog.changes.profile import profile_table
from tidelog.changes.tables import text_table
from tidelog.console.statements import Statement, read_statement
from tidelog.engine import Engine
from tidelog.errors import UsageError
from tidelog.language.parser import parse, parse_atom
from tidelog.language.printer import print_rule, rule_key
from tidelog.language.terms import Constant, Rule, Value
from tidelog.maintenance.profiled_store import profiling

_ROWS = 40
_INTRODUCTION = """\
path("a", x), !blocked(x)     ask: any rule body; a full stop is not needed
edge("a", "b").               insert a fact (also: +edge("a", "b"))
-edge("a", "b")               delete a fact
reach(x) :- path("a", x).     add a rule; it may take several lines, up to its full stop
-r1                           remove a rule, by its name or its text
"""


class LeaveError(Exception):
    """The user wants to leave."""


class Session:
    """One engine and the person at it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._last: Change | None = None
        self._opposites: list[Statement] = []
        self._is_timed = False
        self._rows = _ROWS

    @property
    def commands(self) -> dict[str, Callable[[str], str]]:
        """The commands by name."""
        return {name[3:]: getattr(self, name) for name in dir(self) if name.startswith("do_")}

    def run(self, text: str) -> str:
        """Carry out one piece of input; the answer is what to print."""
        if not text.strip():
            return ""
        started = time.perf_counter()
        statement = read_statement(text)
        if statement.kind == "command":
            shown = self._command(statement)
        elif statement.kind == "update":
            shown = self._update(statement)
        else:
            found = self.engine.query(statement.text, {})
            shown = text_table(found.columns, found, len(found), self._rows)
        milliseconds = 1000 * (time.perf_counter() - started)
        return f"{shown}\n{milliseconds:.1f} ms" if self._is_timed and shown else shown

    def words(self) -> list[str]:
        """What can be completed: commands, relations and named rules."""
        named = [rule.name for rule in self.engine.program.rules if rule.name]
        return [*(f".{name}" for name in self.commands), *self.engine.relations, *named]

    def _command(self, statement: Statement) -> str:
        command = self.commands.get(statement.word)
        if command is None:
            likely = nearest(statement.word, self.commands)
            remedy = f"did you mean .{likely}? " if likely else ""
            raise UsageError.of("E820", f"there is no command .{statement.word}", remedy=f"{remedy}see .help")
        return command(statement.text)

    def _update(self, statement: Statement) -> str:
        opposite, rules = self._opposite(statement), self.engine.program.rules
        self._last = self._apply(statement)
        self._opposites.append(self._with_rules(opposite, rules))
        return self._last.summary()

    def _apply(self, statement: Statement) -> Change:
        with profiling() if self._is_timed else nullcontext():
            return self.engine.apply(statement.insert, statement.delete, statement.add_rules, statement.remove_rules)

    def _opposite(self, statement: Statement) -> Statement:
        """What undoes the facts of an update: only what it really changes."""
        added = parse(statement.add_rules)
        insert = {name: list(facts) for name, facts in statement.insert.items()}
        for fact in added.facts:
            insert.setdefault(fact.relation, []).append(tuple(constant.value for constant in fact.values))
        declared = {one.relation: one for one in (*added.declarations, *self.engine.program.declarations)}
        types = {name: tuple(kind for _, kind in one.columns) for name, one in declared.items()}
        return Statement(
            "update",
            f"undo {statement.text}",
            insert={
                name: self._explicit(name, facts, types.get(name), True) for name, facts in statement.delete.items()
            },
            delete={name: self._explicit(name, facts, types.get(name), False) for name, facts in insert.items()},
        )

    def _with_rules(self, opposite: Statement, before: tuple[Rule, ...]) -> Statement:
        """The same for the rules, of which an update has just made other ones."""
        after = self.engine.program.rules
        come = tuple(map(rule_key, filterfalse(set(before).__contains__, after)))
        stay = set(without(after, come))  # a text means every rule that says so, those that were there before, too
        return replace(
            opposite, remove_rules=come, add_rules=" ".join(map(print_rule, filterfalse(stay.__contains__, before)))
        )

    def _explicit(
        self, relation: str, facts: list[tuple[Value, ...]], types: tuple[str, ...] | None, is_there: bool
    ) -> list[tuple[Value, ...]]:
        """Those of the facts that are explicit, or that are not; 9 means 9.0 where a float is declared."""
        held = self.engine.explicit(relation) if relation in self.engine else ()
        return [fact for fact in (asked_fact(one, types) for one in facts) if (fact in held) == is_there]

    def _fact(self, text: str) -> tuple[str, tuple[Value, ...]]:
        atom = parse_atom(text.rstrip("."))
        values = tuple(term.value for term in atom.terms if isinstance(term, Constant))
        if len(values) < len(atom.terms):
            raise UsageError.of("E820", f"{text} is no single fact", remedy='write it as path("a", "b")')
        return atom.relation, values

    # -- commands: their docstrings are the help -------------------------------------------------------------------

    def do_help(self, _text: str) -> str:
        """Print this."""
        width = max(map(len, self.commands)) + 1
        lines = [f".{name:<{width}} {(command.__doc__ or '').strip()}" for name, command in self.commands.items()]
        return _INTRODUCTION + "\n" + "\n".join(lines)

    def do_relations(self, _text: str) -> str:
        """List the relations and how many facts they have."""
        engine = self.engine
        rows = [(name, engine[name].arity, len(engine[name]), len(engine.explicit(name))) for name in engine.relations]
        return text_table(("relation", "columns", "facts", "explicit"), rows, len(rows))

    def do_rules(self, text: str) -> str:
        """List the rules, or those that derive a relation: .rules path"""
        rules = [rule for rule in self.engine.program.rules if text in ("", rule.head.relation)]
        return "\n".join(map(print_rule, rules)) or "(no rules)"

    def do_show(self, text: str) -> str:
        """Print the facts of a relation: .show path"""
        relation = self.engine[text]
        return text_table(relation.columns, relation, len(relation), self._rows)

    def do_rows(self, text: str) -> str:
        """Set how many rows a table shows: .rows 100"""
        if not text.isdigit() or not int(text):
            raise UsageError.of("E820", f"{text or 'nothing'} is no number of rows", remedy="such as .rows 100")
        self._rows = int(text)
        return f"tables show {self._rows} rows"

    def do_explain(self, text: str) -> str:
        """Why a fact is there: .explain path("a", "c")"""
        return str(self.engine.explain(*self._fact(text)))

    def do_whynot(self, text: str) -> str:
        """Why a fact is not there: .whynot path("a", "z")"""
        return str(self.engine.explain_absence(*self._fact(text)))

    def do_why(self, text: str) -> str:
        """Explain the last change: all of it, or one fact: .why path("a", "c")"""
        change = self._last
        if change is None:
            raise UsageError.of("E820", "there was no update yet", remedy="insert, delete or add a rule first")
        if text:
            return str(self.engine.explain_change(change, *self._fact(text)))
        derived = [
            (relation, fact)
            for tables in (change.inserted, change.deleted)
            for relation, table in tables.items()
            for fact in islice(table, 2)
        ]
        causes = [str(self.engine.explain_change(change, relation, fact)) for relation, fact in derived[:6]]
        return "\n".join([repr(change), *causes])

    def do_change(self, _text: str) -> str:
        """Print the last change."""
        return self._last.summary(self._rows) if self._last else "(no update yet)"

    def do_profile(self, _text: str) -> str:
        """What the last update cost, by rule and phase; with times if timing is on (.time)."""
        return profile_table(self._last.stats, self.engine.program.rules) if self._last else "(no update yet)"

    def do_plan(self, text: str) -> str:
        """How a rule is joined: .plan r1, or .plan path(x, z) :- edge(x, y), path(y, z)."""
        return self.engine.plan(text)

    def do_preview(self, text: str) -> str:
        """What a rule change would touch: .preview reach(x) :- path("a", x). or .preview -r1"""
        if text.startswith("-"):
            return str(self.engine.preview(remove_rules=[text[1:].strip()]))
        return str(self.engine.preview(add_rules=text))

    def do_undo(self, _text: str) -> str:
        """Take back the last update; again: the one before."""
        if not self._opposites:
            raise UsageError.of("E820", "there is nothing to undo", remedy="only updates of this session can be undone")
        self._last = self._apply(self._opposites[-1])
        self._opposites.pop()
        return self._last.summary()

    def do_time(self, _text: str) -> str:
        """Switch on or off that every answer says how long it took."""
        self._is_timed = not self._is_timed
        return f"timing is {'on' if self._is_timed else 'off'}"

    def do_strategy(self, text: str) -> str:
        """Print or choose the strategy: .strategy bf"""
        if text:
            self.engine.strategy = text
        return self.engine.strategy

    def do_verify(self, _text: str) -> str:
        """Compare the materialisation with recomputation."""
        self.engine.verify()
        return "equal to recomputation"

    def do_save(self, text: str) -> str:
        """Store the present version: .save DIR"""
        if not text:
            raise UsageError.of("E820", "no folder is named", remedy="such as .save state")
        self.engine.save(text)
        return f"version {self.engine.version} is stored in {text}"

    def do_quit(self, _text: str) -> str:
        """Leave (also: Ctrl-D)."""
        raise LeaveError
