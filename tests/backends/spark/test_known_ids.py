"""The numbers of ids on the driver, interrupted."""

import numpy as np
import pytest

from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.spark.values.known_ids import KnownIds


def test_an_interrupt_leaves_ids_unknown_that_can_be_added_again(monkeypatch):
    """Found by random interrupts on Spark: ids were numbered, and there was no room for their local numbers."""
    known = KnownIds()
    known.add(np.array([10, 20]), np.array([0, 1], np.int32))
    encode = Dictionary.encode_scalars

    def interrupted(*arguments):
        encode(*arguments)
        raise KeyboardInterrupt

    more = np.array([30, 40, 50])
    with monkeypatch.context() as patched:
        patched.setattr(Dictionary, "encode_scalars", interrupted)
        with pytest.raises(KeyboardInterrupt):
            known.add(more, np.array([2, 3, 4], np.int32))
    assert known.find(np.array([20, 30, 50, 60])).tolist() == [1, -1, -1, -1]
    known.add(more, np.array([2, 3, 4], np.int32))
    assert known.find(np.array([20, 30, 50, 60])).tolist() == [1, 2, 4, -1]
