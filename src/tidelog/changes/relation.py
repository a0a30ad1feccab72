"""A relation of an engine, as users hold it.

What      : a live view: it follows the engine's commits; `len` and `in` are cheap, iteration and conversions decode.
Invariant : it shows the last committed version, never one in between.
Never     : no change goes through it; facts change by `engine.apply`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelog.changes.change import FactTable
from tidelog.changes.columns import to_frame
from tidelog.changes.term_arrays import texts_of
from tidelog.errors import UsageError
from tidelog.language.lexemes import spell_name
from tidelog.language.terms import Value

if TYPE_CHECKING:
    import pandas as pd


class Relation:
    """The facts of one relation, explicit and derived."""

    def __init__(self, name: str, arity: int, columns: tuple[str, ...], table: Callable[[], FactTable]) -> None:
        self.name = name
        self.arity = arity
        self.columns = columns
        self._table = table

    def __len__(self) -> int:
        return len(self._table())

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return iter(self._table())

    def __contains__(self, fact: object) -> bool:
        return fact in self._table()

    def __repr__(self) -> str:
        return f"<{spell_name(self.name)}({', '.join(map(spell_name, self.columns))}): {len(self):,} facts>"

    def _repr_html_(self) -> str:
        from tidelog.changes.tables import html_table

        return html_table(self.columns, self, len(self))

    @property
    def table(self) -> FactTable:
        """The facts of the present version, as the backend has them."""
        return self._table()

    def to_arrow(self) -> pa.Table:
        """The facts as an Arrow table; columns have their declared names, else c1, c2, ..."""
        table = self._table().to_arrow()
        return table.rename_columns(list(self.columns)) if table.num_columns == self.arity else _empty(self.columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The facts for whatever speaks Arrow: `pl.DataFrame(relation)`, `duckdb.sql("from relation")`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """The facts as a pandas DataFrame."""
        return to_frame(self.to_arrow())

    def to_spark(self, spark: Any = None) -> Any:  # noqa: ANN401 - a DataFrame; importing its type would import Spark
        """The facts as a Spark DataFrame; on the local backend a session has to be given."""
        table = self._table()
        if hasattr(table, "to_spark"):
            return table.to_spark(self.columns)
        if spark is None:
            raise UsageError.of(
                "E813", "a local relation has no Spark session", remedy="give one: relation.to_spark(session)"
            )
        facts = self.to_arrow()
        return spark.createDataFrame(pa.table([texts_of(column) for column in facts.columns], facts.schema.names))


def _empty(columns: tuple[str, ...]) -> pa.Table:
    return pa.table({name: pa.nulls(0) for name in columns})
