"""The blank nodes that a graph has seen.

What      : `Labels` remembers the labels of blank nodes, and refuses a deletion that names another.
Idea      : the labels that a file got begin alike and are counted (quads.py), so they are known by their beginning and
            their number; all others one by one.
Invariant : a label that was noted is known for good, also when its last triple is gone.
Never     : no label is given here.

Code: E334 a deletion that names unknown blank nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.errors import UpdateError
from tidelog.rdf.quads import Quads


class Labels:
    """Labels of blank nodes: how many begin so, and single ones."""

    def __init__(self, given: Mapping[str, int] | None = None, single: Iterable[str] = ()) -> None:
        self.given, self.single = dict(given or {}), set(single)

    def note(self, come: Quads) -> None:
        """Remember the labels of what has come."""
        self.given |= dict(come.labels)
        if not come.labels:
            self.single |= set(come.blank_nodes())

    def check(self, gone: Quads) -> None:
        """A deletion means blank nodes by the labels that they have here."""
        for label in gone.blank_nodes():
            begin, _, number = label[3:].partition("x")
            if label not in self.single and int(number or 0) >= self.given.get(begin, 0):
                remedy = "use the labels that the graph shows, or delete with the file that was inserted"
                raise UpdateError.of("E334", f"there is no blank node {label}", remedy=remedy)
