"""Text becomes a program: terms, values, parser, printer, dialects."""
