"""Rows of a state as relations in files, for states that have no files yet.

What      : `imported` reads the rows of large relations with Spark, folds them to the facts that are there, and gives
            them as DataFrames of ids; their texts join the constants.
Idea      : what state/fold.py does in one process, done by grouping: the last row of a fact that says whether it is
            there decides that, and its last row at all decides whether it is explicit. Rows are ordered by version and
            by their place in the file.
Invariant : the facts are those of state/fold.py.
Never     : no fact passes through the driver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DoubleType

from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.values import ids
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.encoding import with_float_texts
from tidelog.backends.spark.values.ids import Naming
from tidelog.state.file_systems import for_spark

_CELL = "struct<int: bigint, float: double, bool: boolean, text: string, term: string>"
_ROW = f"relation string, version bigint, sign tinyint, explicit boolean, values array<{_CELL}>"


def imported(
    jobs: Jobs, constants: Constants, paths: Sequence[str], arities: Mapping[str, int]
) -> dict[str, DataFrame]:
    """The facts of relations (columns of ids, `explicit`) from files of rows."""
    return constants.settled(lambda: _imported(jobs, constants, paths, arities))


def _imported(
    jobs: Jobs, constants: Constants, paths: Sequence[str], arities: Mapping[str, int]
) -> dict[str, DataFrame]:
    rows = (
        jobs.spark.read.schema(_ROW)
        .parquet(*map(for_spark, paths))
        .select("*", F.col("_metadata.row_index").alias("place"))
    )
    own = {name: rows.where((F.col("relation") == name) & (F.size("values") == n)) for name, n in arities.items()}
    has_floats = _with_floats(jobs, rows, arities)
    encoded = {
        name: _encoded(own[name], arity, name in has_floats, constants.naming) for name, arity in arities.items()
    }
    texts = [
        frame.select(F.col(f"c{at}").alias("id"), F.col(f"t{at}").alias("text")).where(F.col("text").isNotNull())
        for name, frame in encoded.items()
        for at in range(arities[name])
    ]
    if texts:
        constants.add(reduce(DataFrame.unionAll, texts))
    return {name: _folded(frame, max(arities[name], 1)) for name, frame in encoded.items()}


def _with_floats(jobs: Jobs, rows: DataFrame, arities: Mapping[str, int]) -> set[str]:
    """The relations in which a float occurs."""
    chosen = rows.where(F.col("relation").isin(list(arities)))
    chosen = chosen.where(F.exists("values", lambda cell: cell["float"].isNotNull())).select("relation").distinct()
    return set(jobs.run(chosen.toArrow).column("relation").to_pylist())


def _encoded(rows: DataFrame, arity: int, has_floats: bool, naming: Naming) -> DataFrame:
    """Rows with ids c0, c1, ... and the texts t0, t1, ... that they need."""
    kept = ["version", "place", "sign", "explicit"]
    if not arity:
        return rows.select(*kept, F.lit(0).cast("long").alias("c0"))
    cells = [F.col("values")[at] for at in range(arity)]
    plain = rows.select(*kept, *(cell.alias(f"x{at}") for at, cell in enumerate(cells)))
    if has_floats:
        plain = _float_texts(plain, arity)
    else:
        plain = plain.select("*", *(F.lit(None).cast("string").alias(f"f{at}") for at in range(arity)))
    numbers = [_id(at, naming).alias(f"c{at}") for at in range(arity)]
    return plain.select(*kept, *numbers, *(_text(at).alias(f"t{at}") for at in range(arity)))


def _float_texts(plain: DataFrame, arity: int) -> DataFrame:
    """The rows with the typed texts of floats, f0, f1, ..., beside them."""
    names = [*plain.columns, *(f"f{at}" for at in range(arity))]
    wide = plain.select("*", *(F.col(f"x{at}.float").alias(f"f{at}") for at in range(arity)))
    kinds = [field.dataType for field in wide.schema.fields]
    assert all(isinstance(kind, DoubleType) for kind in kinds[-arity:])
    return with_float_texts(wide.toDF(*(f"v{at}" for at in range(len(names)))), kinds).toDF(*names)


def _id(at: int, naming: Naming) -> Column:
    cell = F.col(f"x{at}")
    return (
        F.when(cell["int"].isNotNull(), ids.of_integer_column(cell["int"], naming))
        .when(cell["text"].isNotNull(), ids.of_string_column(cell["text"], naming))
        .when(cell["bool"].isNotNull(), ids.of_bool_column(cell["bool"]))
        .when(cell["term"].isNotNull(), ids.of_term_column(cell["term"], naming))
        .otherwise(ids.of_text_column(F.col(f"f{at}"), naming))
    )


def _text(at: int) -> Column:
    """The typed text of a constant that needs one."""
    cell = F.col(f"x{at}")
    is_large = ids.of_integer_column(cell["int"]).bitwiseAND(F.lit(ids.TAG)) == ids.OTHER
    return (
        F.when(cell["text"].isNotNull(), F.concat(F.lit("s"), cell["text"]))
        .when(cell["term"].isNotNull(), F.concat(F.lit("t"), cell["term"]))
        .when(is_large, F.concat(F.lit("i"), cell["int"].cast("string")))
        .otherwise(F.col(f"f{at}"))
    )


def _folded(rows: DataFrame, width: int) -> DataFrame:
    """The facts that are there, and which are explicit."""
    at, sign = F.struct("version", "place"), F.col("sign")
    says = F.max_by(F.when(sign != 0, sign), F.when(sign != 0, at)).alias("says")
    last = F.max_by("explicit", at).alias("explicit")
    folded = rows.groupBy(*frames.names(width)).agg(says, last)
    return folded.where(F.col("says") > 0).select(*frames.names(width), "explicit")
