"""The published counters of the Marking paper.

What      : Tables 1-3 of Illich, Glimm 2025, and the counters of the authors' own program on single streams.
Idea      : data only, so that tables.py and the tests compare with the same numbers.
Invariant : keys are (stream or table row, whether marks are used); values are named like the algorithms' counters.
Never     : nothing measured by us is written here.
"""

from __future__ import annotations

Counters = dict[str, int]
Published = dict[tuple[str, bool], Counters]

COUNTERS = ("deletions", "backward", "forward", "insertions", "marks explicit", "marks implicit")
EXACT = ("insertions", "marks explicit")
"""Counters that do not depend on the order in which rule instances are taken; for P_seq all are like that."""

_TRANS = """
10 1603 447 11253 14447 18777 19001 545 480 991
20 3046 594 10468 13199 15373 15516 2912 960 2277
30 5146 1100 10206 11856 11154 11224 7288 1399 4153
40 4755 682 10834 13036 12560 12612 6575 1816 4069
50 3778 360 11514 14441 15060 15096 4570 2215 3660
60 3227 213 11842 15254 16518 16547 3327 2604 3428
70 2724 161 11919 16054 17780 17796 2158 2973 3085
80 2584 126 11863 16323 18169 18183 1782 3293 3078
"""
_SEQ = """
10 1960 1480 2360 480 480
20 3920 2960 4317 960 960
30 5880 4440 6265 1440 1440
40 7827 5910 8228 1917 1917
50 9709 7332 10173 2377 2377
60 11588 8744 12129 2844 2844
70 13457 10147 14069 3311 3311
80 15283 11516 16005 3767 3767
"""
_TRACKS = """
0 859 754 4329 4400 3299 3299 4638 910 70
1 684 544 2697 2733 2317 2317 2653 1208 119
2 558 400 1484 1479 1206 1206 1704 1017 137
"""


def _rows(text: str) -> list[list[int]]:
    return [[int(number) for number in line.split()] for line in text.split("\n") if line]


def _both(name: str, row: list[int]) -> Published:
    """The two rows, without and with marks, of a line `deletions x2, backward x2, forward x2, insertions, marks x2`."""
    without = dict(zip(COUNTERS, (row[0], row[2], row[4], row[6])))
    marked = dict(zip(COUNTERS, (row[1], row[3], row[5], row[6], row[7], row[8])))
    return {(name, False): without, (name, True): marked}


def _merged(parts: list[Published]) -> Published:
    return {key: counters for part in parts for key, counters in part.items()}


TABLE_1 = _merged([_both(f"trans_size{row[0]}", row[1:]) for row in _rows(_TRANS)])
"""P_trans: means over three seeds, of which two are here."""
TABLE_2 = _merged([_both(f"seq_size{row[0]}", [*row[1:3], 0, 0, 0, 0, *row[3:]]) for row in _rows(_SEQ)])
"""P_seq: means over three seeds; at size 10 all seeds are equal."""
TABLE_3 = _merged([_both(f"track_{row[0]}", row[1:]) for row in _rows(_TRACKS)])
"""The map program: single streams."""

SINGLE_STREAMS = _both("trans_seed2_size10", [1697, 499, 11636, 14546, 18984, 19202, 479, 480, 1028])
"""The authors' program on one stream of P_trans."""

DRED_COUNTERS = ("overdeleted", "rederived", "inserted", "marks explicit", "marks implicit", "marks positive explicit")
DRED: Published = {
    ("trans_seed1_size10", False): dict(zip(DRED_COUNTERS, (19461, 19324, 537))),
    ("trans_seed1_size10", True): dict(zip(DRED_COUNTERS, (14829, 19324, 537, 480, 4632, 10))),
    ("seq_seed1_size10", False): dict(zip(DRED_COUNTERS, (1960, 0, 2360))),
    ("seq_seed1_size10", True): dict(zip(DRED_COUNTERS, (1376, 0, 2356))),
    ("track_2", False): dict(zip(DRED_COUNTERS, (2910, 1206, 1704))),
    ("track_2", True): dict(zip(DRED_COUNTERS, (1274, 1206, 1704))),
}
"""DRed with marking: the authors' program on single streams."""
