"""RDF as triples that tasks have packed: for graphs that are reasoned over.

What      : `packed_records` reads a source of RDF files into few, fat records, each with some ten thousand triples
            (backends/spark/files/shared_frames.py) and with what a graph has to know of them; `Packed` is such a
            source, and `together` makes one graph's triples of several.
Idea      : while a task has the triples in its hands it counts them by relation and picks out axioms and ill-typed
            literals. So one pass over the files tells the driver everything, and no triple becomes a row of Spark.
Invariant : a triple is in one record; what is no triple is a bad record, as in triples.py.
Never     : no rule is made of an axiom here (rdf/axioms.py).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tidelog.backends.spark.files.shared_frames import FarFacts, Rows, SharedFrame, packed, unpacked
from tidelog.changes.typed_texts import constants_of, typed_texts
from tidelog.language.rdf_terms import IRI, Literal, term_of
from tidelog.language.terms import Value
from tidelog.pipeline.settings.config import TRIPLE
from tidelog.pipeline.sources.triples import NAMED_GRAPH, Parsed, own_labels, parsed

if TYPE_CHECKING:
    from tidelog.rdf.far_triples import FarTriples
    from tidelog.rdf.layouts import Layout
    from tidelog.rdf.quads import Quads, Triple

_SCHEMA = "constants binary, rows binary, about string, text string, file string, problem string"
_NAMES = ("constants", "rows", "about", "text", "file", "problem")
_TYPES = (pa.binary(), pa.binary(), pa.string(), pa.string(), pa.string(), pa.string())


@dataclass(frozen=True, slots=True)
class Packed:
    """The triples of one source or several: `frame` holds them, the rest is what tasks have found."""

    frame: DataFrame
    relations: Mapping[tuple[str, int], int]
    """How many triples each class (1 column) and property (2 columns) has; duplicates count."""
    axioms: list[Triple]
    ill_typed: list[Literal]

    @property
    def count(self) -> int:
        """How many triples there are; duplicates count."""
        return sum(self.relations.values())

    def to_far(self) -> FarTriples:
        """As a graph on Spark takes them."""
        from tidelog.rdf.far_triples import FarTriples

        bad: list[tuple[Value, ...]] = [(one, IRI(one.datatype)) for one in self.ill_typed]
        return FarTriples(self.count, self.axioms, {"ill_typed": bad} if bad else {}, self._facts)

    def to_local(self) -> Quads:
        """As a graph in this process takes them: all are brought to the driver."""
        from tidelog.changes.shared import SharedConstants
        from tidelog.rdf.quads import Quads, merged

        parts = []
        for texts, rows in unpacked(self.frame.select("constants", "rows").toArrow().to_batches()):
            wide = np.column_stack([rows, np.full(len(rows), -1, np.int32)])
            parts.append(Quads(SharedConstants(constants_of(texts)), wide))
        return merged(parts)

    def _facts(self, layout: Layout) -> Mapping[str, FarFacts]:
        from tidelog.rdf.layouts import Layout, one_arity

        if not self.relations:
            return {}
        if layout is Layout.TRIPLES:
            return {TRIPLE: FarFacts(SharedFrame(self.frame, _as_triples), TRIPLE, 3)}
        shared = SharedFrame(self.frame, _by_relation)
        return {name: FarFacts(shared, name, arity) for name, arity in one_arity(self.relations)}


def packed_records(spark: SparkSession, lines: DataFrame, path: str, options: Mapping[str, str]) -> DataFrame:
    """Records with packed triples (`constants`, `rows`, `about`), and bad ones (text, file, problem)."""
    return parsed(spark, lines, path, options, _Packing(), _SCHEMA)


def packed_frame(frame: DataFrame) -> DataFrame:
    """The same of records whose fields c1, c2, c3 are typed texts, as they are after a filter."""
    return frame.select("c1", "c2", "c3", "text", "file", "problem").mapInArrow(_pack_records, _SCHEMA)


def found_in(frame: DataFrame) -> tuple[Packed, int]:
    """What tasks have found in the triples of a frame, which is read for that, and how many records are bad."""
    grouped = frame.groupBy("about").count().toArrow().to_pylist()
    told = [row["about"] for row in grouped for _ in range(row["count"]) if row["about"] is not None]
    bad = sum(row["count"] for row in grouped if row["about"] is None)
    relations: Counter[tuple[str, int]] = Counter()
    axioms: list[Triple] = []
    literals: dict[str, None] = {}
    for one in map(json.loads, told):
        relations.update({(name, arity): count for name, arity, count in one["relations"]})
        axioms += [(_value(s), _value(p), _value(o)) for s, p, o in one["axioms"]]
        literals.update(dict.fromkeys(one["ill_typed"]))
    found = [literal for literal in map(term_of, literals) if isinstance(literal, Literal)]
    return Packed(frame.where(F.col("about").isNotNull()), relations, axioms, found), bad


def together(parts: Sequence[Packed]) -> Packed:
    """The triples of several sources."""
    relations: Counter[tuple[str, int]] = Counter()
    for part in parts:
        relations.update(part.relations)
    return Packed(
        reduce(DataFrame.unionAll, (part.frame for part in parts)),
        relations,
        [axiom for part in parts for axiom in part.axioms],
        list(dict.fromkeys(literal for part in parts for literal in part.ill_typed)),
    )


class _Packing(Parsed):
    """What a task gives: triples packed, and what is no triple."""

    def records(self, quads: Quads, file: str, lines: pa.Array | None, *, union: bool) -> Iterator[pa.RecordBatch]:
        """Packed statements; those in named graphs are bad records, unless their union is wanted."""
        texts, rows = own_labels(typed_texts(quads.constants.values), file), quads.rows
        if not union and (rows[:, 3] >= 0).any():
            is_bad = rows[:, 3] >= 0
            bad = [None] * int(is_bad.sum()) if lines is None else lines.filter(pa.array(is_bad)).to_pylist()
            yield self.rejects(bad, file, NAMED_GRAPH)
            rows = rows[~is_bad]
        if len(rows):
            yield _record(texts, rows)

    def rejects(self, lines: Sequence[str | None], file: str, reason: str) -> pa.RecordBatch:
        """Bad records."""
        nothing = [None] * len(lines)
        columns = nothing, nothing, nothing, list(lines), [file] * len(lines), [reason] * len(lines)
        return pa.RecordBatch.from_arrays([pa.array(c, t) for c, t in zip(columns, _TYPES)], list(_NAMES))


def _record(texts: pa.Array, rows: Rows) -> pa.RecordBatch:
    constants, positions = packed(texts, rows)
    values = constants, positions, json.dumps(_about(texts, rows)), None, None, None
    return pa.RecordBatch.from_arrays([pa.array([v], t) for v, t in zip(values, _TYPES)], list(_NAMES))


def _pack_records(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Records of typed texts into packed ones; bad ones stay."""
    for batch in batches:
        is_bad = pc.is_valid(batch.column("problem"))
        bad = batch.filter(is_bad)
        if len(bad):
            nothing = [pa.nulls(len(bad), kind) for kind in _TYPES[:3]]
            yield pa.RecordBatch.from_arrays([*nothing, *bad.columns[3:]], list(_NAMES))
        good = batch.filter(pc.invert(is_bad))
        if len(good):
            found = pa.concat_arrays(good.columns[:3]).cast(pa.large_string()).dictionary_encode()
            rows = found.indices.to_numpy().astype(np.int32).reshape(3, -1).T
            yield _record(found.dictionary, rows)


def _about(texts: pa.Array, rows: Rows) -> dict[str, Any]:
    """What a graph has to know of triples: their relations, axioms, and literals that do not fit their types."""
    from tidelog.rdf.axioms import KINDS, PREDICATES
    from tidelog.rdf.datatypes import is_ill_typed
    from tidelog.rdf.layouts import relation_terms

    found, axioms = _by_relation(texts, rows), []
    for (name, arity), facts in found.items():
        if name in KINDS or name in PREDICATES:
            predicate, kind = relation_terms(name, arity)
            columns = [texts.take(pa.array(facts[:, at])).to_pylist() for at in range(arity)]
            if kind is None:
                axioms += [(s, f"t{predicate.text}", o) for s, o in zip(*columns)]
            else:
                axioms += [(s, f"t{predicate.text}", f"t{kind.text}") for (s,) in zip(*columns)]
    literals = [text[1:] for text in texts.filter(pc.starts_with(texts, 't"')).to_pylist()]
    bad = [text for text in literals if isinstance(one := term_of(text), Literal) and is_ill_typed(one)]
    counts = [(name, arity, len(facts)) for (name, arity), facts in found.items()]
    return {"relations": counts, "axioms": axioms, "ill_typed": bad}


def _by_relation(texts: pa.Array, rows: Rows) -> Mapping[tuple[str, int], Rows]:
    """Rows by class and property."""
    from tidelog.rdf.layouts import rows_of

    def terms(numbers: Rows) -> dict[int, str]:
        found = zip(numbers.tolist(), texts.take(pa.array(numbers)).to_pylist())
        return {number: text[1:] for number, text in found if text[0] == "t"}

    return rows_of(rows, terms)


def _as_triples(texts: pa.Array, rows: Rows) -> Mapping[tuple[str, int], Rows]:
    """All rows as facts of one relation."""
    del texts
    return {(TRIPLE, 3): rows}


def _value(text: str) -> Value:
    """What a typed text stands for."""
    if text[0] == "t":
        return term_of(text[1:])
    value: Value = constants_of(pa.array([text], pa.large_string()))[0].as_py()
    return value
