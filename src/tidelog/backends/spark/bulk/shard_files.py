"""Where shards keep their facts between rounds.

What      : a folder per run: the relations that every shard has, the facts given to each shard at first, those that it
            got or derived by round, and what it sent in each round, as Arrow files.
Idea      : a round reads the folder and adds to it, so nothing that a lost executor held is needed, no lineage grows,
            and only facts that move go through Spark's exchange.
Invariant : a file appears whole or not at all, and a task that runs again writes the same facts.
Never     : no rules. The folder must be reachable by the driver and by every executor under the same address.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs

from tidelog.state.file_systems import place


@dataclass(frozen=True, slots=True)
class ShardFiles:
    """The folder of one run, by its address (a path, or an address that Arrow knows, such as hdfs:// or s3://)."""

    address: str

    def write(self, name: str, table: pa.Table) -> None:
        """Write a table under a name, at once."""
        system, folder = place(self.address)
        target = f"{folder}/{name}.arrow"
        system.create_dir(target.rsplit("/", 1)[0], recursive=True)
        draft = f"{target}.{uuid.uuid4().hex}"
        with system.open_output_stream(draft) as stream, pa.ipc.new_file(stream, table.schema) as writer:
            writer.write_table(table)
        system.move(draft, target)

    def read(self, name: str) -> pa.Table | None:
        """The table under a name; None if nobody wrote it."""
        system, folder = place(self.address)
        path, is_here = f"{folder}/{name}.arrow", isinstance(system, pyarrow.fs.LocalFileSystem)
        try:
            with pa.memory_map(path) if is_here else system.open_input_file(path) as source:
                return pa.ipc.open_file(source).read_all()
        except FileNotFoundError:
            return None

    def given(self, shard: int) -> Iterator[pa.Table]:
        """What a shard had before its first run."""
        table = self.read(given_name(shard))
        if table is not None:
            yield table

    def state(self, shard: int, rounds: int) -> Iterator[pa.Table]:
        """What a shard has got or derived in the rounds before the given one."""
        for number in range(rounds):
            table = self.read(state_name(shard, number))
            if table is not None:
                yield table

    def remove(self) -> None:
        """Forget the run."""
        system, folder = place(self.address)
        system.delete_dir(folder)


def given_name(shard: int) -> str:
    """The name of the facts that a shard was given at first."""
    return f"given/{shard}"


def state_name(shard: int, number: int) -> str:
    """The name of the facts that a shard got or derived in a round."""
    return f"state/{shard}/{number}"


def sent_name(shard: int, number: int) -> str:
    """The name of the facts that a shard sent in a round."""
    return f"sent/{number}/{shard}"
