"""A store of objects for tests: moto's S3 server in this process, which delta-rs and Arrow reach over the loopback.

What      : the fixture `bucket` is the address of an empty bucket, with the environment set so that both find it.
Invariant : nothing leaves this machine, and nothing of one test is seen by another.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from uuid import uuid4

import pytest
from pyarrow.fs import FileSelector, FileSystem

from tidelog.state.file_systems import place


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The server's address."""
    from moto.server import ThreadedMotoServer  # not at the top: few tests need it, and it takes a second

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def environment(endpoint: str) -> dict[str, str]:
    """What Arrow and delta-rs read."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty bucket."""
    for name, value in environment(endpoint).items():
        monkeypatch.setenv(name, value)
    name = f"bucket-{uuid4().hex[:12]}"
    system, _ = FileSystem.from_uri(f"s3://{name}?allow_bucket_creation=true")
    system.create_dir(name)
    return f"s3://{name}"


def files(address: str) -> list[str]:
    """Every file below an address, by its path from there."""
    system, path = place(address)
    found = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
    return sorted(one.path.removeprefix(f"{path}/") for one in found if one.is_file)
