"""Which nodes of a graph reach each other.

What      : the strongly connected components of a directed graph, in topological order.
Idea      : Tarjan 1972, with an explicit stack in place of recursion.
Invariant : a component comes after every component that its nodes' edges lead to; the same input gives the same order.
Cost      : linear in nodes and edges.
Never     : it knows nothing of rules; a chain of 10^5 nodes must not exhaust Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


def strongly_connected(nodes: Iterable[Node], edges: Callable[[Node], Iterable[Node]]) -> list[tuple[Node, ...]]:
    """The strongly connected components; if an edge leads from one to another, the other comes first.

    The nodes of a component are in the order in which they were found.
    """
    search = _Search(edges)
    for node in nodes:
        if node not in search.number:
            search.visit(node)
    return search.found


class _Search(Generic[Node]):
    """The state of one depth-first search."""

    def __init__(self, edges: Callable[[Node], Iterable[Node]]) -> None:
        self.edges = edges
        self.number: dict[Node, int] = {}
        self.low: dict[Node, int] = {}
        self.open: list[Node] = []
        self.is_open: set[Node] = set()
        self.found: list[tuple[Node, ...]] = []

    def visit(self, root: Node) -> None:
        path: list[tuple[Node, Iterator[Node]]] = [(root, self._enter(root))]
        while path:
            node, remaining = path[-1]
            for target in remaining:
                if target not in self.number:
                    path.append((target, self._enter(target)))
                    break
                if target in self.is_open:
                    self.low[node] = min(self.low[node], self.number[target])
            else:
                path.pop()
                self._leave(node)
                if path:
                    parent = path[-1][0]
                    self.low[parent] = min(self.low[parent], self.low[node])

    def _enter(self, node: Node) -> Iterator[Node]:
        self.number[node] = self.low[node] = len(self.number)
        self.open.append(node)
        self.is_open.add(node)
        return iter(self.edges(node))

    def _leave(self, node: Node) -> None:
        if self.low[node] != self.number[node]:
            return
        members: list[Node] = []
        while not members or members[-1] != node:
            members.append(self.open.pop())
            self.is_open.discard(members[-1])
        self.found.append(tuple(sorted(members, key=self.number.__getitem__)))
