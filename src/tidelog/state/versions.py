"""What is known about a stored version.

What      : `VersionInfo`, committed together with the rows of its version; and the fingerprint of a program.
Idea      : everything that a reader has to know before it reads a fact (format, program, sizes, batch) travels in the
            commit itself, so that a version is wholly there or not at all.
Invariant : the fingerprint is equal for programs that differ only in the order of their statements and in the names of
            variables; facts are no part of it.
Never     : no file is touched here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import index
from typing import Any, TypeAlias

from tidelog.errors import StateError
from tidelog.language.printer import canonical_text, print_program
from tidelog.language.terms import Program
from tidelog.language.values import INT_MAX, INT_MIN, is_unicode
from tidelog.planning.lowered import is_hidden
from tidelog.state.rows import FORMAT, KNOWN_FORMATS

KEY = "tidelog"
"""Under this name a version is described in the metadata of its commit."""

STREAM, PARTS = "stream", 1_000_000
"""The source that a pipeline follows comes in micro-batches of several parts: part p of b is batch b * PARTS + p."""


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """One stored version.

    `relations` maps every stored relation, hidden ones included, to its arity and size. `fingerprint` is that of the
    program, `text` that of its exact spelling. `kind`, `rows` and `size` say what the commit added to the table. `id`
    is that of the save that made it: no other save has it, not even of the same engine into a copy of the state.
    `arithmetic` says what becomes of instances without a value; it is empty if an older release knew none of them.
    `batch` is the last batch that is part of it, `first_batch` the first one that no version before holds.
    `store` names the description of files beside the table, if there are any (far.py).
    """

    state: str
    version: int
    fingerprint: str
    text: str
    strategy: str
    relations: Mapping[str, tuple[int, int]]
    kind: str
    rows: int
    batch: int | None = None
    source: str = ""
    writer: str = ""
    id: str = ""
    store: str = ""
    commit: int = -1
    time: datetime | None = None
    size: int = 0
    arithmetic: str = ""
    first_batch: int | None = None

    @property
    def facts(self) -> int:
        """How many facts the user's relations have."""
        return sum(count for name, (_, count) in self.relations.items() if not is_hidden(name))

    @property
    def origin(self) -> str:
        """The source and the batch or batches that led to it, as people call them; empty if there was none."""
        if self.batch is None:
            return ""
        first = self.batch if self.first_batch is None else self.first_batch
        batches = [self.batch] if first == self.batch else [first, self.batch]
        return f"{self.source} " + " to ".join(
            "{}.{}".format(*divmod(batch, PARTS)) if self.source == STREAM else str(batch) for batch in batches
        )

    def to_json(self) -> dict[str, Any]:
        """What the metadata of the commit say."""
        return {
            "format": FORMAT,
            "state": self.state,
            "version": self.version,
            "fingerprint": self.fingerprint,
            "text": self.text,
            "strategy": self.strategy,
            "relations": {name: list(shape) for name, shape in self.relations.items()},
            "kind": self.kind,
            "rows": self.rows,
            "batch": self.batch,
            "first_batch": self.first_batch,
            "source": self.source,
            "writer": self.writer,
            "id": self.id,
            "arithmetic": self.arithmetic,
            "store": self.store,
        }

    @classmethod
    def of(cls, commit_info: Mapping[str, Any], commit: int, size: int, directory: str) -> VersionInfo:
        """The version that a commit describes; refuses other formats, and tables that are not ours."""
        said = commit_info.get(KEY)
        if not isinstance(said, dict) or "format" not in said:
            raise StateError.of(
                "E601", f"{directory} is a Delta table, but no state of Tidelog", remedy="give another directory"
            )
        if said["format"] not in KNOWN_FORMATS:
            raise StateError.of(
                "E602",
                f"{directory} has the format {said['format']}; this release reads and writes {FORMAT}",
                remedy="use the release of Tidelog that wrote it, or begin a new state",
            )
        wrong = [name for name, kinds in _PLAIN.items() if not isinstance(said.get(name, ...), kinds)]
        try:
            time = datetime.fromtimestamp(commit_info.get("timestamp", 0) / 1000, UTC)
            relations = {name: (int(arity), int(count)) for name, (arity, count) in said["relations"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError):
            wrong.append("relations or timestamp")
        if wrong:
            raise StateError.of(
                "E603",
                f"the state in {directory} is damaged: commit {commit} does not say its {', '.join(wrong)}",
                remedy="open an older version, or restore a copy",
            )
        words = {name: said[name] for name in _PLAIN}
        words["store"] = said.get("store", "")  # format 1 has none
        words["id"] = said.get("id") or f"{said['writer']}:{commit}"  # older releases gave none
        words["arithmetic"] = said.get("arithmetic", "")
        words["first_batch"] = said.get("first_batch", said["batch"])  # older releases held one
        return cls(relations=relations, commit=commit, time=time, size=size, **words)


_PLAIN: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("state", "fingerprint", "text", "strategy", "kind", "source", "writer"), str),
    **dict.fromkeys(("version", "rows"), int),
    "batch": (int, type(None)),
}
"""What every commit says of its version, and of which type it is."""


Batches: TypeAlias = tuple[int | None, int | None]
"""The first and the last batch of a version, if batches led to it."""


def first_and_last(batch: int | range | None) -> Batches:
    """A batch or a range of them as plain numbers; E612 for everything else."""
    if not isinstance(batch, range):
        number = None if batch is None else whole_number(batch, "a batch")
        return number, number
    if not batch or batch.step != 1:
        remedy = "give the first batch and the one after the last, as in range(3, 5)"
        raise StateError.of("E612", f"{batch} holds no batches, or leaves some out", remedy=remedy)
    return whole_number(batch[0], "a batch"), whole_number(batch[-1], "a batch")


def whole_number(value: object, what: str) -> int:
    """A version or a batch as a plain number of 64 bits; E612 for everything else."""
    try:
        number = None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or not INT_MIN <= number <= INT_MAX:
        shown = repr(value) if number is None else "a number beyond 64 bits"
        raise StateError.of(
            "E612", f"{what} is a whole number of 64 bits, not {shown[:80]}", remedy="give such a number"
        )
    return number


def check_source(source: object) -> None:
    """Refuse a name of a source of batches that cannot be stored."""
    if not isinstance(source, str) or not is_unicode(source):
        shown = repr(source)[:80]
        raise StateError.of("E612", f"a source of batches is called by a text, not {shown}", remedy="give a text")


def fingerprint(program: Program) -> str:
    """A short text that is equal for equal programs, facts left aside."""
    rest = print_program(Program((), (), program.declarations, program.inputs, program.outputs)).split("\n")
    lines = sorted([*filter(None, rest), *(f"{rule.name or ''}: {canonical_text(rule)}" for rule in program.rules)])
    return digest("\n".join(lines))


def digest(text: str) -> str:
    """A short text that is equal for equal texts."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def program_text(program: Program) -> str:
    """The program without its facts, as it is stored."""
    return print_program(Program(program.rules, (), program.declarations, program.inputs, program.outputs))
