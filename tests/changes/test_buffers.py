"""Arrow arrays made from memory are those that pyarrow makes."""

import numpy as np
import pyarrow as pa
import pytest

from tidelog.changes.buffers import TYPES, flags, memory, numbers, values_array

CASES = [
    (int, []),
    (int, [0, -1, 2**63 - 1, -(2**63)]),
    (float, [0.0, -0.0, 1.5, float("nan"), float("inf")]),
    (bool, [True]),
    (bool, [True, False] * 5 + [True]),
    (str, ["", "a", "\0", "ä\U0001f600", "x" * 100_000]),
    (str, []),
]


@pytest.mark.parametrize(("kind", "values"), CASES)
@pytest.mark.parametrize("repeated", [1, 5000])
def test_values_become_the_array_that_pyarrow_makes(kind, values, repeated):
    """On both sides of the number from which on pyarrow does it."""
    values = (values * repeated)[:6000] if len(values) < 100 and kind is not str else values
    found = values_array(values, kind)
    found.validate(full=True)
    assert found.type == TYPES[kind]
    assert repr(found.to_pylist()) == repr(pa.array(values, TYPES[kind]).to_pylist())


@pytest.mark.parametrize(("kind", "values", "error"), [(int, [2**63], OverflowError), (str, ["\ud800"], UnicodeError)])
def test_what_does_not_fit_raises_as_pyarrow_does(kind, values, error):
    """The caller then looks for the row."""
    with pytest.raises(error):
        values_array(values, kind)
    with pytest.raises((error, pa.ArrowInvalid)):
        pa.array(values, TYPES[kind])


def test_slices_are_copied_and_arrays_are_shared():
    """A column of a table is not contiguous."""
    table = np.arange(12, dtype=np.int64).reshape(6, 2)
    assert numbers(table[:, 1], pa.int64()).to_pylist() == [1, 3, 5, 7, 9, 11]
    assert flags(np.zeros(0, np.bool_)).to_pylist() == []


@pytest.mark.parametrize(("kind", "values"), [case for case in CASES if case[0] is not str])
@pytest.mark.parametrize("start", [0, 1, 3])
def test_memory_is_what_pyarrow_gives(kind, values, start):
    """Slices begin in the middle of a buffer, bools in the middle of a byte."""
    array = pa.array(values, TYPES[kind])[start:]
    assert repr(memory(array).tolist()) == repr(array.to_pylist())
    assert memory(pa.array([1, 2], pa.int16())).tolist() == [1, 2]
