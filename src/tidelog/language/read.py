"""A file becomes a program.

What      : `read_program`; the dialect is chosen by the file's ending or by name. Files of our own dialect may include
            others (including.py).
Idea      : a table from endings to dialects; a text is never looked at to guess what it might be.
Invariant : whatever is wrong with the file is a ProgramError that names it.
Never     : no grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

from tidelog.errors import ProgramError, expect
from tidelog.language.including import included
from tidelog.language.parser import parse
from tidelog.language.printer import print_program
from tidelog.language.terms import NO_RULES, Program


def _zodiacedge(text: str, source: str) -> Program:
    from tidelog.language.dialects import zodiacedge  # not at the top: most programs are in our own dialect

    return zodiacedge.read_rules(text, source)


def _rdfox(text: str, source: str) -> Program:
    from tidelog.language.dialects import rdfox

    return rdfox.read_rules(text, source)


DIALECTS: dict[str, Callable[[str, str], Program]] = {"tidelog": parse, "zodiacedge": _zodiacedge, "rdfox": _rdfox}
ENDINGS = {".dl": "tidelog", ".rules": "zodiacedge", ".dlog": "rdfox"}


def read_program(path: Path | str, dialect: str | None = None) -> Program:
    """The program in a file: `.dl` is Tidelog's language, `.rules` ZodiacEdge's, `.dlog` RDFox's, or as named."""
    file = Path(path)
    chosen = dialect or ENDINGS.get(file.suffix)
    if chosen is None:
        endings = ", ".join(f"{ending} ({name})" for ending, name in ENDINGS.items())
        raise ProgramError.of(
            "E116", f"{file}: the ending names no dialect", remedy=f"use {endings}, or name a dialect"
        )
    if chosen not in DIALECTS:
        raise ProgramError.of("E116", f"there is no dialect {chosen}", remedy=f"dialects are {', '.join(DIALECTS)}")
    if chosen == "tidelog":
        text = included(file, _text)
        return parse("\n".join(text.lines), str(path), text.origin)
    return DIALECTS[chosen](_text(file), str(path))


def read_rules(text: str, dialect: str = "tidelog", source: str = "<rules>") -> Program:
    """The program that a text in a dialect means."""
    if dialect not in DIALECTS:
        raise ProgramError.of("E116", f"there is no dialect {dialect}", remedy=f"dialects are {', '.join(DIALECTS)}")
    return DIALECTS[dialect](text, source)


def in_own_words(rule: str, dialect: str) -> str:
    """What names a rule: a name as it is, a text in another dialect as a text in Tidelog's own."""
    return print_program(read_rules(rule, dialect)).strip() if dialect != "tidelog" and ":-" in rule else rule


def asked_rules(add: object, remove: object, dialect: str = "tidelog") -> tuple[Program, tuple[str, ...]]:
    """The rules that an update adds, and what names those that it removes; E816 for what is neither."""
    expect(dialect, str, "the dialect", "a text")
    texts = (remove,) if isinstance(remove, str) else remove
    expect(texts, Iterable, "what remove_rules names", "a list of texts")
    removed = []
    for text in cast(Iterable[object], texts):
        expect(text, str, "a rule to remove", "a text: its name, or the rule itself")
        removed.append(in_own_words(cast(str, text), dialect))
    if isinstance(add, str):
        return read_rules(add, dialect), tuple(removed)
    expect(add, Program | None, "what add_rules holds", "a text, or a Program")
    return NO_RULES if add is None else cast(Program, add), tuple(removed)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror or str(error)
        raise ProgramError.of("E117", f"{file} cannot be read: {reason}", remedy="check the path") from error
    except UnicodeDecodeError as error:
        sentence = f"{file} is not UTF-8 text (byte {error.start})"
        raise ProgramError.of("E117", sentence, remedy="save it as UTF-8") from error
