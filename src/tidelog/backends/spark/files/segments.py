"""The files of a relation: which there are, and what is known about them.

What      : `Segments` names the files that hold all facts of one relation, in one or more orders, with counts.
Idea      : a fact is in the file of the shard of its leading column, and files are sorted by the leading column and
            then by the others in turn. So a look-up goes to one file and one row group, and any copy answers whether a
            fact is there. An order is one copy of the relation; most relations have one or two.
Invariant : files are written once and never changed. Files of an engine of its own are deleted when nobody holds the
            `Segments` any more; files of a state never are.
Never     : no file is opened here, and no session.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.backends.spark.cluster import frames
from tidelog.state.file_systems import place


@dataclass(frozen=True, slots=True)
class Segment:
    """One file: its address, its rows and its bytes."""

    address: str
    rows: int
    size: int

    @property
    def name(self) -> str:
        """The last part of the address; no two segments have the same."""
        return self.address.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Order:
    """One copy of a relation, by its leading column: the shards that facts are spread over, and the files of each."""

    lead: int
    shards: int
    files: Mapping[int, Segment]

    def columns(self, width: int) -> list[int]:
        """The columns in the order in which facts are sorted."""
        return [(self.lead + at) % width for at in range(width)]


class Segments:
    """All facts of one relation in files."""

    def __init__(
        self,
        width: int,
        rows: int,
        orders: Mapping[int, Order],
        distinct: tuple[int, ...],
        tags: tuple[int, ...],
        explicit: int | None = None,
    ) -> None:
        self.width, self.rows, self.distinct, self.tags = width, rows, distinct, tags
        self.explicit = explicit
        """How many of the facts are explicit; None if nobody has counted."""
        self.orders: Mapping[int, Order] = dict(orders)
        """By leading column; an order that is added later says nothing new."""

    @property
    def is_mixed(self) -> bool:
        """Whether some facts may be explicit and others not."""
        return self.explicit is None or 0 < self.explicit < self.rows

    @property
    def first(self) -> Order:
        """The order that every relation has."""
        return next(iter(self.orders.values()))

    @property
    def columns(self) -> list[str]:
        """The names of the columns of ids."""
        return frames.names(self.width)

    def order_for(self, columns: tuple[int, ...]) -> Order | None:
        """The order that looks up these columns best: one of them leads, and as many as possible follow."""
        wanted = set(columns)
        usable = [order for order in self.orders.values() if order.lead in wanted]
        return max(usable, key=lambda order: self._use(order, wanted), default=None)

    def _use(self, order: Order, wanted: set[int]) -> tuple[int, int]:
        names = order.columns(self.width)
        sorted_by = next((at for at, column in enumerate(names) if column not in wanted), len(names))
        return sorted_by, self.distinct[order.lead]

    def add(self, order: Order) -> None:
        """One more order, whose files are this engine's; who is reading the orders meanwhile keeps those he has."""
        self.owned(order)
        self.orders = {**self.orders, order.lead: order}

    def owned(self, order: Order) -> None:
        """The files of this order are deleted when these segments are no longer held."""
        weakref.finalize(self, remove, [file.address for file in order.files.values()])

    def described(self) -> tuple[dict[str, Any], list[Segment]]:
        """What a state stores about it, files by name, and these files: those of the same orders."""
        orders = list(self.orders.values())
        said = {
            "width": self.width,
            "rows": self.rows,
            "explicit": self.explicit,
            "distinct": list(self.distinct),
            "tags": list(self.tags),
            "orders": [order_to_json(order) for order in orders],
        }
        return said, [file for order in orders for file in order.files.values()]

    @staticmethod
    def of(said: Mapping[str, Any], folder: str) -> Segments:
        """The segments that a state describes, whose files are in a folder."""
        orders = [order_of(order, folder) for order in said["orders"]]
        counts = tuple(said["distinct"]), tuple(said["tags"])
        leads = {order.lead: order for order in orders}
        return Segments(said["width"], said["rows"], leads, *counts, said.get("explicit"))


def order_to_json(order: Order) -> dict[str, Any]:
    """An order for a description; files by name."""
    files = [[shard, file.name, file.rows, file.size] for shard, file in sorted(order.files.items())]
    return {"lead": order.lead, "shards": order.shards, "files": files}


def order_of(said: Mapping[str, Any], folder: str) -> Order:
    """The order that a description names."""
    files = {shard: Segment(f"{folder}/{name}", rows, size) for shard, name, rows, size in said["files"]}
    return Order(said["lead"], said["shards"], files)


def remove(addresses: list[str]) -> None:
    """Delete files; those that are gone already do not matter."""
    for address in addresses:
        system, path = place(address)
        try:
            system.delete_file(path)
        except OSError:
            continue
