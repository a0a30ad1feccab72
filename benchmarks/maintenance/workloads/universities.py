"""Like UOBM: people with many reasons to be what they are, and home towns that are cliques.

What      : universities with departments, people who study, teach, tutor, like and befriend; a symmetric and transitive
            relation of people from the same home town.
Source    : Motik et al. 2015, Table 1 (rules R1-R4 of the teaching assistant) and section 5, `hasSameHomeTownWith`. The
            original data and program are not among our sources: this is the described structure at a smaller size.
Invariant : every home town is connected through more edges than a tree needs, so small deletions seldom tear it apart.
"""

from __future__ import annotations

import random

from benchmarks.maintenance.workloads.workload import Fact, Workload, shuffled

PROGRAM = """
ta1: TA(x) :- Person(x), tutor(x, y), Course(y).
ta2: Person(x) :- TA(x).
ta3: Person(x) :- tutor(x, y).
ta4: Course(y) :- tutor(x, y).
student1: Person(x) :- Student(x).
student2: Student(x) :- takes(x, y).
student3: Course(y) :- takes(x, y).
student4: Student(x) :- Person(x), takes(x, y), Course(y).
faculty1: Person(x) :- Faculty(x).
faculty2: Faculty(x) :- teaches(x, y).
faculty3: Course(y) :- teaches(x, y).
member1: member(x, d) :- worksFor(x, d).
member2: member(x, u) :- member(x, d), partOf(d, u).
member3: Person(x) :- member(x, d).
friend1: friend(x, y) :- friend(y, x).
friend2: Person(x) :- friend(x, y).
town1: sameTown(x, y) :- sameTown(y, x).
town2: sameTown(x, z) :- sameTown(x, y), sameTown(y, z).
town3: Person(x) :- sameTown(x, y).
fan1: Fan(x) :- likes(x, y), Sport(y).
fan2: Person(x) :- likes(x, y).
"""

PEOPLE, COURSES, DEPARTMENTS, TOWNS = 6_000, 800, 40, 12


def universities() -> Workload:
    """A few universities whose people come from towns of 20 to 130 people."""
    source = random.Random(7)
    people = [f"person{number}" for number in range(PEOPLE)]
    facts = _studies(people, source)
    facts["sameTown"] = [edge for town in range(TOWNS) for edge in _town(people[town::60][: 20 + 10 * town], source)]
    return Workload("UOBM-like", PROGRAM, facts, shuffled(facts, source), (100, 2_000, 5_000, 10_000))


def _studies(people: list[str], source: random.Random) -> dict[str, list[Fact]]:
    """Who studies, teaches and works where, and who knows whom."""
    courses = [f"course{number}" for number in range(COURSES)]
    departments = [f"department{number}" for number in range(DEPARTMENTS)]
    pick = source.choice
    teachers, tutors = people[:600], people[600:1_400]
    return {
        "partOf": [(department, f"university{at % 4}") for at, department in enumerate(departments)],
        "worksFor": [(person, pick(departments)) for person in people[:2_000]],
        "Student": [(person,) for person in people[600:]],
        "Faculty": [(person,) for person in teachers],
        "teaches": [(person, pick(courses)) for person in teachers],
        "takes": sorted({(person, pick(courses)) for person in people[600:] for _ in range(3)}),
        "tutor": sorted({(person, pick(courses)) for person in tutors for _ in range(2)}),
        "friend": sorted({(person, pick(people)) for person in people}),
        "likes": sorted({(person, f"sport{source.randrange(30)}") for person in people}),
        "Sport": [(f"sport{number}",) for number in range(0, 30, 2)],
    }


def _town(people: list[str], source: random.Random) -> list[Fact]:
    """A random tree and as many edges again."""
    tree = {(person, people[source.randrange(at)]) for at, person in enumerate(people) if at}
    more = {(source.choice(people), source.choice(people)) for _ in people}
    return sorted(edge for edge in tree | more if edge[0] != edge[1])
