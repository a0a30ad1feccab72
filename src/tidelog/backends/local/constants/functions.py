"""Functions, comparisons and aggregates on ids.

What      : what language/values.py defines on single values, on whole columns of ids.
Idea      : numbers are computed by kernels on payloads; what a kernel defers (see function_kernels.py), and everything
            on strings but their order, is computed once per distinct combination by language/partial.py.
Invariant : for every input the result is that of language/values.py, and NO_VALUE where that raises or an input is it.
Never     : no rules and no relations; the only state is the dictionary, which gets the constants that are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tidelog.backends.local.constants import function_kernels as kernels
from tidelog.backends.local.constants.dictionary import Dictionary
from tidelog.backends.local.constants.dictionary_kernels import KIND_FLOAT, KIND_INT
from tidelog.backends.local.constants.function_kernels import EQUAL, GREATER, LESS, NO_ORDER
from tidelog.backends.local.kernels.compiled import Array, read_only
from tidelog.language import partial, patterns
from tidelog.language import values as definition
from tidelog.language.terms import Value

NO_VALUE = -1
"""Stands in the place of an id where there is no value."""
_FALSE, _TRUE, _NEITHER = 0, 1, 2

ARITHMETIC = {
    "+": kernels.ADD,
    "-": kernels.SUBTRACT,
    "*": kernels.MULTIPLY,
    "/": kernels.DIVIDE,
    "%": kernels.REMAINDER,
    "^": kernels.POWER,
}
"""Functions of two numbers that kernels know."""
_SUMMARIES = {"sum": kernels.SUM, "mean": kernels.MEAN, "median": kernels.MEDIAN}
_HOLDS: dict[str, Callable[[Array], Array]] = {
    "<": lambda found: found == LESS,
    "<=": lambda found: found <= EQUAL,
    ">": lambda found: found == GREATER,
    ">=": lambda found: (found == EQUAL) | (found == GREATER),
}


def apply(dictionary: Dictionary, function: str, columns: Sequence[Array]) -> Array:
    """The ids of `function` applied to ids, row by row; NO_VALUE where it has none."""
    sound = _sound(columns)
    if sound is not None:
        out = np.full(columns[0].size, NO_VALUE, np.int32)
        out[sound] = _applied(dictionary, function, [column[sound] for column in columns])
        return out
    return _applied(dictionary, function, columns)


def compare(dictionary: Dictionary, op: str, left: Array, right: Array) -> Array:
    """Whether `left op right` has a value and is true, row by row."""
    if op == partial.UNDEFINED:
        return np.asarray(left == NO_VALUE)
    if op == partial.MAYBE:
        return np.asarray((left == NO_VALUE) | (left == dictionary.encode([True])[0]))
    if op == "=":
        return np.asarray((left == right) & (left != NO_VALUE))
    sound = _sound((left, right))
    if sound is None:
        return np.asarray(_truth(dictionary, op, left, right) == _TRUE)
    result = np.zeros(left.size, np.bool_)
    result[sound] = _truth(dictionary, op, left[sound], right[sound]) == _TRUE
    return result


def _sound(columns: Sequence[Array]) -> Array | None:
    """The rows in which every column has a value; None if all have."""
    missing = columns[0] == NO_VALUE
    for column in columns[1:]:
        missing |= column == NO_VALUE
    return np.flatnonzero(~missing) if missing.any() else None


def _applied(dictionary: Dictionary, function: str, columns: Sequence[Array]) -> Array:
    """A function of values that are all there."""
    rows = columns[0].size
    if not rows:
        return np.empty(0, np.int32)
    if function.startswith("@"):
        ids = dictionary.encode([False, True])
        if function == partial.ALL:
            return np.full(rows, ids[_TRUE], np.int32)
        return np.append(ids, np.int32(NO_VALUE))[_truth(dictionary, function[1:], columns[0], columns[1])]
    if function in ARITHMETIC:
        return _arithmetic(dictionary, function, columns)
    if function in ("min", "max"):
        starts = np.arange(0, rows * len(columns), len(columns), dtype=np.int64)
        return aggregate(dictionary, function, np.stack(columns, axis=1).reshape(-1), starts)
    if function in ("neg", "abs"):
        return _sign(dictionary, function, columns[0])
    return _defined(dictionary, function, columns)


def _truth(dictionary: Dictionary, op: str, left: Array, right: Array) -> Array:
    """_TRUE, _FALSE or _NEITHER for values that are all there."""
    if op in ("=", "!="):
        return np.asarray((left == right) == (op == "="), np.int8)
    if op not in _HOLDS:
        return _judged(dictionary, op, left, right)
    found = np.empty(left.size, np.int8)
    d = dictionary
    kernels.orders(read_only(left), read_only(right), d.kinds, d.payloads, d.heap, d.offsets, found)
    result = _HOLDS[op](found).astype(np.int8)
    undecided = np.flatnonzero(found == NO_ORDER)
    if undecided.size:
        result[undecided] = _judged(dictionary, op, left[undecided], right[undecided])
    return result


def aggregate(dictionary: Dictionary, function: str, values: Array, group_starts: Array) -> Array:
    """The id of each group's aggregate, NO_VALUE where it has no result or no value.

    `values` holds ids ordered by group, `group_starts` where each group begins; the last one ends with `values`.
    """
    bounds = np.append(group_starts, values.size).astype(np.int64)
    if function == "count":
        return dictionary.encode_scalars(np.array([KIND_INT], np.int8), np.diff(bounds))
    ids, bounds = read_only(values), read_only(bounds)
    groups, d = group_starts.size, dictionary
    deferred = np.zeros(groups, np.bool_)
    if function in ("min", "max"):
        out = np.empty(groups, np.int32)
        wanted = LESS if function == "min" else GREATER
        kernels.extremes(wanted, ids, bounds, d.kinds, d.payloads, d.heap, d.offsets, out, deferred)
    else:
        code = _SUMMARIES[function]
        kinds, payloads = np.empty(groups, np.int8), np.zeros(groups, np.int64)
        kernels.summaries(code, ids, bounds, d.kinds, d.payloads, kinds, payloads, deferred)
        out = _computed(dictionary, kinds, payloads, deferred)
    if deferred.any():
        _finish_groups(dictionary, function, values, bounds, deferred, out)
    return out


def lacks_value(dictionary: Dictionary, function: str, columns: Sequence[Array]) -> Array:
    """Where arithmetic has no value, row by row; what has a value becomes no constant."""
    if _sound(columns) is not None:
        return np.asarray(apply(dictionary, function, columns) == NO_VALUE)
    lacks = _calculated(dictionary, function, columns)[2]
    rows = np.flatnonzero(lacks)
    if rows.size:  # the kernel does not know it
        lacks[rows] = _applied(dictionary, function, [column[rows] for column in columns]) == NO_VALUE
    return lacks


def _arithmetic(dictionary: Dictionary, function: str, columns: Sequence[Array]) -> Array:
    """Arithmetic by kernel; deferred rows go to the definition."""
    kinds, payloads, deferred = _calculated(dictionary, function, columns)
    return _finish_rows(dictionary, function, columns, _computed(dictionary, kinds, payloads, deferred), deferred)


def _calculated(dictionary: Dictionary, function: str, columns: Sequence[Array]) -> tuple[Array, Array, Array]:
    """Kinds and payloads of results, and which of them the definition has to find."""
    rows = columns[0].size
    kinds, payloads, deferred = np.empty(rows, np.int8), np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    left, right = read_only(columns[0]), read_only(columns[1])
    code, d = ARITHMETIC[function], dictionary
    kernels.arithmetic(code, left, right, d.kinds, d.payloads, kinds, payloads, deferred)
    return kinds, payloads, deferred


def _sign(dictionary: Dictionary, function: str, column: Array) -> Array:
    """`neg` and `abs`, which kernels can do for all numbers but the least integer."""
    turn = np.negative if function == "neg" else np.abs
    kinds, payloads = dictionary.kinds[column], dictionary.payloads[column]
    deferred = (kinds > KIND_FLOAT) | ((kinds == KIND_INT) & (payloads == definition.INT_MIN))
    floats = (turn(np.where(kinds == KIND_FLOAT, payloads, 0).view(np.float64)) + 0.0).view(np.int64)
    turned = np.where(kinds == KIND_INT, turn(payloads), floats)
    return _finish_rows(dictionary, function, [column], _computed(dictionary, kinds, turned, deferred), deferred)


def _finish_rows(dictionary: Dictionary, function: str, columns: Sequence[Array], out: Array, deferred: Array) -> Array:
    """Compute the deferred rows by definition."""
    rows = np.flatnonzero(deferred)
    if rows.size:
        out[rows] = _defined(dictionary, function, [column[rows] for column in columns])
    return out


def _computed(dictionary: Dictionary, kinds: Array, payloads: Array, deferred: Array) -> Array:
    """The ids of computed numbers; rows that are deferred get no id yet and add no constant."""
    if not deferred.any():
        return dictionary.encode_scalars(kinds, payloads)
    out = np.full(payloads.size, NO_VALUE, np.int32)
    sure = np.flatnonzero(~deferred)
    if sure.size:
        out[sure] = dictionary.encode_scalars(kinds[sure], payloads[sure])
    return out


def _finish_groups(
    dictionary: Dictionary, function: str, values: Array, bounds: Array, deferred: Array, out: Array
) -> None:
    """Aggregate the deferred groups by definition; among them are all longer sums of floats, which must be exact."""
    groups, lengths = np.flatnonzero(deferred), np.diff(bounds)
    ids = values[np.repeat(deferred, lengths)]
    decoded, at, results = dictionary.decode(ids), 0, []
    only_floats = function in ("sum", "mean") and bool((dictionary.kinds[ids] == KIND_FLOAT).all())
    for length in lengths[groups].tolist():
        part = decoded[at : at + length]
        at += length
        results.append(_float_sum(function, part) if only_floats and part else partial.aggregate(function, part))
    out[groups] = _encoded(dictionary, results)


def _float_sum(function: str, floats: list[Any]) -> Value | None:
    """The exact sum or mean of floats; what is not finite is left to the definition."""
    try:
        total = math.fsum(floats)
    except OverflowError:
        return partial.aggregate(function, floats)
    result = total / len(floats) if function == "mean" else total
    return result + 0.0 if math.isfinite(result) else partial.aggregate(function, floats)


def _encoded(dictionary: Dictionary, results: Sequence[Value | None]) -> Array:
    """The ids of values, NO_VALUE for those that are missing."""
    ids = np.full(len(results), NO_VALUE, np.int32)
    given = [at for at, result in enumerate(results) if result is not None]
    if given:
        ids[given] = dictionary.encode([result for result in results if result is not None])
    return ids


def _defined(dictionary: Dictionary, function: str, columns: Sequence[Array]) -> Array:
    """The function by its definition, once per distinct combination of ids."""
    first, inverse = distinct_rows(columns)
    arguments = zip(*(dictionary.decode(column[first]) for column in columns))
    return _encoded(dictionary, [partial.apply(function, combination) for combination in arguments])[inverse]


def _judged(dictionary: Dictionary, op: str, left: Array, right: Array) -> Array:
    """The comparison by its definition, once per distinct pair of ids."""
    first, inverse = distinct_rows([left, right])
    pairs = list(zip(dictionary.decode(left[first]), dictionary.decode(right[first])))
    if op.endswith("match"):
        verdicts = _matched(pairs, wanted=op == "match")
    else:
        verdicts = [partial.apply(partial.as_function(op), pair) for pair in pairs]
    results = np.array([_NEITHER if verdict is None else int(bool(verdict)) for verdict in verdicts], np.int8)
    return np.asarray(results[inverse])


def _matched(pairs: Sequence[tuple[Value, Value]], *, wanted: bool) -> list[Value | None]:
    """Whether texts match patterns, as `wanted`: each pattern is read once and sees all its texts together."""
    verdicts: list[Value | None] = [None] * len(pairs)
    texts: dict[str, list[int]] = {}
    for at, (pattern, text) in enumerate(pairs):
        if isinstance(pattern, str) and isinstance(text, str):
            texts.setdefault(pattern, []).append(at)
    for pattern, places in texts.items():
        if patterns.problem(pattern) is None:
            for at, found in zip(places, patterns.matches(pattern, [str(pairs[at][1]) for at in places])):
                verdicts[at] = found == wanted
    return verdicts


def distinct_rows(columns: Sequence[Array]) -> tuple[Array, Array]:
    """Positions of one row per distinct combination, and for every row the number of its combination."""
    _, first, inverse = np.unique(columns[0], return_index=True, return_inverse=True)
    for column in columns[1:]:
        keys = (inverse.astype(np.int64) << 32) | column.astype(np.int64)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse
