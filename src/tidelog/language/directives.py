"""What `.input` and `.output` may ask for.

What      : `FileOptions` of a directive: file name, separator, quotes, header; what is not supported is refused.
Idea      : Souffle's options are read into a value once; commands that read or write files use nothing else.
Invariant : an option is obeyed or refused, never ignored. A file name stays inside the folder that the user named.
Never     : no file is opened.

Codes: E122 an option that is not supported, or a value that it cannot have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from tidelog.errors import Problem, ProgramError
from tidelog.language.terms import Directed, Options, Program

_KNOWN = {"IO", "filename", "delimiter", "rfc4180", "headers"}
_INPUTS, _OUTPUTS = ("file",), ("file", "stdout", "stdoutprintsize")
_ESCAPES = {r"\t": "\t", "tab": "\t"}
_INSTEAD = {
    "sqlite": "export the table to a file, or insert a DuckDB or pandas table in Python",
    "stdin": "put the facts into a file; `maintain --updates -` reads updates from standard input",
    "columns": "bring the columns into the order of the relation",
    "compress": "name the file .csv.gz: packed files are unpacked",
}


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The options of one directive, as far as they are supported."""

    medium: str = "file"
    filename: str | None = None
    delimiter: str | None = None
    quoted: bool | None = None
    header: bool = False


def file_options(word: str, relation: str, options: Iterable[tuple[str, str]]) -> FileOptions:
    """The options of a directive `.input` or `.output`; a ProgramError names what is not supported."""
    given = dict(options)
    found = list(_problems(word, relation, given))
    if found:
        raise ProgramError(found)
    delimiter = given.get("delimiter")
    quoted = _truth(given["rfc4180"]) if "rfc4180" in given else None
    return FileOptions(
        given.get("IO", "file").lower(),
        given.get("filename"),
        _ESCAPES.get(delimiter, delimiter) if delimiter else None,
        quoted,
        bool(_truth(given.get("headers", "false"))),
    )


def problems(program: Program) -> Iterator[Problem]:
    """Every directive of a program that asks for something that is not supported."""
    seen: set[str] = set()
    for pair in program.inputs:
        relation, options = pair
        yield from _placed(pair, _problems("input", relation, dict(options)))
        if relation in seen:
            found = Problem("E122", f"{relation} has two .input directives", None, "join the files, keep one directive")
            yield from _placed(pair, [found])
        seen.add(relation)
    for pair in program.outputs:
        relation, options = pair
        yield from _placed(pair, _problems("output", relation, dict(options)))


def _placed(pair: tuple[str, Options], found: Iterable[Problem]) -> Iterator[Problem]:
    """Problems of a directive with its place, if it stands in a text."""
    place = pair.place if isinstance(pair, Directed) else None
    return (replace(problem, place=place) for problem in found)


def _problems(word: str, relation: str, given: dict[str, str]) -> Iterator[Problem]:
    where = f".{word} {relation}"
    medium = given.get("IO", "file").lower()
    if medium not in (_INPUTS if word == "input" else _OUTPUTS):
        remedy = _INSTEAD.get(medium, "leave it out: facts are read from and written to files")
        yield Problem("E122", f"{where}: IO={given['IO']} is not supported", None, remedy)
        return
    for name in given.keys() - _KNOWN:
        remedy = _INSTEAD.get(name, f"leave it out; supported are {', '.join(sorted(_KNOWN))}")
        yield Problem("E122", f"{where}: the option {name} is not supported", None, remedy)
    delimiter = given.get("delimiter", ",")
    separator = _ESCAPES.get(delimiter, delimiter)
    if len(separator) != 1:
        yield Problem("E122", f"{where}: the delimiter {delimiter!r} is not one character", None, "use a single one")
    elif not separator.isascii() or separator in '"\r\n\0':
        sentence = f"{where}: the delimiter {delimiter!r} cannot separate values"
        yield Problem("E122", sentence, None, "use one of ASCII, such as , or ; or tab")
    for name in ("rfc4180", "headers"):
        if name in given and _truth(given[name]) is None:
            yield Problem("E122", f"{where}: {name} is {given[name]!r}", None, "write true or false")
    path = PurePath(given.get("filename", "x"))
    if path.is_absolute() or ".." in path.parts or "\0" in str(path):
        yield Problem("E122", f"{where}: {path} leads out of the folder", None, "give a name inside the folder")


def _truth(text: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
