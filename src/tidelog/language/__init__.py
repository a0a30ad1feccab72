"""Text becomes a program: terms, values, parser, printer, dialects. Names are imported when they are first used."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.language.parser import parse, parse_atom, parse_rules
    from tidelog.language.printer import canonical_text, print_fact, print_program, print_rule, print_value, rule_key

__all__ = [
    "canonical_text",
    "parse",
    "parse_atom",
    "parse_rules",
    "print_fact",
    "print_program",
    "print_rule",
    "print_value",
    "rule_key",
]


def __getattr__(name: str) -> object:
    """A name of the parser or the printer."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "parser" if name.startswith("parse") else "printer"
    found = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = found
    return found
