"""RDF terms in Arrow arrays.

What      : the Arrow type of a column of terms: an extension of large_string that holds their N-Triples texts.
Idea      : a reader that does not know the extension still gets the texts; one that knows it gets terms, and a string
            with the same text stays a string.
Invariant : a round trip through Arrow or Parquet keeps terms terms.
Never     : no check of the texts: they come from terms, or from readers that check them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tidelog.changes.buffers import values_array
from tidelog.language.rdf_terms import RdfTerm, term_of


class TermScalar(pa.ExtensionScalar):  # type: ignore[misc]
    """One term of an array."""

    def as_py(self, **_: Any) -> RdfTerm | None:  # noqa: ANN401 - Arrow's own options
        """The term itself."""
        return None if self.value is None else term_of(self.value.as_py())


class TermType(pa.ExtensionType):  # type: ignore[misc]
    """The type of a column of terms."""

    def __init__(self) -> None:
        super().__init__(pa.large_string(), "tidelog.term")

    def __hash__(self) -> int:
        return hash(TermType)

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> TermType:
        return cls()

    def __arrow_ext_scalar_class__(self) -> type[TermScalar]:
        return TermScalar


TERM = TermType()
pa.register_extension_type(TERM)


def is_term_type(kind: pa.DataType) -> bool:
    """Whether a column holds terms."""
    return isinstance(kind, TermType)


def as_terms(texts: pa.Array) -> pa.Array:
    """N-Triples texts as a column of terms."""
    return pa.ExtensionArray.from_storage(
        TERM, texts if texts.type == pa.large_string() else texts.cast(pa.large_string())
    )


def terms_to_arrow(terms: Sequence[Any]) -> pa.Array:
    """Python terms as a column of terms."""
    return as_terms(values_array([term.text for term in terms], str))


def texts_of(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """A column of terms as their texts; any other column as it is."""
    if not is_term_type(column.type):
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([chunk.storage for chunk in column.chunks], pa.large_string())
    return column.storage
