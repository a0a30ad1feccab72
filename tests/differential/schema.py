"""The relations of a random world.

What      : relations with typed columns, and the small domains that their values come from.
Idea      : a column holds numbers, symbols or a mix; a variable keeps the kind of the column where it first occurs.
            So a random rule never adds a symbol or orders `1` and `"1"`, and needs no check afterwards.
Invariant : a relation has a layer. Positive atoms of a rule come from the head's layer or below, negated atoms and
            aggregates from below: whatever rules are drawn, now or by a later update, the program is stratified.
Never     : nothing of Tidelog but values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tidelog.language.terms import Value

NUMBER, SYMBOL, MIXED = "number", "symbol", "mixed"

DOMAINS: dict[str, tuple[Value, ...]] = {
    NUMBER: (0, 1, 2, 3, 4),
    SYMBOL: ("a", "b", "c", "d"),
    MIXED: (1, 1.0, True, "1", "a"),
}


@dataclass(frozen=True, slots=True)
class Schema:
    """A relation's name, the kinds of its columns and its layer (0: base facts)."""

    name: str
    kinds: tuple[str, ...]
    layer: int


@dataclass(frozen=True, slots=True)
class World:
    """Every relation of a case; what is drawn is drawn over these."""

    relations: tuple[Schema, ...]
    is_recursive: bool
    """Whether rules may use relations of their head's own layer; a few worlds are without, for counting."""
    has_floats: bool
    """Whether values of several types may meet in a column; if not, every column has one type that can be inferred."""

    def at_most(self, layer: int) -> list[Schema]:
        """The relations of a layer and of all below it."""
        return [schema for schema in self.relations if schema.layer <= layer]

    def at_least(self, layer: int) -> list[Schema]:
        """The relations of a layer and of all above it."""
        return [schema for schema in self.relations if schema.layer >= layer]

    def at(self, layer: int) -> list[Schema]:
        """The relations of one layer."""
        return [schema for schema in self.relations if schema.layer == layer]


def draw_world(rng: Random) -> World:
    """A world with two to four base relations and one to three layers of derived ones.

    `e` and `p` are always there, binary over one kind, so that recursion has something to close over.
    """
    has_floats = rng.random() < 0.5
    main = rng.choices((NUMBER, SYMBOL, MIXED), (5, 5, 3 if has_floats else 0))[0]
    relations = [Schema("e", (main, main), 0)]
    relations += [Schema(name, _kinds(rng, main, (1, 6, 10, 4, 2)), 0) for name in ("f", "g", "h")[: rng.randint(1, 3)]]
    relations.append(Schema("p", (main, main), 1))
    names = iter("qrstuvw")
    relations += [Schema(next(names), _kinds(rng, main, (1, 5, 10, 2, 0)), 1) for _ in range(rng.randint(0, 2))]
    for layer in range(2, rng.choice((2, 3, 3, 4))):
        count = rng.choice((1, 1, 2))
        relations += [Schema(next(names), _kinds(rng, main, (2, 6, 8, 2, 1)), layer) for _ in range(count)]
    return World(tuple(relations), rng.random() < 0.9, has_floats)


def draw_fact(rng: Random, schema: Schema) -> tuple[Value, ...]:
    """A random fact of a relation."""
    return tuple(rng.choice(DOMAINS[kind]) for kind in schema.kinds)


def _kinds(rng: Random, main: str, arity_weights: Sequence[int]) -> tuple[str, ...]:
    arity = rng.choices(range(len(arity_weights)), arity_weights)[0]
    return tuple(main if rng.random() < 0.75 else rng.choice((NUMBER, SYMBOL)) for _ in range(arity))
