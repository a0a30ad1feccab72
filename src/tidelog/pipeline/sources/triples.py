"""N-Triples, line by line.

What      : `triple_records` takes lines apart into subject, predicate and object.
Idea      : the grammar of a line is regular; one expression, compiled once in the JVM, splits and checks it at the
            same time, so that no line goes through Python.
Source    : RDF 1.1 N-Triples, W3C Recommendation, section 7 (grammar).
Invariant : a term keeps its spelling, with brackets, quotes, language and data type, so that different terms stay
            different constants. A line that the grammar does not allow is a bad record; comments and blank lines are
            left out.
Departures: two spellings of one term (an escape and its character) stay two constants; write files in canonical form.
Never     : no prefixes and no base: that is Turtle.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tidelog.pipeline.settings.config import NOT_TEXT

_ESCAPE = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_IRI = rf"""<(?:[^\x00-\x20<>"{{}}|^`\\]|{_ESCAPE})*>"""
_BLANK = r"_:[\p{L}\p{N}_](?:[\p{L}\p{N}_.\-]*[\p{L}\p{N}_\-])?"
_STRING = rf'"(?:[^"\\\r\n]|\\[tbnrf"\'\\]|{_ESCAPE})*"'
_LITERAL = rf"{_STRING}(?:\^\^{_IRI}|@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)?"
TRIPLE = rf"^\s*({_IRI}|{_BLANK})\s*({_IRI})\s*({_IRI}|{_BLANK}|{_LITERAL})\s*\.\s*(?:#.*)?$"
"""One triple, in the words of Java's regular expressions; the groups are its terms."""


def triple_records(lines: DataFrame) -> DataFrame:
    """Lines (value, file, is_text) as records with the fields f1, f2, f3, text, file and problem."""
    told = lines.where(~F.col("value").rlike(r"^\s*(#.*)?$"))
    problem = F.when(~F.col("is_text"), NOT_TEXT).when(~F.col("value").rlike(TRIPLE), "the line is no triple")
    terms = (F.regexp_extract("value", TRIPLE, number).alias(f"f{number}") for number in (1, 2, 3))
    return told.select(*terms, F.col("value").alias("text"), "file", problem.alias("problem"))
