"""Triples as rows of numbers.

What      : `Quads`: the statements of one source, and the distinct constants in them.
Idea      : a scanner (backends/local/constants/quad_scanner.py) cuts N-Quads into spans with numbers; here every
            distinct span becomes a constant, the usual ones by slices of the text and without a Python object.
Invariant : blank nodes have labels that no other source has: they begin with a digest of the source's text.
Never     : no files (see read.py) and no relations (see layouts.py).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.backends.local.constants import quad_scanner as scanner
from tidelog.backends.local.constants.quad_scanner import BLANK, OTHER, RESOURCE, STRING
from tidelog.backends.local.kernels.compiled import read_only
from tidelog.changes.columns import from_values
from tidelog.changes.shared import SharedConstants, SharedFacts
from tidelog.changes.term_arrays import as_terms, is_term_type
from tidelog.language.rdf_terms import RdfTerm
from tidelog.language.terms import Value
from tidelog.rdf.literals import of_texts

GIVEN = re.compile(r"_:t[0-9a-f]{10}x[0-9]+")
"""The labels that we give to blank nodes."""

FEW = 64
"""Up to how many triples are handled one by one."""

DEFAULT_GRAPH = ""
"""What stands for the default graph where named graphs are a column."""

Triple = tuple[Value, Value, Value]
Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Quads:
    """Statements: rows of subject, predicate, object and graph (-1 for the default graph) over distinct constants."""

    constants: SharedConstants
    rows: Rows
    labels: tuple[tuple[str, int], ...] = ()
    """The beginnings of the labels that were given to blank nodes here, and how many of each."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def has_graphs(self) -> bool:
        """Whether a statement stands in a named graph."""
        return bool(len(self.rows)) and bool((self.rows[:, 3] >= 0).any())

    def values(self) -> list[Value]:
        """The constants as Python values."""
        return self.constants.values.to_pylist()  # type: ignore[no-any-return]

    def triples(self) -> Iterator[Triple]:
        """The statements without their graphs, as Python values; for few of them."""
        values = self.values()
        return ((values[s], values[p], values[o]) for s, p, o, _ in self.rows.tolist())

    def facts(self) -> SharedFacts:
        """The statements as facts of one relation: three columns, or four if there are named graphs.

        The default graph is then the empty string.
        """
        if not self.has_graphs:
            return SharedFacts(self.constants, self.rows[:, :3])
        known = merged([self, Quads(_shared([DEFAULT_GRAPH]), np.empty((0, 4), np.int32))])
        last = np.int32(len(known.constants.values) - 1)
        return SharedFacts(known.constants, np.where(known.rows >= 0, known.rows, last))

    def blank_nodes(self) -> list[str]:
        """The labels of the blank nodes, with `_:`."""
        values = self.constants.values
        fields = map(values.field, range(values.type.num_fields)) if pa.types.is_union(values.type) else [values]
        texts = [field.storage for field in fields if is_term_type(field.type)]
        return [label for text in texts for label in text.filter(pc.starts_with(text, "_")).to_pylist()]


class ListedQuads(Quads):
    """A few statements as Python values; numbers and constants are made only if somebody asks for them."""

    def __init__(self, triples: list[Triple]) -> None:
        object.__setattr__(self, "listed", triples)
        object.__setattr__(self, "labels", ())

    listed: list[Triple]

    def __len__(self) -> int:
        return len(self.listed)

    def __getattr__(self, name: str) -> object:
        if name not in ("constants", "rows"):
            raise AttributeError(name)
        made = _numbered(self.listed)
        object.__setattr__(self, "constants", made.constants)
        object.__setattr__(self, "rows", made.rows)
        return object.__getattribute__(self, name)

    @property
    def has_graphs(self) -> bool:
        """Never: a triple has no graph."""
        return False

    def values(self) -> list[Value]:
        """The terms of all statements, as often as they occur."""
        return [term for triple in self.listed for term in triple]

    def triples(self) -> Iterator[Triple]:
        """The statements."""
        return iter(self.listed)

    def blank_nodes(self) -> list[str]:
        """The labels of the blank nodes, as often as they occur."""
        return [value.text for value in self.values() if isinstance(value, RdfTerm) and value.text[0] == "_"]


class Unsure(Exception):  # noqa: N818 - no error: it tells who reads to ask a full parser
    """The scanner met a line that a full parser has to judge."""


def of_triples(triples: Iterable[Triple]) -> Quads:
    """Statements from Python values."""
    listed = list(triples)
    return ListedQuads(listed) if len(listed) <= FEW else _numbered(listed)


def _numbered(triples: list[Triple]) -> Quads:
    """Statements as rows of numbers."""
    seen: dict[tuple[str, Value], int] = {}

    def number(value: Value) -> int:
        return seen.setdefault((type(value).__name__, value), len(seen))

    rows = [(number(s), number(p), number(o), -1) for s, p, o in triples]
    return Quads(_shared([value for _, value in seen]), np.array(rows, np.int32).reshape(-1, 4))


def scanned(text: bytes, *, trusted: bool, keep_labels: bool = False) -> Quads:
    """The statements of N-Quads; `trusted` text comes from a parser, other text may turn out to be Unsure."""
    data = read_only(np.frombuffer(text, np.uint8))
    room = max(1024, len(text) // 100)
    rows, spans = np.empty((room, 4), np.int32), np.empty((2, room), np.int64)
    kinds, table, counters = np.empty(room, np.int8), _table(room), np.zeros(3, np.int64)
    while True:
        found = scanner.scan(data, int(trusted), rows, spans[0], spans[1], kinds, table, counters, scanner.CLASSES)
        if found == scanner.UNSURE:
            raise Unsure
        if found == scanner.DONE:
            break
        if counters[scanner.ROWS] >= len(rows):
            rows = np.concatenate([rows, np.empty_like(rows)])
        if counters[scanner.TERMS] + 4 > kinds.size or 2 * (counters[scanner.TERMS] + 4) > table.size:
            spans, kinds = np.concatenate([spans, np.empty_like(spans)], axis=1), np.concatenate([kinds, kinds])
            table = _table(kinds.size)
            counters[:] = 0
    count = int(counters[scanner.TERMS])
    terms = _Terms(text, data, spans[:, :count], kinds[:count])
    digest = None if keep_labels else hashlib.blake2b(text, digest_size=5).hexdigest()
    shared, translation = terms.constants(digest)
    rows = rows[: counters[scanner.ROWS]]
    if translation is not None:
        rows = np.where(rows >= 0, translation[rows], np.int32(-1)).astype(np.int32)
    blanks = int(np.count_nonzero(kinds[:count] == BLANK))
    return Quads(shared, rows, ((digest, blanks),) if digest and blanks else ())


def merged(parts: list[Quads]) -> Quads:
    """The statements of several sources as one."""
    if len(parts) == 1:
        return parts[0]
    if sum(map(len, parts)) <= FEW and all(isinstance(part, ListedQuads) for part in parts):
        return ListedQuads([triple for part in parts for triple in part.triples()])
    rows, total = [], 0
    kinds: dict[pa.DataType, list[pa.Array]] = {}
    codes, offsets = [], []
    for part in parts:
        rows.append(np.where(part.rows >= 0, part.rows + total, np.int32(-1)))
        total += len(part.constants.values)
        for its_codes, its_offsets in _parts(part.constants.values, kinds):
            codes.append(its_codes)
            offsets.append(its_offsets)
    arrays = [pa.concat_arrays(chunks) for chunks in kinds.values()]
    labels = tuple(label for part in parts for label in part.labels)
    if not arrays:
        return Quads(SharedConstants(pa.array([], pa.int64())), np.empty((0, 4), np.int32))
    union = pa.UnionArray.from_dense(pa.array(np.concatenate(codes)), pa.array(np.concatenate(offsets)), arrays)
    return Quads(SharedConstants(union), np.concatenate(rows).astype(np.int32), labels)


def _parts(
    values: pa.Array, kinds: dict[pa.DataType, list[pa.Array]]
) -> Iterator[tuple[npt.NDArray[np.int8], npt.NDArray[np.int32]]]:
    """Add the constants to the arrays of their types; where each of them is then."""
    numbers = {kind: number for number, kind in enumerate(kinds)}

    def placed(array: pa.Array) -> tuple[int, int]:
        number = numbers.setdefault(array.type, len(numbers))
        chunks = kinds.setdefault(array.type, [])
        start = sum(map(len, chunks))
        chunks.append(array)
        return number, start

    if not len(values):
        return
    if not pa.types.is_union(values.type):
        number, start = placed(values)
        yield np.full(len(values), number, np.int8), np.arange(start, start + len(values), dtype=np.int32)
        return
    codes, offsets = values.type_codes.to_numpy(), values.offsets.to_numpy()
    places = np.array([placed(values.field(at)) for at in range(values.type.num_fields)], np.int64)
    yield places[codes, 0].astype(np.int8), (places[codes, 1] + offsets).astype(np.int32)


def _table(room: int) -> npt.NDArray[np.uint64]:
    return np.zeros(1 << (2 * (room + 4)).bit_length(), np.uint64)


@dataclass(frozen=True)
class _Terms:
    """The distinct spans of a text and what they are."""

    text: bytes
    data: npt.NDArray[np.uint8]
    spans: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.int8]

    def constants(self, digest: str | None) -> tuple[SharedConstants, Rows | None]:
        """The constants, and their numbers by span if these differ from the spans' own."""
        resources, strings = np.flatnonzero(self.kinds == RESOURCE), np.flatnonzero(self.kinds == STRING)
        blanks, others = np.flatnonzero(self.kinds == BLANK), np.flatnonzero(self.kinds == OTHER)
        parts: list[tuple[npt.NDArray[np.int64], pa.Array]] = []
        terms = [self._slices(resources, 0)]
        if blanks.size:
            terms.append(self._labels(blanks, digest))
        known = np.concatenate([resources, blanks])
        if others.size:
            cut = [self.text[start:stop].decode() for start, stop in self.spans[:, others].T.tolist()]
            values = of_texts(cut)
            parts, left = _by_type(values, others)
            if left:
                known = np.concatenate([known, np.array([at for at, _ in left], np.int64)])
                terms.append(pa.array([text for _, text in left], pa.large_string()))
        parts.append((known, as_terms(pa.concat_arrays(terms))))
        if strings.size:
            parts.append((strings, self._slices(strings, 1)))
        return _merged(parts, len(self.kinds), unique=not others.size)

    def _slices(self, chosen: npt.NDArray[np.int64], cut: int) -> pa.Array:
        """Spans as Arrow strings, without `cut` bytes at both ends."""
        starts, stops = self.spans[0, chosen] + cut, self.spans[1, chosen] - cut
        lengths = stops - starts
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(bounds[-1]) - np.repeat(bounds[:-1] - starts, lengths)
        return pa.LargeStringArray.from_buffers(
            len(chosen), pa.py_buffer(bounds.astype(np.int64)), pa.py_buffer(self.data[at])
        )

    def _labels(self, blanks: npt.NDArray[np.int64], digest: str | None) -> pa.Array:
        if digest is None:
            return self._slices(blanks, 0)
        return pa.array([f"_:t{digest}x{number}" for number in range(len(blanks))], pa.large_string())


_Part = tuple[npt.NDArray[np.int64], pa.Array]


def _by_type(values: list[Value], at: npt.NDArray[np.int64]) -> tuple[list[_Part], list[tuple[int, str]]]:
    """Constants grouped by Python type, and the texts of those that are terms."""
    groups: dict[type, list[int]] = {}
    left = []
    for number, value in enumerate(values):
        if isinstance(value, RdfTerm):
            left.append((int(at[number]), value.text))
        else:
            groups.setdefault(type(value), []).append(number)
    parts = [(at[numbers], from_values([values[number] for number in numbers])) for numbers in groups.values()]
    return [(where, column) for where, column in parts if not isinstance(column, list)], left


def _merged(parts: list[_Part], count: int, *, unique: bool) -> tuple[SharedConstants, Rows | None]:
    """One array of all constants; constants that two spans mean get one number."""
    numbers = np.empty(count, np.int32)
    codes, offsets = [], []
    arrays: list[pa.Array] = []
    total = 0
    for where, array in parts:
        positions: npt.NDArray[np.int32] = np.arange(len(array), dtype=np.int32)
        if not unique:
            plain = array.storage if isinstance(array, pa.ExtensionArray) else array
            encoded = plain.dictionary_encode()
            positions = encoded.indices.to_numpy().astype(np.int32)
            array = as_terms(encoded.dictionary) if plain is not array else encoded.dictionary  # noqa: PLW2901
        numbers[where] = positions + total
        codes.append(np.full(len(array), len(arrays), np.int8))
        offsets.append(np.arange(len(array), dtype=np.int32))
        arrays.append(array)
        total += len(array)
    if len(arrays) == 1:
        return SharedConstants(arrays[0]), numbers
    union = pa.UnionArray.from_dense(pa.array(np.concatenate(codes)), pa.array(np.concatenate(offsets)), arrays)
    return SharedConstants(union), numbers


def _shared(values: list[Value]) -> SharedConstants:
    """Distinct Python values as one table."""
    groups: dict[type, list[int]] = {}
    for number, value in enumerate(values):
        groups.setdefault(RdfTerm if isinstance(value, RdfTerm) else type(value), []).append(number)
    codes, offsets = np.empty(len(values), np.int8), np.empty(len(values), np.int32)
    arrays: list[pa.Array] = []
    for numbers in groups.values():
        column = from_values([values[number] for number in numbers])
        codes[numbers], offsets[numbers] = len(arrays), np.arange(len(numbers))
        arrays.append(pa.array(column) if isinstance(column, list) else column)
    if len(arrays) == 1:
        return SharedConstants(arrays[0])
    if not arrays:
        return SharedConstants(pa.array([], pa.int64()))
    return SharedConstants(pa.UnionArray.from_dense(pa.array(codes), pa.array(offsets), arrays))
