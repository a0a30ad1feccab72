"""Constants kept in order, compiled.

What      : a tree of distinct constants with the number of members that each has, which answers what stands at a place
            of the order; adding, taking away and asking take a path from the root.
Idea      : a treap whose priorities are hashes of node numbers, so that no order of arrival is a bad one. A constant
            without members stays as an empty node until its owner builds the tree anew.
Source    : Aragon, Seidel 1989; insertion splits the subtree that it meets, along the path that was searched.
Invariant : numbers stand before bools, bools before strings; of an int and an equal float the int comes first. The size
            of a node is the number of members at and below it. A path longer than the room for it changes nothing.
Never     : RDF terms, which have no such order.

A tree is an array of nodes with five columns (constant, left, right, members, size) and a header (root, nodes, empty).
"""

from __future__ import annotations

import numpy as np

from tidelog.backends.local.constants.dictionary_kernels import KIND_FLOAT, KIND_INT
from tidelog.backends.local.constants.function_kernels import EQUAL, GREATER, LESS, as_float, order, order_of_floats
from tidelog.backends.local.kernels.compiled import Array, Float, Int, compiled
from tidelog.backends.local.kernels.hashing import spread

KEY, LEFT, RIGHT, MEMBERS, SIZE = 0, 1, 2, 3, 4
COLUMNS = 5
ROOT, NODES, EMPTY = 0, 1, 2
DEPTH = 512
"""The room for a path: 2^31 constants have paths of about 90."""
_NONE = np.int64(-1)


@compiled
def order_of_mixed(whole: Int, number: Float) -> Int:
    """The order of an integer and a float; if they are equal, the integer is LESS."""
    if number >= 9223372036854775808.0:
        return LESS
    if number < -9223372036854775808.0:
        return GREATER
    floor = np.int64(number)
    if whole != floor:
        return LESS if whole < floor else GREATER
    return GREATER if number < np.float64(floor) else LESS


@compiled
def arranged(left: Int, right: Int, kinds: Array, payloads: Array, heap: Array, offsets: Array) -> Int:
    """The order of two constants that are no terms; EQUAL only if they are the same."""
    if left == right:
        return EQUAL
    kind, other = kinds[left], kinds[right]
    if kind <= KIND_FLOAT and other <= KIND_FLOAT:
        a, b = payloads[left], payloads[right]
        if kind == other:
            if kind == KIND_FLOAT:
                return order_of_floats(as_float(a), as_float(b))
            return LESS if a < b else GREATER
        return order_of_mixed(a, as_float(b)) if kind == KIND_INT else -order_of_mixed(b, as_float(a))
    if kind == other:
        return order(left, right, kinds, payloads, heap, offsets)
    return LESS if kind < other else GREATER


@compiled
def weight(node: Int) -> np.uint64:
    """The priority of a node: the greatest of a subtree is its root."""
    return spread(np.uint64(node + 1))


@compiled
def size_of(nodes: Array, node: Int) -> Int:
    """The members at and below a node."""
    return np.int64(0) if node == -1 else np.int64(nodes[node, SIZE])


@compiled
def resize(nodes: Array, node: Int) -> None:
    """Compute the size of a node from its children."""
    below = size_of(nodes, np.int64(nodes[node, LEFT])) + size_of(nodes, np.int64(nodes[node, RIGHT]))
    nodes[node, SIZE] = nodes[node, MEMBERS] + below


@compiled
def hang(nodes: Array, header: Array, fresh: Int, path: Array, sides: Array, depth: Int) -> None:
    """Put a new node at the end of a searched path, above those nodes of the path that weigh less."""
    at = 0
    while at < depth and weight(path[at]) >= weight(fresh):
        nodes[path[at], SIZE] += nodes[fresh, MEMBERS]
        at += 1
    if at == 0:
        header[ROOT] = fresh
    else:
        nodes[path[at - 1], sides[at - 1]] = fresh
    smaller, larger = fresh, fresh  # where the next smaller and the next larger part hangs
    for step in range(at, depth):
        node = path[step]
        if sides[step] == LEFT:  # the new one is before it, so it goes to the larger ones
            nodes[larger, LEFT if larger != fresh else RIGHT] = node
            larger = node
        else:
            nodes[smaller, RIGHT if smaller != fresh else LEFT] = node
            smaller = node
    nodes[larger, LEFT if larger != fresh else RIGHT] = -1
    nodes[smaller, RIGHT if smaller != fresh else LEFT] = -1
    for step in range(depth - 1, at - 1, -1):
        resize(nodes, path[step])
    resize(nodes, fresh)


@compiled
def add(
    nodes: Array,
    header: Array,
    ids: Array,
    signs: Array,
    kinds: Array,
    payloads: Array,
    heap: Array,
    offsets: Array,
    path: Array,
    sides: Array,
) -> bool:
    """Give constants a member each, or take one from those whose sign is -1; False if a path is too long."""
    for position in range(ids.shape[0]):
        constant, sign = np.int64(ids[position]), np.int64(signs[position])
        depth, node = 0, np.int64(header[ROOT])
        while node != -1:
            if depth == DEPTH:
                return False
            found = arranged(constant, np.int64(nodes[node, KEY]), kinds, payloads, heap, offsets)
            side = LEFT if found == LESS else RIGHT
            path[depth], sides[depth] = node, side
            depth += 1
            if found == EQUAL:
                break
            node = np.int64(nodes[node, side])
        if node != -1:
            header[EMPTY] -= nodes[node, MEMBERS] == 0
            nodes[node, MEMBERS] += sign
            header[EMPTY] += nodes[node, MEMBERS] == 0
            for step in range(depth):
                nodes[path[step], SIZE] += sign
        else:
            fresh = np.int64(header[NODES])
            header[NODES] += 1
            nodes[fresh, KEY], nodes[fresh, MEMBERS] = constant, sign
            nodes[fresh, LEFT], nodes[fresh, RIGHT] = -1, -1
            hang(nodes, header, fresh, path, sides, depth)
    return True


@compiled
def build(nodes: Array, header: Array, path: Array) -> bool:
    """Make a tree of nodes that stand in order and have a constant and members; False if a path is too long."""
    depth = 0
    for node in range(nodes.shape[0]):
        last = _NONE
        while depth > 0 and weight(path[depth - 1]) < weight(np.int64(node)):
            depth -= 1
            last = path[depth]
            resize(nodes, last)
        nodes[node, LEFT], nodes[node, RIGHT] = last, -1
        if depth == DEPTH:
            return False
        if depth > 0:
            nodes[path[depth - 1], RIGHT] = node
        path[depth] = node
        depth += 1
    for step in range(depth - 1, -1, -1):
        resize(nodes, path[step])
    header[ROOT] = path[0] if depth else -1
    header[NODES], header[EMPTY] = nodes.shape[0], 0
    return True


@compiled
def at_place(nodes: Array, header: Array, place: Int) -> Int:
    """The node of the member at a place of the order, from 0."""
    node = np.int64(header[ROOT])
    while True:
        before = size_of(nodes, np.int64(nodes[node, LEFT]))
        if place < before:
            node = np.int64(nodes[node, LEFT])
            continue
        place -= before
        if place < nodes[node, MEMBERS]:
            return node
        place -= nodes[node, MEMBERS]
        node = np.int64(nodes[node, RIGHT])


@compiled
def keys_at(nodes: Array, header: Array, place: Int, other: Int) -> tuple[Int, Int]:
    """The constants of the members at two places of the order."""
    first = np.int64(nodes[at_place(nodes, header, place), KEY])
    return first, first if place == other else np.int64(nodes[at_place(nodes, header, other), KEY])


@compiled
def sort(ids: Array, spare: Array, kinds: Array, payloads: Array, heap: Array, offsets: Array) -> None:
    """Bring distinct constants into their order: runs of doubling length are merged through the spare array."""
    count, width = ids.shape[0], 1
    while width < count:
        for start in range(0, count, 2 * width):
            middle, stop = min(start + width, count), min(start + 2 * width, count)
            left, right = start, middle
            for out in range(start, stop):
                takes_left = left < middle
                if takes_left and right < stop:
                    found = arranged(np.int64(ids[left]), np.int64(ids[right]), kinds, payloads, heap, offsets)
                    takes_left = found == LESS
                if takes_left:
                    spare[out] = ids[left]
                    left += 1
                else:
                    spare[out] = ids[right]
                    right += 1
        for out in range(count):
            ids[out] = spare[out]
        width *= 2
