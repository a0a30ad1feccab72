"""A circuit's state on disk.

What      : `save` writes the arrays of all operators and the constants that they refer to; `load` gives them to a
            circuit that was built in the same way.
Idea      : a circuit is code, and code is not data: only the state is stored, with a drawing of the circuit beside it.
            A circuit whose drawing differs is another circuit (E877).
Invariant : a folder holds one whole state: files are written aside and renamed, and the file that names them comes
            last.
Never     : functions of `map` and `filter` are not stored, and no code is ever loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.changes.fact_sources import to_table
from tidelog.circuits.drawing import mermaid
from tidelog.errors import StateError, UsageError

if TYPE_CHECKING:
    from tidelog.circuits.circuit import Circuit

_NAMES = "circuit.json"


def save(circuit: Circuit, folder: str | PathLike[str]) -> None:
    """Write the state; the last one is there until this one is."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    stem = uuid4().hex
    states: dict[str, Any] = {}
    for at, wire in enumerate(circuit.wires):
        states |= {f"{at}:{name}": array for name, array in wire.operator.stored().items()}
    with (place / f"{stem}.npz").open("wb") as file:
        np.savez(file, allow_pickle=False, **states)
        _settle(file)
    constants = circuit.dictionary.decode_arrow(np.arange(len(circuit.dictionary), dtype=np.int32))
    with (place / f"{stem}.arrow").open("wb") as file:
        table = pa.table({"constant": constants})
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        _settle(file)
    before = _names(place) if (place / _NAMES).exists() else None
    aside = place / f"{stem}.json"
    with aside.open("w") as text:
        json.dump({"stem": stem, "moment": circuit.moment, "circuit": mermaid(circuit)}, text)
        _settle(text)
    aside.replace(place / _NAMES)
    if before is not None:
        for ending in (".npz", ".arrow"):
            (place / f"{before['stem']}{ending}").unlink(missing_ok=True)


def load(circuit: Circuit, folder: str | PathLike[str]) -> Callable[[], None]:
    """Read the state; what comes back gives it to the circuit."""
    place = Path(folder)
    names = _names(place)
    if names["circuit"] != mermaid(circuit):
        raise UsageError.of(
            "E877",
            f"{place} holds the state of another circuit",
            remedy="build the circuit as it was when it was saved",
        )
    with pa.memory_map(str(place / f"{names['stem']}.arrow")) as file:
        constants = pa.ipc.open_file(file).read_all()
    dictionary = _numbered(to_table(constants, "constants", 1).columns[0]) if len(constants) else Dictionary()
    with np.load(place / f"{names['stem']}.npz", allow_pickle=False) as states:
        stored = {name: states[name] for name in states.files}

    def take_over() -> None:
        circuit.dictionary.__dict__.update(dictionary.__dict__)
        for at, wire in enumerate(circuit.wires):
            mine = {name.partition(":")[2]: array for name, array in stored.items() if name.startswith(f"{at}:")}
            wire.operator.undo()  # an interrupt may have left something of its moment
            wire.operator.load(mine)
        circuit.moment = names["moment"]

    return take_over


def _numbered(constants: pa.Array | pa.ChunkedArray) -> Dictionary:
    """The dictionary in which constants have the numbers of their places.

    Constants of several kinds that come together are numbered kind by kind, so they come in runs of one kind.
    """
    read, numbered = Dictionary(), Dictionary()
    found = read.encode(constants)
    if np.array_equal(found, np.arange(len(found))):
        return read
    bounds = [0, *(np.flatnonzero(np.diff(read.kinds[found])) + 1).tolist(), len(found)]
    for start, stop in pairwise(bounds):
        numbered.encode(read.decode(found[start:stop]))
    return numbered


def _names(place: Path) -> dict[str, Any]:
    try:
        return json.loads((place / _NAMES).read_text())  # type: ignore[no-any-return]
    except (OSError, ValueError) as error:
        raise StateError.of("E601", f"{place} holds no state of a circuit", remedy="save one there first") from error


def _settle(file: Any) -> None:  # noqa: ANN401 - a file of bytes or text
    file.flush()
    os.fsync(file.fileno())
