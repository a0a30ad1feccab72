"""RDF from files, folders and other libraries' graphs.

What      : `read_quads` takes a file in any RDF format, plain or compressed, a folder of them, or a graph of rdflib or
            pyoxigraph.
Idea      : N-Triples and N-Quads go to the scanner as they are. Everything else, and what the scanner is not sure of,
            is parsed by pyoxigraph and written as N-Quads, which the scanner then trusts: both work without
            a line of Python per triple.
Invariant : a source is read wholly or refused with file and line. Nothing is fetched: a JSON-LD context that is not in
            the file is refused by the parser.
Never     : no relations.

Codes: E331 a file that is no RDF, E332 a source of another kind.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from tidelog.changes.shared import SharedFacts
from tidelog.errors import Place, Problem, UpdateError
from tidelog.rdf.literals import from_oxigraph
from tidelog.rdf.quads import Quads, Unsure, merged, of_triples, scanned

FORMATS = {
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".ttl": ox.RdfFormat.TURTLE,
    ".turtle": ox.RdfFormat.TURTLE,
    ".trig": ox.RdfFormat.TRIG,
    ".n3": ox.RdfFormat.N3,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".xml": ox.RdfFormat.RDF_XML,
    ".jsonld": ox.RdfFormat.JSON_LD,
}
COMPRESSIONS = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}
_LINES = (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS)


def is_rdf(path: str | Path) -> bool:
    """Whether a file's name says that it holds RDF."""
    return format_of(Path(path)) is not None


def format_of(path: Path) -> ox.RdfFormat | None:
    """The format that a file's endings name."""
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] in COMPRESSIONS:
        endings.pop()
    return FORMATS.get(endings[-1]) if endings else None


def read_quads(source: object, *, keep_labels: bool = False) -> Iterator[Quads]:
    """The statements of a source, file by file; `keep_labels` leaves blank nodes the labels that the source has."""
    if isinstance(source, str | Path):
        for path in _files(Path(source)):
            yield read_file(path, keep_labels=keep_labels)
        return
    if isinstance(source, Quads):
        yield source
        return
    kind = type(source).__module__.partition(".")[0]
    if kind == "rdflib" and hasattr(source, "serialize"):
        yield _of_rdflib(source, keep_labels)
    elif kind == "pyoxigraph" and isinstance(source, Iterable):
        yield _of_statements(source, keep_labels)
    elif isinstance(source, Iterable):
        yield _of_tuples(source)
    else:
        raise UpdateError.of(
            "E332",
            f"triples come as {type(source).__name__}",
            remedy="give a file, a folder, a list of triples, or a graph of rdflib or pyoxigraph",
        )


def facts(*sources: object) -> SharedFacts:
    """The statements of all sources as facts of one relation: `engine.apply(insert={"triple": rdf.facts("a.ttl")})`.

    They have three columns, or four if there are named graphs. Sources are those of `read_quads`.
    """
    return merged([quads for source in sources for quads in read_quads(source)]).facts()


def read_file(path: Path, *, keep_labels: bool = False) -> Quads:
    """The statements of one file."""
    form = format_of(path)
    if form is None:
        raise UpdateError.of(
            "E331", f"{path.name}: no such RDF format", remedy=f"use one of {', '.join(FORMATS)}, or these with .gz"
        )
    try:
        text = path.read_bytes()
        if path.suffix.lower() in COMPRESSIONS:
            text = COMPRESSIONS[path.suffix.lower()](text)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise UpdateError.of("E331", f"{path} cannot be read: {error}", remedy="check the file") from error
    return read_text(text, form, str(path), keep_labels=keep_labels)


def read_text(text: bytes, form: ox.RdfFormat, source: str = "<rdf>", *, keep_labels: bool = False) -> Quads:
    """The statements of a text in a given format."""
    if form in _LINES:
        try:
            return scanned(text, trusted=False, keep_labels=keep_labels)
        except Unsure:
            pass
    return scanned(_as_lines(text, form, source), trusted=True, keep_labels=keep_labels)


def _as_lines(text: bytes, form: ox.RdfFormat, source: str) -> bytes:
    """Any format as N-Quads, by pyoxigraph's own parser and writer."""
    base = None if form in _LINES else Path(source).absolute().as_uri() if source[:1] != "<" else "urn:tidelog:"
    try:
        written = ox.serialize(ox.parse(text, format=form, base_iri=base), format=ox.RdfFormat.N_QUADS)
    except SyntaxError as error:
        line, column = error.lineno or 1, error.offset or 1
        shown = _line(text, line)
        place = Place(source, line, column, shown)
        raise UpdateError(Problem("E331", f"no valid RDF: {error.msg}", place, "mend the line")) from error
    except (ValueError, OSError) as error:
        raise UpdateError.of("E331", f"{source} is no valid RDF: {error}", remedy="mend the file") from error
    assert written is not None
    if b"<<(" in written:
        raise UpdateError.of(
            "E331", f"{source} holds triples about triples", remedy="name the triples with reification"
        )
    return written


def _line(text: bytes, number: int) -> str | None:
    lines = text.split(b"\n", number)
    shown = lines[number - 1].decode(errors="replace").rstrip("\r") if number <= len(lines) else ""
    return shown if shown and len(shown) <= 200 else None


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.is_file() and is_rdf(file))
        if not found:
            raise UpdateError.of("E331", f"{path} holds no RDF files", remedy=f"add one of {', '.join(FORMATS)}")
        return found
    if not path.is_file():
        raise UpdateError.of("E331", f"{path} does not exist", remedy="give a file or folder with RDF")
    return [path]


def _of_rdflib(graph: Any, keep_labels: bool) -> Quads:  # noqa: ANN401 - rdflib is not imported to name its types
    form = "nquads" if getattr(graph, "context_aware", False) else "nt"
    text = graph.serialize(format=form, encoding="utf-8")
    return read_text(text, ox.RdfFormat.N_QUADS, "<rdflib>", keep_labels=keep_labels)


def _of_statements(statements: Iterable[Any], keep_labels: bool) -> Quads:
    written = ox.serialize(statements, format=ox.RdfFormat.N_QUADS)
    assert written is not None
    return scanned(written, trusted=True, keep_labels=keep_labels)


def _of_tuples(triples: Iterable[Any]) -> Quads:
    """Triples of constants, of pyoxigraph's or of rdflib's terms."""
    listed = list(triples)
    for row, triple in enumerate(listed, 1):
        if not isinstance(triple, tuple | list) and not isinstance(triple, ox.Triple | ox.Quad):
            raise UpdateError.of(
                "E332", f"row {row} is no triple: {triple!r}", remedy="give (subject, predicate, object)"
            )
    if any(isinstance(triple, ox.Triple | ox.Quad) for triple in listed):
        return _of_statements(listed, keep_labels=True)
    for row, triple in enumerate(listed, 1):
        if len(triple) != 3:
            raise UpdateError.of(
                "E332", f"row {row} has {len(triple)} terms", remedy="give (subject, predicate, object)"
            )
    values = [_value(term, row) for row, triple in enumerate(listed, 1) for term in triple]
    return of_triples([tuple(values[at : at + 3]) for at in range(0, len(values), 3)])


def _value(term: Any, row: int) -> Any:  # noqa: ANN401 - a term of any library
    module = type(term).__module__.partition(".")[0]
    if module == "rdflib":
        text = term.n3()
        return from_oxigraph([text])[0]
    if module == "pyoxigraph":
        return from_oxigraph([term])[0]
    from tidelog.changes.columns import plain

    return plain(term, "a triple", row)
