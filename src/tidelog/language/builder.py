"""Reductions of the grammar that build statements: a text's program.

What      : facts, rules and directives, collected in order.
Idea      : one statement may become several rules, one per head and alternative; they share its name, with `.1`,
            `.2`, ... behind it.
Invariant : anonymous variables are numbered in order of appearance in each rule; variables made for aggregates have
            names that the rule does not use otherwise; no two statements have the same name.
Never     : no text (see parser.py) and no questions about meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from tidelog.errors import Problem
from tidelog.language.declarations import Alias, Column, Declarations
from tidelog.language.literal_reductions import Alternatives, LiteralReductions
from tidelog.language.nodes import Applied, Formula, Name, Node
from tidelog.language.renaming import apart, rename_rule, rule_variables
from tidelog.language.term_reductions import FRESH
from tidelog.language.terms import Atom, Constant, Directed, Fact, Program, Rule, Value, Variable

if TYPE_CHECKING:
    from lark import Token

_READ_OVER = {
    ".pragma": "give options on the command line",
    ".plan": "joins are ordered by cost",
    ".limitsize": "set a budget: Limits(facts=...), --limit-facts",
    ".once": "a file is included once in any case",
}
_NO_HEAD = Atom("", ())
_REFUSED_QUALIFIERS = {
    "eqrel": "write the rules for symmetry, transitivity and reflexivity",
    "choice-domain": "choose with min or max",
}


class Builder(LiteralReductions):
    """Collects the statements of one text; `begin` starts the next text."""

    def begin(self, source: str, text: str, parameters: Mapping[str, Value] | None = None) -> None:
        """Forget everything and read another text; only a question has parameters."""
        self.parameters = parameters
        self.source = source
        self.lines = text.split("\n")
        self.problems, self.notes = [], []
        self.prefixes.clear()
        self.rules: list[Rule] = []
        self.facts: list[Fact] = []
        self.declarations = Declarations()
        self.end_statement()
        self._names: dict[str, Name] = {}

    def finished_program(self) -> Program:
        """Everything read so far as one program; type names are resolved."""
        collected = self.declarations
        declared, problems = collected.resolved()
        self.problems.extend(problems)
        return Program(
            tuple(self.rules),
            tuple(self.facts),
            declared,
            tuple(collected.inputs),
            tuple(collected.outputs),
        )

    def program(self, _children: list[Any]) -> None:
        """The whole text: its statements are collected already."""

    def query(self, children: list[Node]) -> Alternatives:
        """The body of a question; variables that were made keep names that no user can write."""
        return tuple(apart(Rule(_NO_HEAD, body)).body for body in self.as_alternatives(children[0]))

    # Rules and facts

    def label(self, children: list[Token]) -> Name:
        """The name before a rule; each may be given once."""
        name = self.name(children)
        if name.text in self.prefixes.known and not name.is_quoted:
            sentence = f"{name.text} is a prefix and the name of a rule"
            self.refuse("E131", sentence, name.place, "rename the rule, or write no blank behind the colon")
        if not self.is_new_name(name):
            related = ((self._names[name.text].place, "first used here"),)
            self.problems.append(
                Problem("E108", f"two rules have the name {name.text}", name.place, "rename one of them", related)
            )
        return name

    def is_new_name(self, name: Name) -> bool:
        """Note the name of a rule; False if it is given already."""
        return self._names.setdefault(name.text, name) is name

    def prefix(self, children: list[Token]) -> None:  # noqa: ARG002 - every reduction is called with its words
        """`@prefix ub: <...> .`; it has taken effect already (prefixes.py)."""
        self.end_statement()

    def heads(self, children: list[Node]) -> list[Applied]:
        """The heads of a rule, usually one."""
        for node in children:
            if not isinstance(node, Applied) and not (isinstance(node, Formula) and node.is_refused):
                is_arrow = node.place is not None and "<-" in (node.place.text or "")
                remedy = "write :- in place of <-" if is_arrow else "put it behind :-"
                remedy = "write a relation without columns as p()" if isinstance(node, Variable) else remedy
                self.refuse("E113", "a head is an atom such as p(x)", node.place, remedy)
        return [node for node in children if isinstance(node, Applied)]

    def fact(self, children: list[Any]) -> None:
        """A statement without a body: facts, or rules if they have names, variables or functions."""
        *label, heads = children
        grounds = [all(isinstance(term, Constant) for term in head.terms) for head in heads]
        if label or not all(grounds):
            self._add_rules(label, heads, ((),))
        else:
            self.facts.extend(Fact(head.name.text, head.terms, head.place) for head in heads)
        self.end_statement()

    def rule(self, children: list[Any]) -> None:
        """A statement with a body."""
        *label, heads, body = children
        self._add_rules(label, heads, self.as_alternatives(body))
        self.end_statement()

    def _add_rules(self, label: list[Name], heads: list[Applied], alternatives: Alternatives) -> None:
        extra = tuple(chain.from_iterable(self.made_for(*head.terms) for head in heads))
        name = label[0].text if label else None
        several = len(heads) * len(alternatives) > 1
        number = 0
        for head in heads:
            for body in alternatives:
                number += 1
                known_as = f"{name}.{number}" if name is not None and several else name
                place = label[0].place if label else head.place
                self.rules.append(self._tidied(Rule(self.as_atom(head), (*body, *extra), known_as, place)))

    def _tidied(self, rule: Rule) -> Rule:
        """The rule with anonymous variables numbered by appearance, made variables named and local ones kept apart."""
        rule = apart(rule)
        if not self.anonymous_count and not self.made:
            return rule
        used = list(dict.fromkeys(variable.name for variable in rule_variables(rule)))
        anonymous = (f"_:{number}" for number in range(len(used)))
        free = (name for number in range(2 * len(used)) if (name := f"agg{number}") not in used)
        names = {
            name: next(anonymous) if name.startswith("_:") else next(free)
            for name in used
            if name.startswith(("_:", FRESH))
        }
        return rule if all(old == new for old, new in names.items()) else rename_rule(rule, names)

    # Directives

    def column(self, children: list[Any]) -> Column:
        """`name: type` in a declaration; a question mark before the name is left out."""
        name = children[0]
        text = name.text if isinstance(name, Name) else str(name).removeprefix("?").strip("`")
        return Column(text, children[1].text, children[1].place)

    def read_over(self, children: list[Token]) -> None:
        """A directive that other engines need; it does not change the result here."""
        word = str(children[0]).split(maxsplit=1)[0]
        self.note(f"{word} is read over", self.place(children[0]), _READ_OVER[word])

    def include(self, children: list[Token]) -> None:
        """`.include` outside a program file: text that comes from elsewhere names no files."""
        remedy = "put it into a program file; read_program and the command line include"
        self.refuse("E123", ".include stands in a text that is no file", self.place(children[0]), remedy)

    def declaration(self, children: list[Any]) -> None:
        """`.decl p, q(x: number) qualifiers`; hints about storage are read over, all but `inline`."""
        columns = [child for child in children if isinstance(child, Column)]
        names = [child for child in children if isinstance(child, Name)]
        qualifiers = [child for child in children[1:] if not isinstance(child, Column | Name)]
        words = {str(token) for token in qualifiers}
        for name in names:
            self.declarations.declare(name.text, columns, name.place, inline="inline" in words)
            if {"inline", "no_inline"} <= words:
                sentence = f"{name.text} is declared inline and no_inline"
                self.refuse("E132", sentence, name.place, "keep one of the two words")
        for token in qualifiers:
            self._qualify(token, names)

    def _qualify(self, token: Token, names: list[Name]) -> None:
        word = str(token).split()[0]
        if word in _REFUSED_QUALIFIERS:
            self.refuse_feature(f"the qualifier {word}", self.place(token), _REFUSED_QUALIFIERS[word])
        if word == "overridable":
            self.note("overridable is read over", self.place(token), "there are no components to override it in")
        for name in names:
            self._direct(word, Directed.at(name.text, (), name.place))

    def type_alias(self, children: list[Any]) -> None:
        """`.type T <: base` or `.type T = A | B`."""
        name = children[1]
        members = tuple(child.text for child in children[2:])
        self.declarations.aliases[name.text] = Alias(members, name.place)

    def input_output(self, children: list[Any]) -> None:
        """`.input`, `.output` or `.printsize`, for one relation or several."""
        word, *targets = children
        for target in targets:
            self._direct(str(word)[1:], target)

    def _direct(self, word: str, target: Directed) -> None:
        relation, options = target
        match word:
            case "input":
                self.declarations.inputs.append(target)
            case "output":
                self.declarations.outputs.append(target)
            case "printsize":
                sized = (("IO", "stdoutprintsize"), *options)
                self.declarations.outputs.append(Directed.at(relation, sized, target.place))

    def target(self, children: list[Any]) -> Directed:
        """A relation with the options of a directive."""
        name, *options = children
        return Directed.at(name.text, tuple(options), name.place)

    def option(self, children: list[Any]) -> tuple[str, str]:
        """`name=value` in a directive."""
        name, value = children
        return name.text, value

    def option_value(self, children: list[Token]) -> str:
        """An option's value as a string, quoted or not."""
        token = children[0]
        return self.text_of(str(token), self.place(token)) if token.type == "STRING" else str(token)
