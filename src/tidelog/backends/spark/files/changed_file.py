"""What has changed since the files of a relation were written, as a file of a state.

What      : `filed` writes an overlay (large/overlay.py) into one file beside the segments of its relation, and `read`
            reads it.
Idea      : a state has every change as rows of values. An engine that opens it would have to number all of them again,
            20 microseconds for a fact; ids and what became of each are read in a moment. So a save that finds many
            changes since the last such file writes another one, and only the rows since then are numbered.
Invariant : a file is written once; it says all that the overlay said.
Never     : no commit, no version; no text: those of its ids are in the files of texts (saving.py).
"""

from __future__ import annotations

import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tidelog.backends.spark.cluster import frames
from tidelog.backends.spark.files.reading import readable
from tidelog.backends.spark.files.segments import Order, Segment, Segments, place
from tidelog.backends.spark.files.sorted_rows import size_of, writer
from tidelog.backends.spark.large.overlay import Level, Overlay

_LEAST, _SHARE = 20_000, 10
"""A new file is written when more than 20,000 facts changed since the last, and more than a tenth of what it holds."""


def is_due(overlay: Overlay, before: Segments | None) -> bool:
    """Whether there are many changes that the file before, if there is one, does not have."""
    known = 0 if before is None else before.rows
    return len(overlay) - known > max(_LEAST, known // _SHARE)


def filed(folder: str, overlay: Overlay, width: int) -> Segments:
    """Write everything that an overlay says; the file is deleted when nobody holds the result."""
    level: Level = overlay.all
    address = f"{folder}/{uuid.uuid4().hex}-changed.parquet"
    columns = [pa.array(np.ascontiguousarray(column)) for column in level.rows.T]
    table = pa.table([*columns, pa.array(level.states)], [*frames.names(width), "state"])
    with writer(address, table.schema) as out:
        out.write_table(table)
    made = Segments(width, len(level), {0: Order(0, 1, {0: Segment(address, len(level), size_of(address))})}, (), ())
    made.owned(made.first)
    return made


def read(file: Segments) -> Overlay:
    """The overlay that a file has."""
    [segment] = file.first.files.values()
    with readable(segment.address):
        system, path = place(segment.address)
        table = pq.read_table(path, filesystem=system, use_threads=False)
    rows = frames.to_ids(table, frames.names(file.width))
    return Overlay(file.width, Level(rows, table.column("state").to_numpy()))
