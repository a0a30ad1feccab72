"""A state at an address: `file:` means a directory, everywhere; a scheme that Arrow does not know is refused at once.

Taught by a state that was saved at a `file:` address and landed in a folder named `file:` below the working directory.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog import Engine
from tidelog.errors import StateError
from tidelog.state.address import directory_of
from tidelog.state.reading import read_versions


def test_a_file_address_is_its_directory(tmp_path: Path) -> None:
    """With one slash or three, with signs that are escaped in addresses; a path with such signs stays a path."""
    folder = tmp_path / "a b%é"
    assert directory_of(folder) == directory_of(folder.as_uri()) == folder
    assert directory_of(folder.as_uri().replace("//", "", 1)) == folder
    assert directory_of(folder.as_uri().replace("//", "//localhost", 1)) == folder
    assert directory_of("c:/d") == Path("c:/d").resolve()


@pytest.mark.parametrize("address", ["file://elsewhere/x", "dbfs://x/y"])
def test_an_address_that_nobody_knows_is_refused(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving, opening and listing; nothing is made in the working directory."""
    monkeypatch.chdir(tmp_path)
    engine = Engine("q(x) :- p(x).")
    for action in (engine.save, Engine.open, read_versions):
        with pytest.raises(StateError, match="E616"):
            action(address)
    assert list(tmp_path.iterdir()) == []


def test_a_state_is_saved_and_opened_at_an_address(tmp_path: Path) -> None:
    """The same state as at the path."""
    engine = Engine("q(x) :- p(x).")
    engine.apply(insert={"p": [(1,)]})
    engine.save((tmp_path / "the state").as_uri())
    assert set(Engine.open(tmp_path / "the state")["q"]) == {(1,)}
    assert [one.version for one in read_versions((tmp_path / "the state").as_uri())] == [1]
