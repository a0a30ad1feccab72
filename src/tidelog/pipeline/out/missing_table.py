"""Is a table missing, or can nobody tell?

What      : `lacks_table` says whether a database refused to read a table because there is none of that name.
Idea      : the SQL standard gives that refusal a state, and the database's own error is somewhere among the causes of
            Spark's. Databases differ in the state, so the known ones are listed.
Invariant : anything else (no connection, no right to read, a time-out, an unknown state) is not a missing table: who
            takes it for one publishes a version twice.
Never     : no text of an error message is read, because it comes in the language of the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

_MISSING = frozenset({"42P01", "42S02", "42S03", "42S04", "42X05", "42704", "S0002"})
"""PostgreSQL; the standard, MySQL, SQL Server and H2; H2 again, twice; Derby; Db2; older SQL Server."""
_ORACLE = ("42000", 942)


def lacks_table(error: BaseException) -> bool:
    """Whether the error of a read means that there is no such table."""
    return any(state in _MISSING or (state, number) == _ORACLE for state, number in _refusals(error))


def _refusals(error: BaseException) -> Iterator[tuple[str | None, int]]:
    """The states and numbers of the database's errors among the causes."""
    cause: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while cause is not None:
        with suppress(Py4JError, TypeError):  # then it is no error of a database
            yield cause.getSQLState(), cause.getErrorCode()
        cause = cause.getCause()
