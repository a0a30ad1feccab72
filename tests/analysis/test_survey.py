"""What is known of the program before answers no question otherwise than the program itself would.

A check that leans on the one before it can be wrong in two ways: it lets something pass that was settled by a rule it
no longer looks at, or it holds a rule against something that is gone. So rules come and go at random, with clashes of
types, arities, names and strata among them, and every check must say, to the letter, what a check from scratch says.
"""

from __future__ import annotations

import pickle
import random
from dataclasses import replace

import pytest

import tidelog as tl
from tidelog.analysis import program_check
from tidelog.analysis.program_check import check, examine, problems
from tidelog.errors import Problem, ProgramError
from tidelog.language.parser import parse

FRAMES = ("", ".decl a(x: number, y: symbol)\n", ".decl a(x: any, y: number)\n.decl c(x: unsigned)\n")
ARITIES = {"a": 2, "b": 2, "c": 1, "d": 1, "e": 2, "f": 1, "g": 2}
TERMS = ("x", "x", "y", "y", "z", "_", "1", "-1", "2.5", '"s"', "true", "x + 1", "cat(y, z)", "max(x, z)")


class Author:
    """Writes rules that often clash, but not always."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def rules(self) -> str:
        return "\n" * self.chance.randrange(3) + "\n".join(
            self.rule() for _ in range(self.chance.choice((1, 1, 1, 2, 3)))
        )

    def rule(self) -> str:
        name = self.chance.choice(("", "", "r1: ", "r2: ", "r3: "))
        body = [self.literal() for _ in range(self.chance.choice((1, 1, 2, 3)))]
        return f"{name}{self.atom('xxyyz')} :- {', '.join(body)}."

    def literal(self) -> str:
        what = self.chance.random()
        if what < 0.7:
            return self.atom("xxyyz_")
        if what < 0.8:
            return f"!{self.atom('xyz_')}"
        if what < 0.9:
            return f"{self.chance.choice('xyz')} {self.chance.choice(('=', '<', '!='))} {self.chance.choice(TERMS)}"
        function = self.chance.choice(("count : ", "sum w : ", "max w : ", "mean w : "))
        return f"{self.chance.choice('xyz')} = {function}{{ {self.chance.choice(('a(x, w)', 'c(w)', 'b(w, v)'))} }}"

    def atom(self, names: str) -> str:
        relation = self.chance.choice(tuple(ARITIES))
        arity = ARITIES[relation] + (self.chance.random() < 0.02)
        terms = [self.chance.choice(TERMS if self.chance.random() < 0.15 else names) for _ in range(arity)]
        return f"{relation}({', '.join(terms)})"


def shown(found: tuple[Problem, ...]) -> list[str]:
    return [f"{problem} {problem.place} {problem.related}" for problem in found]


@pytest.mark.parametrize("seed", range(60))
def test_rules_that_come_and_go_meet_the_same_answers_as_the_program_from_scratch(seed):
    """Whatever was added, refused and removed before."""
    author = Author(seed)
    present = check(parse(author.chance.choice(FRAMES)))
    taken = refused = 0
    for _ in range(80):
        rules = list(present.program.rules)
        if rules and author.chance.random() < 0.3:
            for rule in author.chance.sample(rules, min(len(rules), author.chance.choice((1, 1, 2)))):
                rules.remove(rule)
        if author.chance.random() < 0.85:
            try:
                rules.extend(rule for rule in parse(author.rules()).rules if rule not in rules)
            except ProgramError:  # one name twice in one text is the parser's business
                continue
        after = examine(replace(present.program, rules=tuple(rules)), present)
        assert shown(after.problems) == shown(problems(after.program)), [str(rule) for rule in rules]
        if after.problems:
            refused += 1
        else:
            taken += 1
            present = after if author.chance.random() < 0.9 else present
    assert taken > 5
    assert refused > 5


def test_a_rule_that_fits_is_not_held_against_the_whole_program(monkeypatch):
    """This is what makes a small change cheap; a rule never seen before, and one behind a removed one."""
    before = check(parse("a: p(x) :- q(x, y), y > 1.\nb: r(x) :- p(x), !s(x).\nc: t(x) :- r(x)."))
    monkeypatch.setattr(program_check, "TypeInference", None)
    rules = before.program.rules[:2]
    without = check(replace(before.program, rules=rules), before)
    check(replace(before.program, rules=(*rules, *parse("c: u(x, 1) :- r(x), p(x).").rules)), without)


def test_a_column_may_not_close_over_values_that_do_not_agree():
    """A rule that goes may be the only reason why a column takes anything; fewer rules then ask for more."""
    text = '.decl any(x: any)\nopen: p(x) :- any(x).\none: p(1) :- q(x).\ntwo: p("a") :- q(x).'
    before = check(parse(text))
    after = examine(replace(before.program, rules=before.program.rules[1:]), before)
    assert [problem.code for problem in after.problems] == ["E203"]


def test_what_is_left_of_rules_that_are_gone_is_forgotten_in_the_end():
    """Rules that come and go for ever must not fill the memory."""
    first = present = check(parse("p(x) :- q(x)."))
    for number in range(150):
        rules = (*first.program.rules, *parse(f"r{number}: p(x) :- q(x), s(x).").rules)
        present = check(first.program, check(replace(first.program, rules=rules), present))
    assert present.survey is not first.survey


def test_a_program_that_was_checked_is_still_a_value():
    """What a check finds out is no part of the program: it can be pickled, and two engines share nothing by it."""
    program = parse("p(x) :- q(x), x < 3.")
    engine = tl.Engine(program)
    assert pickle.loads(pickle.dumps(engine.program)) == engine.program
    assert pickle.loads(pickle.dumps(program)) == program
