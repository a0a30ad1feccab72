"""Text becomes a program: terms, values, parser, printer, dialects."""

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
