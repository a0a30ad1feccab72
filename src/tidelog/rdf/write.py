"""Triples as text.

What      : facts of a layout as lines of N-Triples, and files in every RDF format.
Idea      : lines are made column by column with Arrow; other formats are written by pyoxigraph from the lines.
Invariant : what is written and read again is the same, up to the labels of blank nodes. Triples that RDF does not have
            (a literal as subject) are left out. A file is whole or not there.
Never     : no reasoning.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from tidelog.changes.term_arrays import is_term_type
from tidelog.errors import UpdateError
from tidelog.language.rdf_terms import XSD
from tidelog.rdf.layouts import RDF_TYPE, term_of_name
from tidelog.rdf.literals import spelled
from tidelog.rdf.read import COMPRESSIONS, format_of
from tidelog.rdf.rule_table import TRIPLE

_BLANK, _NOTHING = pa.scalar(" ", pa.large_string()), pa.scalar("", pa.large_string())
_SPECIAL = r'[\\"\x00-\x1f\x7f]'


def lines(relation: str, facts: pa.Table) -> bytes:
    """The triples of a relation's facts as N-Triples, without those that RDF does not have."""
    if not facts.num_rows:
        return b""
    columns = [texts(column) for column in facts.columns]
    count = facts.num_rows
    if relation == TRIPLE:
        subject, predicate, target = columns
    elif len(columns) == 1:
        subject, predicate, target = (
            columns[0],
            _repeated(RDF_TYPE.text, count),
            _repeated(relation_text(relation), count),
        )
    else:
        subject, predicate, target = columns[0], _repeated(relation_text(relation), count), columns[1]
    shown = pc.and_(pc.invert(pc.starts_with(subject, '"')), pc.starts_with(predicate, "<"))
    joined = pc.binary_join_element_wise(subject, predicate, target, _repeated(".\n", count), _BLANK)
    return b"".join(concatenated(chunk) for chunk in _chunks(pc.filter(joined, shown)))


def relation_text(relation: str) -> str:
    """The N-Triples text of a class or property."""
    return term_of_name(relation).text


def texts(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column of constants as N-Triples texts."""
    parts = [_texts(chunk) for chunk in _chunks(column)]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())


def write_lines(path: str | Path, written: Iterable[bytes]) -> Path:
    """Write N-Triples in the format that the path's endings name."""
    path = Path(path)
    form = format_of(path)
    if form is None:
        raise UpdateError.of("E331", f"{path.name}: no such RDF format", remedy="end it in .nt, .ttl, .rdf or .jsonld")
    text = b"".join(written)
    if form not in (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS):
        statements = ox.parse(text, format=ox.RdfFormat.N_TRIPLES)
        text = ox.serialize((one.triple for one in statements), format=form, prefixes=_PREFIXES) or b""
    ending = path.suffix.lower()
    if ending in COMPRESSIONS:
        text = gzip.compress(text, mtime=0) if ending == ".gz" else _packed(ending, text)
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_bytes(text)
        os.replace(partial, path)  # noqa: PTH105 - replaces on every system
    finally:
        partial.unlink(missing_ok=True)
    return path


_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": XSD,
}


def _packed(ending: str, text: bytes) -> bytes:
    import bz2
    import lzma

    return bz2.compress(text) if ending == ".bz2" else lzma.compress(text)


def _texts(array: pa.Array) -> pa.Array:
    kind = array.type
    if is_term_type(kind):
        return array.storage
    if pa.types.is_union(kind):
        return _union(array)
    if pa.types.is_integer(kind):
        return _quoted(array.cast(pa.large_string()), f'"^^<{XSD}integer>')
    if pa.types.is_boolean(kind):
        return _quoted(array.cast(pa.large_string()), f'"^^<{XSD}boolean>')
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        plain = array.cast(pa.large_string())
        if not pc.any(pc.match_substring_regex(plain, _SPECIAL)).as_py():
            return _quoted(plain, '"')
    return pa.array([spelled(value) for value in array.to_pylist()], pa.large_string())


def _union(array: pa.Array) -> pa.Array:
    """A mixed column, type by type; of a part of a column only the values that it uses are looked at."""
    _, of_codes, of_offsets, *_ = array.buffers()
    here = slice(array.offset, array.offset + len(array))  # the properties of a sliced union are those of the whole one
    codes, offsets = np.frombuffer(of_codes, np.int8)[here], np.frombuffer(of_offsets, np.int32)[here]
    parts: list[pa.Array] = []
    places, start = np.empty(len(codes), np.int64), 0
    for number in range(array.type.num_fields):
        chosen = codes == number
        used, values = offsets[chosen], array.field(number)
        if len(values) > used.size:
            values, used = values.take(pa.array(used)), np.arange(used.size)
        parts.append(_texts(values))
        places[chosen] = start + used
        start += len(values)
    return pa.concat_arrays(parts).take(pa.array(places))


def _quoted(plain: pa.Array, ending: str) -> pa.Array:
    return pc.binary_join_element_wise(_repeated('"', len(plain)), plain, _repeated(ending, len(plain)), _NOTHING)


def _repeated(text: str, count: int) -> pa.Array:
    return pa.array([text], pa.large_string()).take(pa.array(np.zeros(count, np.int64)))


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def concatenated(array: pa.Array) -> bytes:
    """The strings of an array of large strings, one behind the other."""
    if not len(array):
        return b""
    _, bounds, data = array.buffers()
    places = np.frombuffer(bounds, np.int64)[array.offset : array.offset + len(array) + 1]
    return bytes(memoryview(data)[places[0] : places[-1]]) if data is not None else b""
