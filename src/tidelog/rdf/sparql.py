"""Questions in SPARQL 1.1.

What      : `ask` puts a query to a mirror and gives back an `Answer`: rows with columns, yes or no, or triples.
Idea      : pyoxigraph evaluates; what it could fetch from elsewhere is refused before it sees the query.
Invariant : no query opens a connection: the words SERVICE, FROM and LOAD are refused where they stand outside of
            strings, IRIs and comments. A query changes nothing.
Never     : no reasoning.

Codes: E831 a query that is not SPARQL, E832 a query that would fetch something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyoxigraph as ox

from tidelog.changes.columns import from_values, mixed_to_arrow, to_frame
from tidelog.errors import UsageError
from tidelog.language.rdf_terms import BlankNode
from tidelog.language.terms import Value
from tidelog.rdf.literals import from_oxigraph, spelled
from tidelog.rdf.mirror import Mirror
from tidelog.rdf.vocabulary import PREFIXES

if TYPE_CHECKING:
    import pandas as pd

FORMS = {
    "json": ox.QueryResultsFormat.JSON,
    "csv": ox.QueryResultsFormat.CSV,
    "tsv": ox.QueryResultsFormat.TSV,
    "xml": ox.QueryResultsFormat.XML,
}
_QUIET = re.compile(
    r"""("{3}.*?(?<!\\)"{3}|'{3}.*?(?<!\\)'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|<[^<>"{}|^`\\\s]*>|\#[^\n]*"""
    r"""|[?$][\w]+|[\w.-]*:[\w.%:-]*)""",
    re.DOTALL,
)
_FETCHING = re.compile(r"\b(SERVICE|FROM|LOAD)\b", re.IGNORECASE)


class Answer:
    """What a query answers. Rows are tuples of constants, None where a variable is not bound."""

    def __init__(self, columns: Sequence[str], rows: list[tuple[Value | None, ...]], truth: bool | None = None) -> None:
        self.columns = tuple(columns)
        self.rows = rows
        self.truth = truth

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Value | None, ...]]:
        return iter(self.rows)

    def __bool__(self) -> bool:
        return self.truth if self.truth is not None else bool(self.rows)

    def __repr__(self) -> str:
        return f"<{self.truth}>" if self.truth is not None else f"<{len(self):,} rows of {', '.join(self.columns)}>"

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        columns = list(zip(*self.rows)) or [() for _ in self.columns]
        return pa.table([_arrow(column) for column in columns], names=list(self.columns))

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return to_frame(self.to_arrow())


def ask(mirror: Mirror, text: str, parameters: Mapping[str, Any] | None = None) -> Answer:
    """The answer to a query."""
    with mirror.store() as store:
        found = evaluate(store, text, parameters)
        if isinstance(found, ox.QuerySolutions):
            names = [variable.value for variable in found.variables]
            return Answer(names, _rows([tuple(row) for row in found], len(names)))
        if isinstance(found, ox.QueryBoolean):
            return Answer((), [], bool(found))
        triples = [(triple.subject, triple.predicate, triple.object) for triple in found]
        return Answer(("subject", "predicate", "object"), _rows(triples, 3))


def written(mirror: Mirror, text: str, form: str, parameters: Mapping[str, Any] | None = None) -> bytes:
    """The answer in a result format: json, csv, tsv or xml; triples as N-Triples."""
    with mirror.store() as store:
        return serialised(evaluate(store, text, parameters), form)


def serialised(found: Any, form: str) -> bytes:  # noqa: ANN401 - pyoxigraph's results
    """Results of a query in a format."""
    if isinstance(found, ox.QuerySolutions | ox.QueryBoolean):
        return found.serialize(format=FORMS[form]) or b""
    return found.serialize(format=ox.RdfFormat.N_TRIPLES) or b""


def is_triples(found: Any) -> bool:  # noqa: ANN401
    """Whether results are triples, as those of CONSTRUCT and DESCRIBE."""
    return isinstance(found, ox.QueryTriples)


def evaluate(store: ox.Store, text: str, parameters: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401
    """The results of a query, as pyoxigraph has them."""
    refuse_fetching(text)
    try:
        return store.query(text + _values(parameters or {}), prefixes=PREFIXES)
    except SyntaxError as error:
        raise UsageError.of("E831", f"this is no SPARQL query: {error}", remedy="see the SPARQL 1.1 grammar") from error
    except (ValueError, OSError, RuntimeError) as error:
        raise UsageError.of("E831", f"the query cannot be answered: {error}", remedy="check the query") from error


def _values(parameters: Mapping[str, Any]) -> str:
    """Parameters as the VALUES clause that ends a query; a value is spelled as N-Triples, which nothing gets out of."""
    if not parameters:
        return ""
    for name, value in parameters.items():
        if re.fullmatch(r"[A-Za-z_]\w*", name) is None or isinstance(value, BlankNode):
            raise UsageError.of(
                "E831", f"{name} cannot be bound to {value!r}", remedy="bind a variable to an IRI or literal"
            )
    names = " ".join(f"?{name}" for name in parameters)
    return f"\nVALUES ({names}) {{ ({' '.join(spelled(value) for value in parameters.values())}) }}"


def refuse_fetching(text: str) -> None:
    """Refuse a query or update that would fetch something from elsewhere."""
    found = _FETCHING.search(_QUIET.sub(" ", _unescaped(text)))
    if found is not None:
        raise UsageError.of(
            "E832", f"{found[0].upper()} would fetch data from elsewhere", remedy="load the data into the graph first"
        )


def _unescaped(text: str) -> str:
    r"""The text with SPARQL's code point escapes (\u0053ERVICE) resolved, which come before everything else."""

    def meant(match: re.Match[str]) -> str:
        number = int(match[0][2:], 16)
        return chr(number) if number < 0x110000 else " "

    return re.sub(r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}", meant, text)


def _rows(rows: list[tuple[Any, ...]], width: int) -> list[tuple[Value | None, ...]]:
    """Rows of pyoxigraph's terms as rows of constants; each distinct term is looked at once."""
    distinct = {term: None for row in rows for term in row if term is not None}
    known = dict(zip(distinct, from_oxigraph(distinct)))
    return [tuple(None if term is None else known[term] for term in row[:width]) for row in rows]


def _arrow(column: Sequence[Value | None]) -> pa.Array:
    """A column of an answer: of one type with nulls, or a union, in which nulls are null texts."""
    present = [value for value in column if value is not None]
    values = from_values(present)
    if isinstance(values, list):
        values = mixed_to_arrow(values)
    if len(present) == len(column):
        return values
    return pa.array([None if value is None else str(value) for value in column], pa.large_string())
