"""The facts that a program starts from: a folder of files, every one of which is used or named.

What      : `read_folder` reads the files of a program's relations, and warns of what it does not use.
Idea      : `.input` directives say which relations have files and how these look; without any, every relation of the
            program that has a file is read; without a program, every file is a relation.
Invariant : a file in the folder is read, or there is a warning with its name (W301); a first line that looks like a
            header is read as a fact only with a warning (W302). A column without a declaration has the type that the
            program's rules need, else what its text looks like.
Never     : nothing is written here, and no file outside the folder is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tidelog.analysis.spelling import nearest
from tidelog.analysis.types import relation_types
from tidelog.changes.columns import Columns
from tidelog.changes.delimited import Layout, first_records
from tidelog.changes.files import ENDINGS, find_file, read_file
from tidelog.changes.headers import looks_like_header
from tidelog.changes.opening import is_file, is_folder, plain_ending, plain_name
from tidelog.cli.rdf_commands import folder_facts, is_rdf
from tidelog.errors import Problem, UpdateError
from tidelog.language.directives import FileOptions, file_options
from tidelog.language.terms import Program
from tidelog.limits import Budget, Limits
from tidelog.observe.notices import warn
from tidelog.observe.progress import Progress

_TEXT_TYPES = frozenset({"number", "unsigned", "float", "bool", "symbol"})
_TEXT = (".facts", ".tsv", ".csv")
_LOOKED_AT, _NAMED = 20, 5
_HINTS = {".nt": "triples", ".ttl": "triples", ".txt": "text", ".json": "JSON", ".xlsx": "a spreadsheet", ".dl": ""}


@dataclass(frozen=True, slots=True)
class Source:
    """A file with the facts of a relation, and how it looks."""

    relation: str
    path: Path
    options: FileOptions


def read_folder(
    directory: str, program: Program, progress: Progress, limits: Limits, *, header: bool, everything: bool = False
) -> dict[str, Columns]:
    """The facts in the folder, by relation; a file that is larger than what may be used is not read.

    With `everything` files of relations that the program has not are read, too.
    """
    folder = Path(directory)
    if not is_folder(folder):
        raise UpdateError.of("E307", f"{directory} is no folder", remedy="give a folder with one file per relation")
    types = _types(program)
    sources = list(_sources(folder, program, types))
    if everything:
        known = {source.relation for source in sources}
        others = [(name, find_file(folder, name)) for name in _files_as_relations(folder) if name not in known]
        sources += [Source(name, path, FileOptions()) for name, path in others if path is not None]
    graph_files = {path for path in _visible(folder) if is_rdf(path)}
    _name_unused(folder, {source.path for source in sources} | graph_files, types)
    found, budget, size = {}, Budget(limits), 0
    with progress.stage("reading facts", unit="facts") as advance:
        for source in sources:
            size += source.path.stat().st_size if is_file(source.path) else 0
            budget.ask_bytes(size)
            budget.ask_time()
            has_header = header or source.options.header
            if not has_header:
                _doubt_header(source, program)
            found[source.relation] = read_file(
                source.path,
                source.relation,
                types.get(source.relation),
                header=has_header,
                delimiter=source.options.delimiter,
                quoted=source.options.quoted,
            )
            advance(len(found[source.relation]))
        of_graphs = folder_facts(folder, program)
        advance(sum(map(len, of_graphs.values())))
    if program.rules and not everything and of_graphs and of_graphs.keys().isdisjoint(types):
        _name_strange_graphs(graph_files)
    return found | of_graphs


def _types(program: Program) -> dict[str, tuple[str, ...]]:
    """The types in which text is read: declared, else needed by the rules, else any."""
    return {
        relation: tuple(kind if kind in _TEXT_TYPES else "any" for kind in columns)
        for relation, columns in relation_types(program).items()
    }


def _sources(folder: Path, program: Program, types: dict[str, tuple[str, ...]]) -> Iterator[Source]:
    """Everything there is to read."""
    for relation, pairs in program.inputs:
        options = file_options("input", relation, pairs)
        path = folder / options.filename if options.filename else find_file(folder, relation)
        if path is None:
            remedy = f"add {relation}.csv, .tsv, .facts, .jsonl or .parquet, or a filename to the .input directive"
            raise UpdateError.of("E307", f"{folder} has no file with the facts of {relation}", remedy=remedy)
        yield Source(relation, path, options)
    if program.inputs:
        return
    named = types if program.rules or program.declarations else _files_as_relations(folder)
    for relation in (name for name in named if ":" not in name):
        path = find_file(folder, relation)
        if path is not None:
            yield Source(relation, path, FileOptions())


def _files_as_relations(folder: Path) -> list[str]:
    return sorted({plain_name(path) for path in _visible(folder) if plain_ending(path) in ENDINGS})


def _visible(folder: Path) -> Iterator[Path]:
    """The files that are not hidden, nor left by programs that write folders, whose names begin with `_`."""
    return (path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith((".", "_")))


def _name_unused(folder: Path, used: set[Path], types: dict[str, tuple[str, ...]]) -> None:
    """Warn of every file that is not read: a few by name and remedy, the others by name."""
    unused = [path for path in _visible(folder) if path not in used]
    for path in unused[:_NAMED]:
        warn(Problem("W301", f"{path} is not used: {_why(path, types)}", None, _instead(path, types)))
    if len(unused) > _NAMED:
        names = ", ".join(path.name for path in unused[_NAMED : _NAMED + 20])
        warn(Problem("W301", f"{len(unused) - _NAMED} more files are not used: {names}", None, "move them away"))


def _name_strange_graphs(files: Iterable[Path]) -> None:
    """Warn of RDF files with nothing in them that a rule reads."""
    for path in sorted(files)[:_NAMED]:
        sentence = f"{path} is not used: no rule speaks of its classes and properties"
        warn(
            Problem(
                "W301",
                sentence,
                None,
                "name them: @prefix ex: <http://...> . and ex:knows(x, y), or read triple(s, p, o)",
            )
        )


def _why(path: Path, types: dict[str, tuple[str, ...]]) -> str:
    if plain_ending(path) not in ENDINGS:
        what = _HINTS.get(path.suffix.lower(), "")
        return f"{what or path.suffix or 'a name without ending'} is no format of facts"
    name = plain_name(path)
    return f"the program has no .input for {name}" if name in types else f"the program has no relation {name}"


def _instead(path: Path, types: dict[str, tuple[str, ...]]) -> str:
    name = plain_name(path)
    likely = nearest(name, types)
    if plain_ending(path) not in ENDINGS:
        return f"rename it to {name}.csv or .tsv, if it is text; formats are {', '.join(ENDINGS)}, packed or not"
    if name in types:
        return f"add .input {name}"
    return f"did you mean {likely}{plain_ending(path)}?" if likely else "rename it after a relation, or move it away"


def _doubt_header(source: Source, program: Program) -> None:
    """Warn if the first line looks like the names of the columns."""
    if plain_ending(source.path) not in _TEXT and source.options.delimiter is None:
        return
    if not is_file(source.path):
        return
    is_csv = plain_ending(source.path) == ".csv" if source.options.quoted is None else source.options.quoted
    layout = Layout(source.options.delimiter or ("," if is_csv else "\t"), is_csv)
    first, *below = [list(fields) for fields in islice(first_records(source.path, layout), _LOOKED_AT)] or [[]]
    declared = next((one.columns for one in program.declarations if one.relation == source.relation), ())
    if looks_like_header(first, below, [name for name, _ in declared]):
        line = layout.delimiter.join(first)
        warn(
            Problem(
                "W302",
                f"{source.path}: the first line, {line[:80]!r}, looks like a header and is read as a fact",
                None,
                "use --header, or headers=true in the .input directive",
            )
        )
