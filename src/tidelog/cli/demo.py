"""`tidelog demo`: a story in five updates, told in a terminal.

What      : a small ferry network; facts and rules come and go, and every change is shown and checked.
Idea      : what a newcomer should see first: a deletion that takes some conclusions away and leaves others standing,
            a rule that is added while facts change, and a wrong rule that is refused with its place.
Invariant : after every update the facts are compared with recomputation; a difference ends the demonstration with E901.
Never     : nothing is read, written or sent; the story needs no files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.analysis.program_check import check
from tidelog.cli import Subparsers
from tidelog.errors import LawError, ProgramError
from tidelog.language.parser import parse, parse_rules
from tidelog.language.printer import print_fact
from tidelog.reference.algorithm import Algorithm
from tidelog.reference.backward_forward import BackwardForward
from tidelog.reference.facts import GroundFact, from_fact, to_fact
from tidelog.reference.naive import materialise

RULES = """
reach(x, y) :- ferry(x, y).
reach(x, z) :- reach(x, y), ferry(y, z).
cut_off(x)  :- port(x), !reach("harbour", x), x != "harbour".
"""

FACTS = """
port("harbour"). port("island"). port("lighthouse"). port("reef").
ferry("harbour", "island"). ferry("island", "lighthouse"). ferry("harbour", "lighthouse").
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """One update of the story, in the words of the rule language, and what to watch for."""

    title: str
    remark: str
    insert: str = ""
    delete: str = ""
    add_rules: str = ""
    remove_rules: tuple[str, ...] = ()


STORY = (
    Scene("A storm stops one ferry", "the lighthouse keeps its other line", delete='ferry("harbour", "island").'),
    Scene(
        "The reef gets a line", "a new fact takes a conclusion away: negation", insert='ferry("lighthouse", "reef").'
    ),
    Scene(
        "A rule arrives together with a fact",
        "rules change like facts, in one transaction",
        insert='ferry("reef", "lighthouse").',
        add_rules='round_trip: tour(x) :- reach(x, y), reach(y, x), x != "harbour".',
    ),
    Scene("A rule goes again", "what only it derived goes with it", remove_rules=("round_trip",)),
    Scene(
        "The last line from the harbour stops",
        "facts that only prove each other both go",
        delete='ferry("harbour", "lighthouse").',
    ),
)

MISTAKE = "lost(x, z) :- ferry(x, y)."


def register(subparsers: Subparsers) -> None:
    """Announce `demo`; it takes no arguments."""
    subparsers.add_parser("demo", help="watch facts and rules come and go", description="A story in five updates.")


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 (every command is handed its arguments)
    """Tell the story: show the program, play each scene, and end with a rule that is refused."""
    program = parse(RULES + FACTS, source="ferries.dl")
    check(program)
    print(f"Rules{_indented(RULES)}\n\nFacts{_indented(FACTS)}\n\nWhat follows")
    network = BackwardForward(program)
    _show("  ", network.facts - network.explicit)
    for number, scene in enumerate(STORY, 1):
        _play(number, scene, network)
    _refuse(MISTAKE)
    print(f"\nAfter each of the {len(STORY)} updates the facts equalled recomputation from scratch.")
    return 0


def _play(number: int, scene: Scene, network: Algorithm) -> None:
    """Apply one update, show the net change, and compare with recomputation."""
    print(f"\n{number}. {scene.title}: {scene.remark}")
    for sign, text in (("insert", scene.insert), ("delete", scene.delete), ("add rule", scene.add_rules)):
        if text:
            print(f"   {sign} {text}")
    for name in scene.remove_rules:
        print(f"   remove rule {name}")
    inserted, deleted = network.apply(
        _facts(scene.insert), _facts(scene.delete), parse_rules(scene.add_rules), scene.remove_rules
    )
    _show("     + ", inserted)
    _show("     - ", deleted)
    if network.facts != materialise(network.rules, network.explicit):
        raise LawError.of("E901", f"after scene {number} the facts differ from recomputation")


def _refuse(rule: str) -> None:
    """Show how a wrong rule is reported: with code, place and remedy, and without any effect."""
    print("\nAnd a rule that means nothing is refused, with its place:")
    try:
        check(parse(rule, source="new_rule.dl"))
    except ProgramError as error:
        print(_indented(f"\n{error}").lstrip("\n"))


def _facts(text: str) -> list[GroundFact]:
    return [to_fact(fact.relation, [constant.value for constant in fact.values]) for fact in parse(text).facts]


def _show(prefix: str, facts: Iterable[GroundFact]) -> None:
    for line in sorted(print_fact(*from_fact(fact)) for fact in facts):
        print(prefix + line)


def _indented(text: str) -> str:
    return text.rstrip().replace("\n", "\n  ")
