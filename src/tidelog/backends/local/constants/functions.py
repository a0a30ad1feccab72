"""Functions, comparisons and aggregates on ids.

What      : what language/values.py defines on single values, on whole columns of ids.
Idea      : numbers are computed by kernels on payloads; what a kernel defers (see function_kernels.py), and everything
            on strings but their order, is computed once per distinct combination by language/values.py.
Invariant : for every input the result, or the EvaluationError raised, is that of language/values.py.
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
from tidelog.language import values as definition
from tidelog.language.terms import Value

_ARITHMETIC = {
    "+": kernels.ADD,
    "-": kernels.SUBTRACT,
    "*": kernels.MULTIPLY,
    "/": kernels.DIVIDE,
    "%": kernels.REMAINDER,
    "^": kernels.POWER,
}
_SUMMARIES = {"sum": kernels.SUM, "mean": kernels.MEAN, "median": kernels.MEDIAN}
_HOLDS: dict[str, Callable[[Array], Array]] = {
    "<": lambda found: found == LESS,
    "<=": lambda found: found <= EQUAL,
    ">": lambda found: found == GREATER,
    ">=": lambda found: (found == EQUAL) | (found == GREATER),
}


def apply(dictionary: Dictionary, function: str, columns: Sequence[Array]) -> Array:
    """The ids of `function` applied to ids, row by row; raises EvaluationError if a row has no value."""
    if function in _ARITHMETIC and columns[0].size:
        return _arithmetic(dictionary, function, columns)
    if function in ("min", "max") and columns[0].size:
        rows = columns[0].size
        starts = np.arange(0, rows * len(columns), len(columns), dtype=np.int64)
        return aggregate(dictionary, function, np.stack(columns, axis=1).reshape(-1), starts)
    if function in ("neg", "abs") and columns[0].size:
        return _sign(dictionary, function, columns[0])
    return _defined(dictionary, function, columns)


def compare(dictionary: Dictionary, op: str, left: Array, right: Array) -> Array:
    """Whether `left op right` holds, row by row; raises EvaluationError for values without order."""
    if op == "=":
        return np.asarray(left == right)
    if op == "!=":
        return np.asarray(left != right)
    if op not in _HOLDS:
        return _compared(dictionary, op, left, right)
    found = np.empty(left.size, np.int8)
    d = dictionary
    kernels.orders(read_only(left), read_only(right), d.kinds, d.payloads, d.heap, d.offsets, found)
    result = _HOLDS[op](found)
    undecided = np.flatnonzero(found == NO_ORDER)
    if undecided.size:
        result[undecided] = _compared(dictionary, op, left[undecided], right[undecided])
    return result


def aggregate(dictionary: Dictionary, function: str, values: Array, group_starts: Array) -> Array:
    """The id of each group's aggregate, -1 where it has no result.

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


def _arithmetic(dictionary: Dictionary, function: str, columns: Sequence[Array]) -> Array:
    """Arithmetic by kernel; deferred rows go to the definition."""
    rows = columns[0].size
    kinds, payloads, deferred = np.empty(rows, np.int8), np.zeros(rows, np.int64), np.zeros(rows, np.bool_)
    left, right = read_only(columns[0]), read_only(columns[1])
    code, d = _ARITHMETIC[function], dictionary
    kernels.arithmetic(code, left, right, d.kinds, d.payloads, kinds, payloads, deferred)
    return _finish_rows(dictionary, function, columns, _computed(dictionary, kinds, payloads, deferred), deferred)


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
    out = np.full(payloads.size, -1, np.int32)
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
        results.append(_float_sum(function, part) if only_floats and part else definition.aggregate(function, part))
    given = np.array([result is not None for result in results], np.bool_)
    out[groups] = -1
    out[groups[given]] = dictionary.encode([result for result in results if result is not None])


def _float_sum(function: str, floats: list[Any]) -> Value | None:
    """The exact sum or mean of floats; what is not finite is left to the definition."""
    try:
        total = math.fsum(floats)
    except OverflowError:
        return definition.aggregate(function, floats)
    result = total / len(floats) if function == "mean" else total
    return result + 0.0 if math.isfinite(result) else definition.aggregate(function, floats)


def _defined(dictionary: Dictionary, function: str, columns: Sequence[Array]) -> Array:
    """The function by its definition, once per distinct combination of ids."""
    first, inverse = distinct_rows(columns)
    arguments = zip(*(dictionary.decode(column[first]) for column in columns))
    results = [definition.apply(function, combination) for combination in arguments]
    ids: Array = dictionary.encode(results)[inverse]
    return ids


def _compared(dictionary: Dictionary, op: str, left: Array, right: Array) -> Array:
    """The comparison by its definition, once per distinct pair of ids."""
    first, inverse = distinct_rows([left, right])
    pairs = zip(dictionary.decode(left[first]), dictionary.decode(right[first]))
    results = np.array([definition.compare(op, a, b) for a, b in pairs], np.bool_)
    return np.asarray(results[inverse])


def distinct_rows(columns: Sequence[Array]) -> tuple[Array, Array]:
    """Positions of one row per distinct combination, and for every row the number of its combination."""
    _, first, inverse = np.unique(columns[0], return_index=True, return_inverse=True)
    for column in columns[1:]:
        keys = (inverse.astype(np.int64) << 32) | column.astype(np.int64)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse
