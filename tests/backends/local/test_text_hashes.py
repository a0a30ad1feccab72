"""Many hashes at once are those of `hashlib`, compiled and interpreted."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from tidelog.backends.local.constants.same_texts import is_first
from tidelog.backends.local.constants.text_hashes import leading_bits

TEXTS = ["", "a", "é\n'\\", *("x" * length for length in (54, 55, 56, 57, 62, 63, 64, 65, 119, 120, 121, 500))]


@pytest.mark.parametrize("prefix", ["", "s"])
@pytest.mark.parametrize("copies", [1, 400])
def test_hashes_are_those_of_the_library(prefix: str, copies: int) -> None:
    """All lengths around the ends of blocks; few texts are interpreted, many are compiled."""
    texts = [f"{text}{number or ''}" for number in range(copies) for text in TEXTS]
    expected = [int.from_bytes(hashlib.md5(f"{prefix}{text}".encode()).digest()[:8], "big") for text in texts]
    assert leading_bits(pa.array(texts), prefix).tolist() == expected
    assert leading_bits(pa.array(["before", *texts, "after"])[1:-1], prefix).tolist() == expected


@pytest.mark.parametrize("prefix", ["", "s"])
@pytest.mark.parametrize("copies", [1, 200])
def test_short_texts_are_hashed_beside_each_other(prefix: str, copies: int) -> None:
    """All lengths of one block and one more; what is left over, and what is beside a long text, is hashed alone."""
    texts = [chr(97 + (length + copy) % 26) * length for copy in range(copies) for length in range(57)]
    expected = [int.from_bytes(hashlib.md5(f"{prefix}{text}".encode()).digest()[:8], "big") for text in texts]
    assert leading_bits(pa.array(texts), prefix).tolist() == expected
    assert leading_bits(pa.array(["é", *texts])[1:], prefix).tolist() == expected


def test_texts_that_repeat_are_found_whatever_their_hashes_are() -> None:
    """Also where different texts have one hash, and where an array begins in the middle of its buffers."""
    texts = [f"{number % 700}" for number in range(5000)]
    expected = [number < 700 for number in range(5000)]
    for hashes in (leading_bits(pa.array(texts)).view(np.int64), np.zeros(5000, np.int64)):
        assert is_first(pa.array(texts), hashes).tolist() == expected
        assert is_first(pa.array(["0", *texts])[1:], hashes).tolist() == expected
