"""One address, two spellings: what Hadoop calls `s3a:` is `s3:` to Arrow, which refuses the other name.

Taught by `spark.tidelog.directory=s3a://...`, which docs/cluster.md recommended and the first job refused.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.fs
import pytest

from tidelog.state.file_systems import for_arrow, for_spark, place


@pytest.mark.parametrize("address", ["s3://bucket/a b/c", "s3a://bucket/a b/c", "S3A://bucket/a b/c"])
def test_each_side_gets_its_own_spelling(address: str) -> None:
    """Whichever the user has written."""
    assert for_arrow(address).lower() == "s3://bucket/a b/c"
    assert for_spark(address).lower() == "s3a://bucket/a b/c"


@pytest.mark.parametrize("address", ["/tmp/s3a", "s3a", "hdfs://name/x", "gs://bucket/x", "file:/tmp/x", "/a/s3://b"])
def test_everything_else_is_handed_over_as_it_is(address: str) -> None:
    """A path may contain anything, and other schemes have one name."""
    assert for_arrow(address) == for_spark(address) == address


def test_arrow_opens_what_spark_calls_s3a(monkeypatch: pytest.MonkeyPatch) -> None:
    """No network: the region is given, and nothing is read."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    system, path = place("s3a://bucket/folder/file?region=us-east-1")
    assert (system.type_name, path) == ("s3", "bucket/folder/file")


def test_a_path_is_on_this_machine(tmp_path: Path) -> None:
    """As a path and as an address."""
    for address in (str(tmp_path), tmp_path.as_uri()):
        system, path = place(address)
        assert isinstance(system, pyarrow.fs.LocalFileSystem)
        assert path == str(tmp_path)
