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

    def __init__(self, name: str, columns: Callable[[], tuple[str, ...]], table: Callable[[], FactTable]) -> None:
        """What there is now: a relation that nothing declares may come back with another number of columns."""
        self.name = name
        self._columns = columns
        self._table = table

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns: declared, else c1, c2, ..."""
        return self._columns()

    @property
    def arity(self) -> int:
        """How many columns there are."""
        return len(self.columns)

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
        table, columns = self._table().to_arrow(), self.columns
        if table.num_columns == len(columns):
            return table.rename_columns(list(columns))
        return table if table.num_rows else _empty(columns)  # an update came between the two

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
