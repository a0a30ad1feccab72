"""Changes: what goes out.

What      : a `Change` holds the net inserted and deleted facts of every relation after an update, and `Stats` about how
            it was found.
Idea      : backends hand over their own tables (`FactTable`); facts become Python tuples only when somebody looks.
Invariant : `inserted` and `deleted` of one relation are disjoint, and exactly the difference between two versions.
Never     : nothing is computed here; a change is what the engine returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from tidelog.changes.buffers import numbers
from tidelog.changes.columns import mixed_to_arrow
from tidelog.changes.fact_sources import to_table
from tidelog.changes.rule_costs import RuleCost
from tidelog.changes.strategy_choice import StrategyChoice
from tidelog.language.lexemes import spell_name
from tidelog.language.printer import print_fact
from tidelog.language.terms import Value
from tidelog.language.values import fact_identity, is_among

_SHOWN = 5


@runtime_checkable
class FactTable(Protocol):
    """Facts of one relation, wherever they live. `len` is cheap; iteration decodes; `in` tells `1` from `1.0`.

    A table inherits from this class, and says where it differs: `is_far`, `pieces`, `at_hand`.
    """

    @property
    def is_far(self) -> bool:
        """Whether the facts are not in this process."""
        return False

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[Value, ...]]: ...

    def __contains__(self, values: object) -> bool: ...

    def to_arrow(self) -> pa.Table:
        """The facts as an Arrow table."""
        ...

    def pieces(self, most: int) -> Iterable[pa.Table]:
        """The facts as Arrow tables: of at most that number of rows if the table can be cut, else all in one."""
        del most
        return [self.to_arrow()]

    def at_hand(self, together: int) -> FactTable:
        """The facts in this process, if a backend that has them elsewhere has room for tables of `together` facts."""
        del together
        return self


class ListedFacts(FactTable):
    """Facts held as Python tuples: the plain `FactTable`, without duplicates."""

    def __init__(self, facts: Iterable[Sequence[Value]] = ()) -> None:
        self._facts = {fact_identity(values): tuple(values) for values in facts}

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        return iter(self._facts.values())

    def __contains__(self, values: object) -> bool:
        return is_among(values, self._facts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListedFacts) and self._facts.keys() == other._facts.keys()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ListedFacts({list(self)!r})"

    def to_arrow(self) -> pa.Table:
        """The facts as an Arrow table."""
        return to_table(list(self), "facts").to_arrow()


class FactTables(Mapping[str, FactTable]):
    """Relations and their facts. It lists the relations that have facts; asking for another gives an empty table."""

    def __init__(self, tables: Mapping[str, FactTable] | None = None) -> None:
        self._tables = {relation: table for relation, table in (tables or {}).items() if len(table)}

    def __getitem__(self, relation: str) -> FactTable:
        return self._tables.get(relation, _EMPTY)

    def __contains__(self, relation: object) -> bool:
        return relation in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{relation!r}: {len(table)} facts" for relation, table in self._tables.items()) + "}"

    def __reduce__(self) -> tuple[object, ...]:
        """Copies and pickles hold the facts as Python tuples: a backend's tables need its constants."""
        return type(self), ({relation: ListedFacts(table) for relation, table in self._tables.items()},)

    @property
    def total(self) -> int:
        """How many facts there are in all relations."""
        return sum(map(len, self._tables.values()))

    def to_arrow(self) -> dict[str, pa.Table]:
        """One Arrow table for every relation that has facts."""
        return {relation: table.to_arrow() for relation, table in self._tables.items()}


@dataclass(frozen=True, slots=True)
class WithoutValue:
    """How many matches of a rule's body derive nothing because a computed value is missing, and the first in words."""

    count: int
    first: str

    def __str__(self) -> str:
        if self.count == 1:
            return f"1 instance without a value: {self.first}"
        return f"{self.count:,} instances without a value, the first: {self.first}"


@dataclass(slots=True)
class Stats:
    """How a change was found. The counters are named as in the papers; those that a strategy does not use are 0."""

    strategy: str = ""
    """The strategy that the user chose."""
    choices: tuple[StrategyChoice, ...] = ()
    """What was chosen for each component, where the strategy chooses: see `strategies`."""
    derivations: dict[tuple[str, str], int] = field(default_factory=dict)
    """(Rule, phase) -> rule instances derived."""
    rounds: int = 0
    overdeleted: int = 0
    rederived: int = 0
    checked: int = 0
    backward: int = 0
    forward: int = 0
    deletions: int = 0
    insertions: int = 0
    marks: int = 0
    no_ops: int = 0
    without_value: dict[str, WithoutValue] = field(default_factory=dict)
    """Rule -> its matches in the new version that derive nothing because a value is missing."""
    costs: tuple[RuleCost, ...] = ()
    """What each rule cost in each phase, the dearest first; only inside `with tidelog.profiling():`."""
    seconds: float = 0.0
    jobs: int = 0
    """Spark jobs that the update took, 0 on the local backend."""

    def count(self, rule: str, phase: str, instances: int) -> None:
        """Add derivations of a rule in a phase."""
        self.derivations[rule, phase] = self.derivations.get((rule, phase), 0) + instances

    def __str__(self) -> str:
        """What the update cost, by rule and phase, as a table."""
        from tidelog.changes.profile import profile_table

        return profile_table(self)

    @property
    def strategies(self) -> dict[str, tuple[str, str]]:
        """Component (its relations) -> the strategy that maintained it and why it was chosen.

        Components of one name, as two aggregates of one relation are, are numbered from the second on.
        """
        found: dict[str, tuple[str, str]] = {}
        for choice in self.choices:
            name, number = choice.component, 1
            while name in found:
                number += 1
                name = f"{choice.component} ({number})"
            found[name] = choice.strategy, str(choice)
        return found or {"all": (self.strategy, "chosen by the user")}

    @property
    def strategies_used(self) -> tuple[str, ...]:
        """The names of the strategies that found the change, in order."""
        return tuple(sorted({choice.strategy for choice in self.choices} or {self.strategy}))

    @property
    def total_derivations(self) -> int:
        """Rule instances derived in all phases."""
        return sum(self.derivations.values())


@dataclass(frozen=True, slots=True, repr=False)
class Change:
    """The difference between two versions of the materialisation, explicit and derived facts alike."""

    inserted: FactTables = field(default_factory=FactTables)
    deleted: FactTables = field(default_factory=FactTables)
    stats: Stats = field(default_factory=Stats, compare=False)
    version: int = 0
    updates: int = 1
    """How many updates became visible in this version; more than one were submitted and share it (engine.submit)."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not self.inserted and not self.deleted

    def to_arrow(self) -> dict[str, pa.Table]:
        """One table per changed relation: its columns, and a last column `sign`, 1 for inserted and -1 for deleted."""
        signed: dict[str, list[pa.Table]] = {}
        for tables, sign in ((self.inserted, 1), (self.deleted, -1)):
            for relation, table in tables.items():
                signs = numbers(np.full(len(table), sign, np.int8), pa.int8())
                facts = table.to_arrow()
                signed.setdefault(relation, []).append(
                    facts.append_column("sign", signs) if facts.num_columns else pa.table({"sign": signs})
                )
        return {relation: _stacked(tables) for relation, tables in signed.items()}

    def __repr__(self) -> str:
        shared = f", of {self.updates} updates" if self.updates > 1 else ""
        return f"Change(version {self.version}: {self.inserted.total} inserted, {self.deleted.total} deleted{shared})"

    def _repr_html_(self) -> str:
        from tidelog.changes.html import change_html

        return change_html(repr(self), (("+", self.inserted), ("-", self.deleted)))

    def summary(self, shown: int = _SHOWN) -> str:
        """The change for people: counts per relation and the first facts of each."""
        lines = [repr(self)]
        for sign, tables in (("+", self.inserted), ("-", self.deleted)):
            for relation, table in tables.items():
                lines.append(f"  {sign}{len(table)} {spell_name(relation)}")
                lines.extend(f"      {sign} {print_fact(relation, values)}" for values in islice(table, shown))
                if len(table) > shown:
                    lines.append(f"      ... and {len(table) - shown} more")
        return "\n".join(lines)


def _stacked(tables: list[pa.Table]) -> pa.Table:
    """Tables with the same columns under each other; columns whose types differ become unions, never casts."""
    if len({tuple(table.schema.types) for table in tables}) == 1:
        return pa.concat_tables(tables)
    columns = []
    for parts in zip(*(table.columns for table in tables)):
        alike = len({part.type for part in parts}) == 1
        chunks = [chunk for part in parts for chunk in part.chunks]
        values = [value for part in parts for value in part.to_pylist()]
        columns.append(pa.chunked_array(chunks) if alike else mixed_to_arrow(values))
    return pa.table(columns, names=tables[0].schema.names)


_EMPTY = ListedFacts()
