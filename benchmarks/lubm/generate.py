"""Universities after the published profile of the Lehigh University Benchmark.

What      : `university(number)` gives the N-Triples of one university; `write` many of them, one file each; `on_spark`
            the same as a Spark job.
Idea      : every department has a random generator of its own, seeded by seed, university and department, so that a
            university is the same whether it is made alone or among others, here or on a cluster.
Source    : Guo, Pan, Heflin, LUBM: a benchmark for OWL knowledge base systems, 2005, and the profile of its generator
            (numbers of departments, faculty, students, courses, publications). Written anew from the profile.
Invariant : counts per class lie in the profile's ranges (tests/rdf/test_generator.py compares them with LUBM(1) as
            published).
"""

from __future__ import annotations

import argparse
import gzip
import random
from collections.abc import Iterator
from pathlib import Path

UB = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
UNIVERSITIES = 1000
FACULTY = (
    ("FullProfessor", (7, 10), (15, 20)),
    ("AssociateProfessor", (10, 14), (10, 18)),
    ("AssistantProfessor", (8, 11), (5, 10)),
    ("Lecturer", (5, 7), (0, 5)),
)


def university(number: int, seed: int = 0) -> Iterator[str]:
    """The triples of one university, as lines."""
    name = f"http://www.University{number}.edu"
    chance = random.Random(f"{seed}/{number}")
    yield f"<{name}> {TYPE} <{UB}University> ."
    yield f'<{name}> <{UB}name> "University{number}" .'
    for department in range(chance.randint(15, 25)):
        yield from Department(number, department, seed).lines()


class Department:
    """One department: its people, courses, groups and publications."""

    def __init__(self, university: int, number: int, seed: int) -> None:
        self.chance = random.Random(f"{seed}/{university}/{number}")
        self.base = f"http://www.Department{number}.University{university}.edu"
        self.number, self.university = number, university
        self.host = f"Department{number}.University{university}.edu"
        self.faculty: list[str] = []
        self.professors: list[str] = []
        self.courses, self.graduate_courses = 0, 0
        self.publications: list[str] = []

    def lines(self) -> Iterator[str]:
        """All triples of the department."""
        yield self.typed(self.base, "Department")
        yield f'<{self.base}> <{UB}name> "Department{self.number}" .'
        yield f"<{self.base}> <{UB}subOrganizationOf> <http://www.University{self.university}.edu> ."
        for rank, many, papers in FACULTY:
            for number in range(self.chance.randint(*many)):
                yield from self.member_of_faculty(rank, number, papers)
        yield f"<{self.chance.choice([one for one in self.faculty if 'Full' in one])}> <{UB}headOf> <{self.base}> ."
        yield from self.students()
        for number in range(self.chance.randint(10, 20)):
            group = f"{self.base}/ResearchGroup{number}"
            yield self.typed(group, "ResearchGroup")
            yield f"<{group}> <{UB}subOrganizationOf> <{self.base}> ."

    def typed(self, thing: str, kind: str) -> str:
        """The triple that says what a thing is."""
        return f"<{thing}> {TYPE} <{UB}{kind}> ."

    def person(self, name: str, kind: str) -> Iterator[str]:
        """What is said about everybody."""
        thing = f"{self.base}/{name}"
        yield self.typed(thing, kind)
        yield f'<{thing}> <{UB}name> "{name}" .'
        yield f'<{thing}> <{UB}emailAddress> "{name}@{self.host}" .'
        yield f'<{thing}> <{UB}telephone> "xxx-xxx-xxxx" .'

    def degree(self, thing: str, kind: str) -> Iterator[str]:
        """A degree from some university."""
        other = f"http://www.University{self.chance.randrange(UNIVERSITIES)}.edu"
        yield f"<{thing}> <{UB}{kind}DegreeFrom> <{other}> ."
        yield self.typed(other, "University")

    def member_of_faculty(self, rank: str, number: int, papers: tuple[int, int]) -> Iterator[str]:
        """A professor or lecturer, with courses and publications."""
        name = f"{rank}{number}"
        thing = f"{self.base}/{name}"
        self.faculty.append(thing)
        yield from self.person(name, rank)
        yield f"<{thing}> <{UB}worksFor> <{self.base}> ."
        for kind in ("undergraduate", "masters", "doctoral"):
            yield from self.degree(thing, kind)
        if rank != "Lecturer":
            self.professors.append(thing)
            yield f'<{thing}> <{UB}researchInterest> "Research{self.chance.randrange(30)}" .'
        yield from self.teaching(thing)
        for paper in range(self.chance.randint(*papers)):
            title = f"{thing}/Publication{paper}"
            self.publications.append(title)
            yield self.typed(title, "Publication")
            yield f'<{title}> <{UB}name> "Publication{paper}" .'
            yield f"<{title}> <{UB}publicationAuthor> <{thing}> ."

    def teaching(self, thing: str) -> Iterator[str]:
        """One or two courses of each kind."""
        for kind, most in (("Course", "courses"), ("GraduateCourse", "graduate_courses")):
            for _ in range(self.chance.randint(1, 2)):
                number = getattr(self, most)
                setattr(self, most, number + 1)
                course = f"{self.base}/{kind}{number}"
                yield self.typed(course, kind)
                yield f'<{course}> <{UB}name> "{kind}{number}" .'
                yield f"<{thing}> <{UB}teacherOf> <{course}> ."

    def students(self) -> Iterator[str]:
        """Undergraduates and graduates, in proportion to the faculty."""
        undergraduates = sum(self.chance.randint(8, 14) for _ in self.faculty)
        for number in range(undergraduates):
            yield from self.student(f"UndergraduateStudent{number}", "UndergraduateStudent", "Course", (2, 4))
            if self.chance.random() < 0.2:
                thing = f"{self.base}/UndergraduateStudent{number}"
                yield f"<{thing}> <{UB}advisor> <{self.chance.choice(self.professors)}> ."
        graduates = sum(self.chance.randint(3, 4) for _ in self.faculty)
        for number in range(graduates):
            yield from self.graduate(f"GraduateStudent{number}")
        assistants = self.chance.sample(range(graduates), graduates * 22 // 100)
        for course, number in zip(
            self.chance.sample(range(self.courses), min(self.courses, len(assistants))), assistants
        ):
            thing = f"{self.base}/GraduateStudent{number}"
            yield self.typed(thing, "TeachingAssistant")
            yield f"<{thing}> <{UB}teachingAssistantOf> <{self.base}/Course{course}> ."
        for number in self.chance.sample(range(graduates), graduates * 29 // 100):
            yield self.typed(f"{self.base}/GraduateStudent{number}", "ResearchAssistant")

    def student(self, name: str, kind: str, course: str, many: tuple[int, int]) -> Iterator[str]:
        """A student and the courses that are taken."""
        thing = f"{self.base}/{name}"
        yield from self.person(name, kind)
        yield f"<{thing}> <{UB}memberOf> <{self.base}> ."
        there = self.courses if course == "Course" else self.graduate_courses
        for number in self.chance.sample(range(there), self.chance.randint(*many)):
            yield f"<{thing}> <{UB}takesCourse> <{self.base}/{course}{number}> ."

    def graduate(self, name: str) -> Iterator[str]:
        """A graduate student, who has a degree, an advisor, and a part in publications."""
        thing = f"{self.base}/{name}"
        yield from self.student(name, "GraduateStudent", "GraduateCourse", (1, 3))
        yield from self.degree(thing, "undergraduate")
        yield f"<{thing}> <{UB}advisor> <{self.chance.choice(self.professors)}> ."
        for title in self.chance.sample(self.publications, self.chance.randint(0, 5)):
            yield f"<{title}> <{UB}publicationAuthor> <{thing}> ."


def write(folder: Path, universities: int, seed: int = 0, *, packed: bool = False) -> list[Path]:
    """Write universities as N-Triples, one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(universities):
        text = "\n".join(dict.fromkeys(university(number, seed))) + "\n"
        path = folder / f"university{number:05}.nt{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(text.encode(), 1, mtime=0) if packed else text.encode())
        paths.append(path)
    return paths


def on_spark(spark, folder: str, universities: int, seed: int = 0) -> None:
    """Write universities as text files, by Spark tasks; a task that runs again writes the same."""
    numbers = spark.sparkContext.parallelize(range(universities), min(universities, 4096))
    numbers.flatMap(lambda number: list(dict.fromkeys(university(number, seed)))).saveAsTextFile(folder)


def main() -> None:
    """`python -m benchmarks.lubm.generate FOLDER UNIVERSITIES`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("universities", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gz", action="store_true")
    args = parser.parse_args()
    write(args.folder, args.universities, args.seed, packed=args.gz)


if __name__ == "__main__":
    main()
