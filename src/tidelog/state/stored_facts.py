"""The facts of a stored relation, in parts.

What      : `StoredFacts`, one relation of a version that was read; a `Part` is some of its facts.
Idea      : facts stay in the pieces in which they were read, value after value and fact after fact. A backend that has
            a number for every value asks for all values of a piece at once, without cutting it into columns.
Invariant : the parts hold every fact once. Parts of one relation have as many columns as the relation, but one part can
            have a column of integers where another has texts.
Never     : no file, and no decision which facts are there (fold.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from tidelog.state.rows import Cells, Flags, Numbers, column_of, joined, taken, to_array

Ids = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some facts of a relation: their cells, fact by fact, and which of the facts are explicit."""

    cells: Cells
    arity: int
    explicit: Flags

    def __len__(self) -> int:
        return len(self.explicit)

    def columns(self) -> list[Cells]:
        """The cells by column."""
        return [column_of(self.cells, at, self.arity) for at in range(self.arity)]

    def table(self) -> pa.Table:
        """The facts as an Arrow table with columns c0, c1, ..."""
        arrays = [to_array(column) for column in self.columns()]
        return pa.table(arrays, names=[f"c{number}" for number in range(self.arity)])

    def encoded(self, encode: Callable[[pa.Array], Ids]) -> Ids:
        """The facts as rows of numbers, given what numbers the values of an array."""
        ids = encode(to_array(self.cells)) if self.cells else np.zeros(0, np.int32)
        return ids.reshape(len(self), self.arity)

    def taken(self, places: Numbers) -> Part:
        """The facts at some places."""
        of_cells = (places[:, None] * self.arity + np.arange(self.arity)).ravel()
        return Part(taken(self.cells, of_cells), self.arity, self.explicit[places])


@dataclass(frozen=True, slots=True, eq=False)
class StoredFacts:
    """The facts of one relation."""

    relation: str
    arity: int
    parts: Sequence[Part] = ()

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def explicit(self) -> Flags:
        """Which of the facts are explicit."""
        return together(self.parts, self.arity).explicit

    @property
    def facts(self) -> pa.Table:
        """All facts as one table."""
        return together(self.parts, self.arity).table()


@dataclass(frozen=True, slots=True, eq=False)
class TablePart:
    """Facts as a table, to be taken over as parts are."""

    facts: pa.Table
    explicit: Flags

    def encoded(self, encode: Callable[[pa.Array], Ids]) -> Ids:
        """The facts as rows of numbers."""
        found = np.empty((len(self.explicit), self.facts.num_columns), np.int32)
        for at, column in enumerate(self.facts.columns if len(self.explicit) else ()):
            found[:, at] = encode(column)
        return found


Encodable: TypeAlias = Part | TablePart
"""What a backend can take over."""


def together(parts: Sequence[Part], arity: int) -> Part:
    """Parts under each other as one."""
    cells = joined([(part.cells, len(part) * arity) for part in parts]) if parts else {}
    return Part(cells, arity, np.concatenate([np.zeros(0, np.bool_), *(part.explicit for part in parts)]))
