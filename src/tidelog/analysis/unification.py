"""Which things must have the same type, and which type is it?

What      : a union-find over the columns, variables and terms of a program; each class has at most one type and
            remembers what determined it.
Idea      : types form a shallow order: unknown, then `numeric` (a number or a float), then a type. A constraint that
            depends on a type is run again whenever that type becomes better known.
Invariant : a class's type only becomes more definite; a contradiction is kept as a `Clash` and changes no type.
Cost      : every class is refined at most twice, so the work is near-linear in the program.
Never     : no rules here (types.py walks them).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tidelog.errors import Place

NUMERIC = "numeric"
_REFINED = {NUMERIC: ("number", "float")}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What determined a type."""

    type: str
    place: Place | None
    why: str


@dataclass(frozen=True, slots=True)
class Clash:
    """`subject` has a type that `context` cannot take, at `place`."""

    subject: str
    found: Evidence
    context: str
    needed: Evidence
    place: Place | None


class Unification:
    """The classes; nodes are integers handed out by `node`."""

    def __init__(self) -> None:
        self.clashes: list[Clash] = []
        self._parent: list[int] = []
        self._evidence: list[Evidence | None] = []
        self._watchers: list[list[Callable[[], None]]] = []
        self._due: deque[Callable[[], None]] = deque()

    def node(self, evidence: Evidence | None = None) -> int:
        """A new class of its own."""
        self._parent.append(len(self._parent))
        self._evidence.append(evidence)
        self._watchers.append([])
        return self._parent[-1]

    def type_of(self, node: int) -> str | None:
        """The type of a node's class, as far as it is determined."""
        evidence = self._evidence[self._find(node)]
        return evidence.type if evidence else None

    def require(self, node: int, needed: Evidence, subject: str, context: str, place: Place | None) -> None:
        """The node's class has the needed type, or there is a clash."""
        root = self._find(node)
        found = self._evidence[root]
        better = needed if found is None else _meet(found, needed)
        if better is None:
            assert found is not None
            self.clashes.append(Clash(subject, found, context, needed, place))
        elif better is not found:
            self._evidence[root] = better
            self._due.extend(self._watchers[root])

    def unify(self, node: int, other: int, subject: str, context: str, place: Place | None) -> None:
        """Both nodes are of one class, or there is a clash."""
        a, b = self._find(node), self._find(other)
        if a == b:
            return
        found, needed = self._evidence[a], self._evidence[b]
        better = (found or needed) if found is None or needed is None else _meet(found, needed)
        if better is None and found is not None and needed is not None:
            self.clashes.append(Clash(subject, found, context, needed, place))
            return
        for root, before in ((a, found), (b, needed)):
            if better is not None and (before is None or better.type != before.type):
                self._due.extend(self._watchers[root])
        if len(self._watchers[a]) < len(self._watchers[b]):
            a, b = b, a
        self._parent[b] = a
        self._evidence[a] = better
        self._watchers[a].extend(self._watchers[b])

    def watch(self, nodes: list[int], constraint: Callable[[], None]) -> None:
        """Run the constraint now and whenever one of the nodes' types becomes better known."""
        for node in nodes:
            self._watchers[self._find(node)].append(constraint)
        self._due.append(constraint)

    def evidence(self, node: int) -> Evidence | None:
        """What determined the type of a node's class."""
        return self._evidence[self._find(node)]

    def settle(self) -> None:
        """Run constraints until nothing more follows, in the order of the text as far as possible."""
        while self._due:
            self._due.popleft()()

    def _find(self, node: int) -> int:
        parent = self._parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node


def _meet(a: Evidence, b: Evidence) -> Evidence | None:
    """The more definite of two compatible types; None if they contradict each other."""
    if a.type == b.type or (b.type in _REFINED and a.type in _REFINED[b.type]):
        return a
    return b if a.type in _REFINED and b.type in _REFINED[a.type] else None
