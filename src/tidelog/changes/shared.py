"""Facts of several relations over one table of constants.

What      : `SharedFacts`: rows of numbers, and the constants that the numbers stand for.
Idea      : a reader of triples meets a constant many times and in many relations. It numbers the distinct ones, and a
            store translates each of them once, however many relations share the table.
Invariant : a row holds valid positions of the table; neither ever changes.
Never     : no encoding here: a store that keeps numbers of its own asks for `SharedConstants.translated`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int32]


@dataclass(eq=False)
class SharedConstants:
    """Distinct constants as one Arrow array: of one type, or a dense union."""

    values: pa.Array
    _translated: tuple[Hashable, Numbers] | None = field(default=None, repr=False)

    def translated(self, key: Hashable, translate: Callable[[pa.Array], Numbers]) -> Numbers:
        """What a store makes of the constants; asked once as long as the key, which names its state, is the same."""
        if self._translated is None or self._translated[0] != key:
            self._translated = key, translate(self.values)
        return self._translated[1]


@dataclass(frozen=True, eq=False)
class SharedFacts:
    """Facts of one relation, as rows of positions in a table of constants."""

    constants: SharedConstants
    rows: Numbers

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def arity(self) -> int:
        """The number of columns."""
        return int(self.rows.shape[1])

    def columns(self) -> tuple[pa.Array, ...]:
        """The facts as Arrow columns."""
        return tuple(_taken(self.constants.values, self.rows[:, at]) for at in range(self.rows.shape[1]))


def _taken(values: pa.Array, positions: npt.NDArray[Any]) -> pa.Array:
    """Some constants; Arrow itself takes nothing from a union."""
    if not pa.types.is_union(values.type):
        return values.take(pa.array(positions))
    codes, offsets = values.type_codes.to_numpy()[positions], values.offsets.to_numpy()[positions]
    parts: list[pa.Array] = []
    kept, new = np.empty(len(positions), np.int32), np.empty(len(positions), np.int8)
    for code in range(values.type.num_fields):
        chosen = np.flatnonzero(codes == code)
        if chosen.size:
            kept[chosen], new[chosen] = np.arange(chosen.size), len(parts)
            parts.append(values.field(code).take(pa.array(offsets[chosen])))
    if len(parts) == 1:
        return parts[0]
    return pa.UnionArray.from_dense(pa.array(new), pa.array(kept), parts) if parts else pa.nulls(0)
