"""Pieces of files hold every line once and whole, wherever the pieces end."""

import gzip
import random

import pytest

from tidelog.pipeline.sources import line_ranges
from tidelog.pipeline.sources.line_ranges import local_path, ranges, texts_of


@pytest.mark.parametrize("seed", range(20))
def test_every_line_is_in_one_text(tmp_path, monkeypatch, seed):
    """Lines of every length, blank ones, ones longer than a piece, with a newline at the end or without."""
    chance = random.Random(seed)
    lines = [b"x" * chance.choice([0, 0, 1, 2, 5, 40]) for _ in range(chance.randint(0, 60))]
    content = b"\n".join(lines) + b"\n" * chance.randint(0, 1)
    path = tmp_path / "a b.nt"
    path.write_bytes(content)
    monkeypatch.setattr(line_ranges, "PIECE", chance.randint(1, 17))
    found = [text for one in ranges([(path.as_uri(), len(content))]) for text in texts_of(path, one.start, one.stop)]
    assert b"".join(found) == content
    assert all(text.endswith(b"\n") for text in found[:-1])


def test_a_compressed_file_is_one_range_and_several_texts(tmp_path, monkeypatch):
    """Nobody can begin in the middle of it, and it is not unpacked as a whole."""
    content = b"".join(b"line %d\n" % number for number in range(100))
    path = tmp_path / "a.nt.gz"
    path.write_bytes(gzip.compress(content))
    monkeypatch.setattr(line_ranges, "PIECE", 64)
    (only,) = ranges([(path.as_uri(), path.stat().st_size)])
    texts = list(texts_of(path, only.start, only.stop))
    assert b"".join(texts) == content
    assert len(texts) > 5


def test_only_plain_files_are_opened_by_tasks(tmp_path):
    """What is elsewhere is Spark's to read."""
    path = tmp_path / "ä %25.nt"
    assert local_path(path.as_uri()) == path
    for address in ("s3a://bucket/a.nt", "hdfs://host/a.nt", "file://host/a.nt", "/a.nt"):
        assert local_path(address) is None
