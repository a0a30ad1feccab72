"""Our universities have the shape of the published one."""

import gzip
from collections import Counter

from benchmarks.lubm.generate import Department, university, write
from tests.house.sources import ROOT
from tidelog.rdf import Graph


def counts(lines):
    """Triples by property, and things by class, per department."""
    found = Counter()
    for line in dict.fromkeys(lines):
        _, predicate, target = line.split(" ", 2)
        found[target.split(" ")[0].split("#")[-1] if predicate.endswith("#type>") else predicate.split("#")[-1]] += 1
    departments = found.pop("Department>")
    return {name: many / departments for name, many in found.items() if name not in ("University>", "headOf>")}


def test_the_counts_agree_in_shape():
    """Every class and property occurs, and per department about as often as in LUBM(1)."""
    published = gzip.decompress((ROOT / "tests" / "data" / "lubm" / "lubm1.nt.gz").read_bytes()).decode()
    theirs, ours = counts(published.splitlines()), counts(university(0))
    assert theirs.keys() == ours.keys()
    assert {
        name: (round(theirs[name]), round(ours[name])) for name in theirs if not 0.7 < ours[name] / theirs[name] < 1.4
    } == {}


def test_a_university_is_the_same_wherever_it_is_made(tmp_path):
    """Alone, among others, and department by department."""
    assert list(university(3)) == list(university(3))
    assert list(university(3)) != list(university(3, seed=1))
    whole = set(university(2))
    assert set(Department(2, 4, 0).lines()) <= whole
    paths = write(tmp_path, 2, packed=True)
    assert len(Graph(*paths)) > 100_000
