"""Names become folders that no name can escape, and nothing is removed that we did not write.

Taught by a relation called `..`: its versions went beside the sink, and the cleaning of old versions deleted folders
there that we had never written.
"""

import json
import random
from pathlib import Path

import pytest

from tidelog.errors import PipelineError
from tidelog.pipeline.out.folders import LONGEST, folder_in_bytes, folder_name
from tidelog.pipeline.out.shelf import MANIFEST, Shelf, local_folder
from tidelog.pipeline.out.sinks import shelf_of

HARMLESS = ("edge", "hasParent", "_private", "a-b", "a~b", "v1.2", "Δ", "über", "a b", "a/b", "x=1", "A" * 255)
HOSTILE = (
    "", ".", "..", "...", "/", "//", "../x", "a/../b", "\0", "a\0b", "\\", "C:\\x", "con", "CON", "nul.txt", "COM1",
    "lpt9.a", "edge.", ".edge", "edge ", " ", "*", "?", "<", ">", "|", '"', ":", "%", "%2E", "%2e", "%-",
    "_tidelog.jsonl", "_TIDELOG-x", "\n", "\r", "\u2028", "\u202e", "\ufeff", "\U0010ffff",
    "\ud800", "a" * 256, "a" * 65_536, "é" * 300,
    "." * 300,
)  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS[:9])
def test_harmless_names_keep_their_folders(name):
    """As every release has called them."""
    from urllib.parse import quote

    assert folder_name(name) == quote(name, safe="")
    assert folder_name("hasParent") == "hasParent"


@pytest.mark.parametrize("spelled", [folder_name, folder_in_bytes])
@pytest.mark.parametrize("name", [*HARMLESS, *HOSTILE], ids=lambda name: ascii(name[:12]))
def test_a_folder_is_one_step_of_a_path(tmp_path, name, spelled):
    """It can be made, it is the only thing that appears, and it is none of ours."""
    found = spelled(name)
    assert 0 < len(found.encode("ascii")) <= LONGEST
    assert found not in (".", "..")
    assert not set(found) & set('/\\\0:*?"<>| ')
    assert not found.startswith((".", "_tidelog"))
    assert not found.endswith(".")
    (tmp_path / found).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [found]


def test_different_names_have_different_folders():
    """Every code point at every end, cut or not; in bytes even where letters have no case."""
    letters = [chr(code) for code in (*range(0x180), 0x2028, 0x2029, 0x202E, 0xFEFF, 0xFFFD, 0xFFFF, 0x10FFFF)]
    names = {*HARMLESS, *HOSTILE, *letters, *(f"a{one}" for one in letters), *(f"{one}a" for one in letters)}
    names |= {"x" * 300 + one for one in letters} | {one + "x" * 300 for one in letters}
    assert len({folder_name(name) for name in names}) == len(names)
    assert len({folder_in_bytes(name).lower() for name in names}) == len(names)
    by_folder = {folder_name(name): name for name in names}
    assert all(by_folder.get(folder_in_bytes(name), name) == name for name in names)


def write(text):
    """A writer of a part with two files."""

    def of(path: Path) -> None:
        (path / "deep").mkdir(parents=True)
        (path / "part-0").write_text(text)
        (path / "deep/part-1").write_text(text)

    return of


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def test_parts_come_and_go_and_others_stay(tmp_path):
    """A part is replaced and removed by its own files; what somebody put into it stays."""
    shelf = Shelf(tmp_path / "shelf")
    shelf.put("edge", "version=1", write("one"))
    shelf.put("edge", "version=2", write("two"))
    (tmp_path / "shelf/version=1/notes.txt").write_text("mine")
    (tmp_path / "shelf/version=3").mkdir()
    (tmp_path / "shelf/version=3/part-0").write_text("theirs")
    shelf = Shelf(tmp_path / "shelf")
    assert (shelf.owner, set(shelf.parts)) == ("edge", {"version=1", "version=2"})
    shelf.remove(["version=1", "version=2", "version=3", "..", "nobody"])
    assert tree(tmp_path / "shelf") == {"version=1/notes.txt": "mine", "version=3/part-0": "theirs"}
    shelf.put("edge", "version=3", write("three"))
    kept = [path for path in (tmp_path / "shelf").iterdir() if path.name.startswith("_tidelog-kept")]
    assert [(path / "part-0").read_text() for path in kept] == ["theirs"]
    assert (tmp_path / "shelf/version=3/deep/part-1").read_text() == "three"
    Shelf(tmp_path / "shelf").put("edge", "version=3", write("again"))
    assert len(list((tmp_path / "shelf").iterdir())) == 4


def test_a_folder_without_a_manifest_is_adopted(tmp_path):
    """Versions of an older release stay, those that come after them are cleaned as usual."""
    for number in (1, 2):
        (tmp_path / f"edge/version={number}").mkdir(parents=True)
        (tmp_path / f"edge/version={number}/part-0").write_text("old")
    for number in (3, 4, 5):
        shelf = shelf_of(tmp_path, "edge")
        shelf.put("edge", f"version={number}", write("new"))
        shelf.remove(set(shelf.parts) - {f"version={number}"})
    assert {path.name for path in (tmp_path / "edge").glob("version=*")} == {"version=1", "version=2", "version=5"}
    assert tree(tmp_path)["edge/version=1/part-0"] == "old"


def test_a_disk_without_case(tmp_path):
    """Two relations whose folders are the same on such a disk (here by a link) get folders of their own."""
    shelf_of(tmp_path, "Edge").put("Edge", "version=1", write("upper"))
    (tmp_path / "edge").symlink_to("Edge")
    lower = shelf_of(tmp_path, "edge")
    lower.put("edge", "version=1", write("lower"))
    assert lower.folder.name == folder_in_bytes("edge")
    assert shelf_of(tmp_path, "Edge").folder.name == "Edge"
    assert shelf_of(tmp_path, "edge").folder == lower.folder
    assert (tmp_path / "Edge/version=1/part-0").read_text() == "upper"
    (lower.folder / MANIFEST).write_text('{"owner": "another"}\n')
    with pytest.raises(PipelineError, match="E729"):
        shelf_of(tmp_path, "edge")


def test_a_writer_that_fails_or_dies_leaves_a_listed_folder(tmp_path):
    """What it had written is removed when the next part is put; the part before is untouched."""

    def half(path):
        write("half")(path)
        raise OSError("the disk is full")

    shelf = Shelf(tmp_path / "shelf")
    shelf.put("edge", "version=1", write("one"))
    with pytest.raises(OSError, match="full"):
        shelf.put("edge", "version=1", half)
    assert (tmp_path / "shelf/version=1/part-0").read_text() == "one"
    Shelf(tmp_path / "shelf").put("edge", "version=2", write("two"))
    assert {path.name for path in (tmp_path / "shelf").iterdir()} == {"version=1", "version=2", MANIFEST}


@pytest.mark.parametrize("seed", range(20))
def test_a_torn_manifest_removes_less_and_never_more(tmp_path, seed):
    """Cut anywhere, or with lines of somebody who wants us to remove other things."""
    draw, folder = random.Random(seed), tmp_path / "shelf"
    (tmp_path / "neighbour").mkdir()
    (tmp_path / "neighbour/file").write_text("theirs")
    shelf = Shelf(folder)
    for number in range(3):
        shelf.put("edge", f"version={number}", write(str(number)))
    manifest = (folder / MANIFEST).read_bytes()
    evil = [
        {"writing": "../neighbour"}, {"writing": "version=0"}, {"part": "..", "files": ["neighbour/file"]},
        {"part": "version=0", "files": ["../../neighbour/file"]}, {"part": "version=0", "files": ["/etc/passwd"]}, 7,
        {"owner": 3}, {"part": "a/b", "files": []},
    ]  # fmt: skip
    cut = manifest[: draw.randrange(len(manifest))]
    lines = [json.dumps(one).encode() for one in draw.sample(evil, 3)]
    (folder / MANIFEST).write_bytes(cut + (b"\n" if draw.random() < 0.5 else b"") + b"\n".join(lines))
    shelf = Shelf(folder)
    shelf.put("edge", "version=9", write("9"))
    shelf.remove(list(shelf.parts))
    assert (tmp_path / "neighbour/file").read_text() == "theirs"
    assert Path("/etc/passwd").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"neighbour", "shelf"}
    again = Shelf(folder)
    assert (set(again.parts), again._is_torn) == (set(), False)


def test_addresses_of_other_machines_are_no_folders():
    """Their storage has its own rules."""
    assert local_folder("s3a://bucket/x") is None
    assert local_folder("hdfs:/x") is None
    assert local_folder("/srv/hdfs:/x") == Path("/srv/hdfs:/x")
    assert local_folder("file:" + "///srv/a%20b") == Path("/srv/a b")
    assert local_folder("/tmp/a%20b") == Path("/tmp/a%20b")
