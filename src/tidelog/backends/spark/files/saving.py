"""The relations of a Spark engine in a state.

What      : `SavedFiles` does what state/far.py asks: the files of relations are described and opened, and their facts
            written as rows by executors.
Idea      : the files are the store, so saving links them and opening names them. Only the overlays of relations are in
            this process, and they are small.
Invariant : every hashed id in a described file has its text in a described file.
Never     : no commit, no version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tidelog.backends.spark.cluster.jobs import Jobs
from tidelog.backends.spark.files import changed_file
from tidelog.backends.spark.files.file_store import FileStore
from tidelog.backends.spark.files.importing import imported
from tidelog.backends.spark.files.row_files import write_rows
from tidelog.backends.spark.files.segments import Segment, Segments, order_of, order_to_json
from tidelog.backends.spark.files.texts import TextFiles
from tidelog.backends.spark.freed_memory import give_back
from tidelog.backends.spark.large.cold import ColdRelation, rebased
from tidelog.backends.spark.large.committed import Committed
from tidelog.backends.spark.large.overlay import Overlay
from tidelog.backends.spark.values.constants import Constants
from tidelog.backends.spark.values.ids import Ids, Naming
from tidelog.backends.spark.values.numbered import STRING, WHOLE, numbered
from tidelog.planning.short_names import in_words
from tidelog.state.far import FarRelation, StoredFar, StoredFiles, StoredRows

_KINDS = {pa.string(): STRING, pa.large_string(): STRING, pa.int64(): WHOLE}
_PLAIN = {STRING: pa.string(), WHOLE: pa.int64()}


class SavedFiles:
    """The files of one engine, as a state sees them."""

    def __init__(
        self, jobs: Jobs, files: FileStore, constants: Constants, committed: Committed, forget: Callable[[], None]
    ) -> None:
        self._jobs, self._files, self._constants, self._committed = jobs, files, constants, committed
        self._forget = forget

    def relations(self) -> Mapping[str, FarRelation]:
        """The relations that are in files."""
        return {
            name: FarRelation(cold.arity, cold.size, len(cold.overlay)) for name, (cold, _) in self._in_files().items()
        }

    def settle(self, relations: Iterable[str]) -> None:
        """Write relations anew, without an overlay."""
        after = dict(self._committed.relations)
        for name in relations:
            after[name] = after[name].compacted(self._jobs, self._files)
        self._committed.relations = after

    def write_rows(self, relation: str, version: int, directory: str, name: str) -> list[tuple[str, int]]:
        """Have executors write all facts of a relation as rows."""
        self._constants.flush()
        if self._committed.relations[relation].overlay:
            self.settle([relation])
        cold, segments = self._in_files()[relation]
        order, texts = segments.first, self._texts.generations
        with self._jobs.named(f"save {in_words(relation)}"):
            return write_rows(self._jobs, order, texts, relation, cold.arity, version, f"{directory}/{name}")

    def describe(self, known: set[str]) -> tuple[dict[str, Any], list[str]]:
        """What is needed to open the files again, and their addresses.

        Texts on the driver are stored only if a file is new: what changed since is in the rows of the state, as values.
        """
        current = self._file_changes()
        relations: dict[str, dict[str, Any]] = {}
        own: list[Segment] = []
        for name, (cold, segments) in self._in_files().items():
            said, files = segments.described()
            relations[name], own = {**said, "overlaid": len(cold.overlay)}, [*own, *files]
            if cold.filed is not None:
                relations[name] |= {"changed": order_to_json(cold.filed.first), "is_current": name in current}
                own += cold.filed.first.files.values()
        if any(file.name not in known for file in own):
            self._constants.flush()
        texts = self._texts.generations
        files = [*(file for order in texts for file in order.files.values()), *own]
        said = {"texts": [order_to_json(order) for order in texts], "relations": relations}
        if current:  # many facts have become rows of the state
            give_back()
        if self._constants.naming.moved:
            said["moved"] = dict(self._constants.naming.moved)
        return said, [file.address for file in files]

    def _file_changes(self) -> set[str]:
        """Write the overlays that have grown much since they were last written; which ones."""
        after = dict(self._committed.relations)
        due = {name for name, (cold, _) in self._in_files().items() if changed_file.is_due(cold.overlay, cold.filed)}
        for name in due:
            written = changed_file.filed(self._files.folder, after[name].overlay, after[name].width)
            after[name] = replace(after[name], filed=written)
        self._committed.relations = after
        return due

    def restore(self, files: StoredFiles, relations: Sequence[StoredFar]) -> None:
        """Open relations in the files of a state; what was needed on the way is given back before more is."""
        give_back()
        self._texts.generations = [order_of(order, files.folder) for order in files.said["texts"]]
        self._constants.naming = Naming(self._constants.naming.digits, files.said.get("moved", {}))
        after = dict(self._committed.relations)
        changed = [stored.facts if stored.arity and len(stored.states) else None for stored in relations]
        for stored, numbers in zip(relations, self._ids(changed)):
            segments = Segments.of(stored.said, files.folder)
            for lead in segments.orders:
                self._files.want(stored.relation, (lead,))
            rows, distinct = segments.rows, segments.distinct
            filed = self._filed(stored, files.folder)
            overlay, name = _overlay(stored, filed, numbers), stored.relation
            after[name] = ColdRelation(name, stored.arity, segments, rows, stored.size, overlay, distinct, rows, filed)
            give_back()
        self._committed.relations = after
        self._forget()

    def import_rows(self, rows: StoredRows) -> dict[str, int]:
        """Have executors make files of relations from the rows of a state; how many facts each has."""
        arities = {name: arity for name, (arity, _) in rows.relations.items()}
        after = dict(self._committed.relations)
        for name, facts in imported(self._jobs, self._constants, rows.paths, arities).items():
            arity, size = rows.relations[name]
            after[name] = rebased(self._jobs, self._files, name, arity, facts, size)
        self._committed.relations = after
        self._forget()
        return {name: after[name].size for name in arities}

    def _filed(self, stored: StoredFar, folder: str) -> Segments | None:
        """The file of what changed until a save, if there is one."""
        if "changed" not in stored.said:
            return None
        order = order_of(stored.said["changed"], folder)
        [file] = order.files.values()
        return Segments(max(stored.arity, 1), file.rows, {0: order}, (), ())

    def _ids(self, tables: Sequence[pa.Table | None]) -> Iterator[Ids | None]:
        """Facts of several relations as ids.

        Strings and integers are numbered together, and the driver need not know them for that: their texts are looked
        for once. Other values, and strings of which two have one hash, become constants of the driver.
        """
        named = [self._numbered(facts) for facts in tables]
        texts = [some for _, some in filter(None, named)]
        distinct = pa.concat_tables(texts).group_by(["k0", "text"]).aggregate([]) if texts else None
        is_plain = distinct is not None and self._constants.expect(distinct)
        for facts, found in zip(tables, named):
            if facts is None:
                yield None
            elif found is not None and is_plain:
                yield found[0]
            else:
                columns = [self._constants.dictionary.encode(column) for column in facts.columns]
                yield self._constants.ids_of(np.column_stack(columns))

    def _numbered(self, facts: pa.Table | None) -> tuple[Ids, pa.Table] | None:
        """Facts as ids with the texts of these, if they are strings and integers."""
        if facts is None or any(column.type not in _KINDS for column in facts.columns):
            return None
        kinds = [_KINDS[column.type] for column in facts.columns]
        plain = [column.cast(_PLAIN[kind]) for column, kind in zip(facts.columns, kinds)]
        numbers, texts = numbered(pa.table(plain, facts.column_names), kinds, self._constants.naming)
        return np.column_stack(numbers), texts

    @property
    def _texts(self) -> TextFiles:
        texts = self._constants.texts
        assert isinstance(texts, TextFiles)
        return texts

    def _in_files(self) -> dict[str, tuple[ColdRelation, Segments]]:
        relations = self._committed.relations.items()
        return {name: (cold, cold.base) for name, cold in relations if isinstance(cold.base, Segments)}


def _overlay(stored: StoredFar, filed: Segments | None, numbers: Ids | None) -> Overlay:
    """The facts that changed since the files were written: those of a file, and later ones as ids."""
    before = Overlay(max(stored.arity, 1)) if filed is None else changed_file.read(filed)
    if not len(stored.states):
        return before
    if numbers is None:  # a fact without columns
        return before.changed(np.zeros((1, 1), np.int64), stored.states[-1:])
    return before.changed(numbers, stored.states)
