"""A program file and the files that it includes, as one text.

What      : `included` replaces every `.include "file"` by the file's text; `Text` knows where each line comes from.
Idea      : inclusion is textual, as in Souffle, so that types and declarations of one file are known in the others. A
            file is included once, however often it is named.
Invariant : only files inside the folder of the program are read, links followed; what is in a comment or a string
            includes nothing.
Never     : texts of updates and rules that are added never come here: they name no files (promise 8).

Codes: E123 a file that cannot be included.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.errors import Place, ProgramError

_FOUND = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | `(?:[^`\\\n]|\\.)*`
      | (?P<include>^[ \t]*[.\#]include[ \t]+"(?P<name>[^"\n]*)"[ \t]*$)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


@dataclass(slots=True)
class Text:
    """Lines put together from files."""

    lines: list[str] = field(default_factory=list)
    origins: list[tuple[str, int]] = field(default_factory=list)

    def add(self, text: str, source: str, first: int) -> None:
        """Add lines of a file, the first of which has a number in it."""
        for number, line in enumerate(text.split("\n"), first):
            self.lines.append(line)
            self.origins.append((source, number))

    def origin(self, line: int) -> tuple[str, int]:
        """The file and the number there of a line."""
        return self.origins[min(line, len(self.origins)) - 1]


def included(file: Path, read: Callable[[Path], str]) -> Text:
    """The text of a program file with what it includes; `read` gives the text of a file."""
    found = Text()
    _include(file, str(file), file.resolve().parent, {file.resolve()}, read, found)
    return found


def _include(file: Path, shown: str, root: Path, seen: set[Path], read: Callable[[Path], str], found: Text) -> None:
    text = read(file)
    position, line = 0, 1
    for match in _FOUND.finditer(text):
        if match["include"] is None:
            continue
        before = text[position : match.start()]
        if before:
            found.add(before.removesuffix("\n"), shown, line)
        line += before.count("\n")
        target = _checked(file.parent / match["name"], root, Place(shown, line, 1, match[0]))
        if target not in seen:
            seen.add(target)
            name = str(Path(shown).parent / match["name"])
            _include(target, name, root, seen, read, found)
        line += match[0].count("\n") + 1
        position = min(match.end() + 1, len(text))
    found.add(text[position:], shown, line)


def _checked(path: Path, root: Path, place: Place) -> Path:
    """The file that is meant, if it is one inside the program's folder."""
    try:
        target = path.resolve()
        if not target.is_relative_to(root):
            remedy = "include files inside the folder of the program only"
            raise ProgramError.of(
                "E123", f"{path.name} is outside the folder of the program", place=place, remedy=remedy
            )
        if target.is_file():
            return target
    except (OSError, ValueError, RuntimeError):
        pass
    raise ProgramError.of("E123", f"there is no file {path} to include", place=place, remedy="check the path")
