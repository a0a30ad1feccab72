"""Files at an address, in the words that a state has for files of this machine.

What      : `Remote` is a file or folder of a store that Arrow knows, with those methods of pathlib that a state uses;
            `readable` and `writable` give what Arrow's readers and writers take, for either kind.
Idea      : a state looks the same everywhere: files of rows, a log, files beside the table. Only what a file system
            does and a store of objects does not is told apart: locks, links, and syncing to a disk.
Invariant : a file that is closed is there for everybody. A store that cannot be reached is E616, never "no state".
Never     : no cache: another process may have written meanwhile. No credentials: Arrow and delta-rs read the
            environment, each as it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tidelog.errors import StateError
from tidelog.state.file_systems import for_arrow, place

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

_NOT_IN_ADDRESSES = frozenset(' %?#"\\\t\n')
"""delta-rs and Arrow do not agree about these: one decodes them, the other does not."""


class Sized(NamedTuple):
    """What a state asks of a file, under the name that the system has for it."""

    st_size: int


class Remote:
    """A file or a folder at an address."""

    __slots__ = ("_path", "_size", "_system", "address")

    def __init__(self, address: str, system: FileSystem, path: str, size: int | None = None) -> None:
        self.address, self._system, self._path, self._size = address, system, path, size

    @staticmethod
    def at(address: str) -> Remote:
        """The folder at an address of any scheme that Arrow knows."""
        if _NOT_IN_ADDRESSES.intersection(address):
            sentence = f"a state cannot be kept at {address}"
            raise StateError.of("E616", sentence, remedy="use an address of letters, digits and plain signs")
        address = for_arrow(address).rstrip("/")
        try:
            system, path = place(address)
        except (OSError, ValueError) as error:
            raise _unreachable(address, error) from error
        return Remote(address, system, path)

    def __truediv__(self, name: str) -> Remote:
        return Remote(f"{self.address}/{name}", self._system, f"{self._path}/{name}")

    def __fspath__(self) -> str:
        return self.address

    def __str__(self) -> str:
        return self.address

    def __repr__(self) -> str:
        return f"Remote({self.address!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remote) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)

    def as_uri(self) -> str:
        """The address."""
        return self.address

    @property
    def name(self) -> str:
        """The last step of the path."""
        return self._path.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without what follows the last point."""
        return self.name.rpartition(".")[0] or self.name

    # -- looking -------------------------------------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether there is a file, or a folder with files."""
        return bool(self._info().type.name != "NotFound")

    def is_file(self) -> bool:
        """Whether there is a file."""
        return bool(self._info().is_file)

    def is_dir(self) -> bool:
        """Whether there is a folder, which in a store of objects is one with files."""
        return bool(self._info().type.name == "Directory")

    def stat(self) -> Sized:
        """How many bytes the file has; FileNotFoundError if there is none."""
        if self._size is None:
            info = self._info()
            if not info.is_file:
                raise FileNotFoundError(f"there is no file {self.address}")
            return Sized(info.size)
        return Sized(self._size)

    def iterdir(self) -> Iterator[Remote]:
        """The files and folders in a folder, which need not be there."""
        from pyarrow.fs import FileSelector

        with _reaching(self.address):
            found = self._system.get_file_info(FileSelector(self._path, allow_not_found=True))
        for info in found:
            name = info.base_name
            yield Remote(f"{self.address}/{name}", self._system, f"{self._path}/{name}", info.size)

    def glob(self, pattern: str) -> Iterator[Remote]:
        """Those whose names fit a pattern."""
        return (one for one in self.iterdir() if fnmatchcase(one.name, pattern))

    def _info(self) -> FileInfo:
        with _reaching(self.address):
            return self._system.get_file_info(self._path)

    # -- reading and writing -------------------------------------------------------------------------------------------

    def opened(self) -> Any:  # noqa: ANN401 - a file of Arrow
        """The file, for reading at any place."""
        with _reaching(self.address):
            return self._system.open_input_file(self._path)

    def read_bytes(self) -> bytes:
        """All bytes of the file."""
        with self.opened() as source:
            return bytes(source.read())

    def read_text(self, encoding: str = "utf-8") -> str:
        """The file as text."""
        return self.read_bytes().decode(encoding)

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """A stream whose file is there once this is left without an error; otherwise the caller removes what is."""
        with _reaching(self.address), self._system.open_output_stream(self._path) as out:
            yield out

    def write_bytes(self, content: bytes) -> None:
        """Write the file anew."""
        with self.writing() as out:
            out.write(content)

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        """Write the file anew, from text."""
        self.write_bytes(text.encode(encoding))

    def take(self, address: str) -> None:
        """Have a copy of another file here."""
        from pyarrow.fs import copy_files

        system, path = place(address)
        with _reaching(self.address):
            copy_files(path, self._path, source_filesystem=system, destination_filesystem=self._system)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file."""
        try:
            with _reaching(self.address):
                self._system.delete_file(self._path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def mkdir(self, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing: a folder comes with its first file."""


Location: TypeAlias = Path | Remote
"""Where a state, or one of its files, is."""


def readable(file: Location) -> Any:  # noqa: ANN401 - a path, or a file of Arrow
    """What Arrow reads a file from."""
    return file if isinstance(file, Path) else file.opened()


@contextmanager
def writable(file: Location) -> Iterator[Any]:
    """What Arrow writes a file into."""
    if isinstance(file, Path):
        yield file
        return
    with file.writing() as out:
        yield out


@contextmanager
def _reaching(address: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreachable(address, error) from error


def _unreachable(address: str, error: Exception) -> StateError:
    first = str(error).partition("\n")[0] or type(error).__name__
    return StateError.of(
        "E616",
        f"{address} cannot be reached: {first}",
        remedy="check the address, and the credentials and endpoints that the environment names",
    )
