"""LUBM under OWL 2 RL through `tidelog run`.

What      : `python -m benchmarks.lubm.on_spark UNIVERSITIES [--backend spark] [--updates 100] [--folder DIR] [--json
            FILE]` writes universities, measures how fast Spark's tasks and this process read them, then runs a pipeline
            that loads, reasons, stores and follows updates, and asks its state the fourteen queries. LUBM(1) is the
            published file.
Idea      : loading and updates go through the command that users have, in processes of its own; what is measured is
            seconds and processor seconds of all of them. The same job at two sizes says what grows.
Never     : no assertion: a shared machine proves no time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.lubm.bodies import bodies
from benchmarks.lubm.files import ONTOLOGY, universities
from benchmarks.lubm.generate import UB
from benchmarks.spark_measure import measured
from tidelog.backends.spark.cluster.session import close, session

SETTINGS = """
state = "state"
reasoning = "owl-rl"
program = []
[engine]
backend = "{backend}"
[sources.ontology]
format = "rdf"
path = "{ontology}"
[sources.data]
format = "rdf"
path = "{data}"
options = {{ pathGlobFilter = "*.nt" }}
[updates]
path = "updates"
[spark]
master = "local[2]"
memory = "6g"
"""
COURSE = "http://www.Department0.University0.edu/Course0"


def updates(count: int) -> Iterator[str]:
    """Lines of update files: a student takes a course, and leaves it again."""
    student, course = "http://www.Department0.University0.edu/UndergraduateStudent{}", {"@id": COURSE}
    for number in range(count):
        fact = ["triple", {"@id": student.format(number // 2)}, {"@id": f"{UB}takesCourse"}, course]
        yield json.dumps({"delete" if number % 2 else "insert": [fact]})


def read(folder: Path) -> dict[str, Any]:
    """What a triple costs to read, by one task of Spark and in this process: processor seconds, the second time."""
    from tidelog.pipeline.settings.config import FactSource
    from tidelog.pipeline.sources.packed_triples import found_in, packed_records
    from tidelog.pipeline.sources.records import lines_of
    from tidelog.rdf.read import read_quads

    spark, source = session("local[1]", app="lubm", options={"spark.driver.memory": "4g"}), str(folder)

    def far() -> int:
        lines = lines_of(spark, FactSource("data", "rdf", source))
        return found_in(packed_records(spark, lines, source, {}))[0].count

    def near() -> int:
        return sum(len(one) for path in sorted(folder.glob("*.nt")) for one in read_quads(path))

    far()
    triples, by_tasks = measured(far)
    near()
    _, here = measured(near)
    close(spark)
    return {"triples": triples, "read by Spark": by_tasks, "read here": here}


def run(folder: Path) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """The events of a run to the end, and what it took."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "tidelog",
        "run",
        str(folder / "pipeline.toml"),
        "--once",
        "--json",
    ]
    done, took = measured(lambda: subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True))
    return [json.loads(line) for line in done.stdout.splitlines()], took


def asked(folder: Path, backend: str) -> dict[str, Any]:
    """The fourteen queries to the stored state, opened once: how many rows, and what each took."""
    from tidelog import rdf

    spark = session("local[2]", app="lubm", options={"spark.driver.memory": "4g"}) if backend == "spark" else None
    kg, opened = measured(lambda: rdf.Graph.open(folder / "state", backend=backend, spark=spark))
    found: dict[str, Any] = {"open": opened}
    for name, question in bodies().items():
        rows, took = measured(lambda: len(kg.engine.query(question)))  # noqa: B023
        found[name] = {"rows": rows, **took}
    kg.close()
    if spark is not None:
        close(spark)
    return found


def main() -> None:
    """Generate, read, run, ask; print each as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("universities", type=int)
    parser.add_argument("--backend", default="spark")
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="where files are made, or are already")
    parser.add_argument("--no-reading", action="store_true", help="leave out how fast files are read")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    args = parser.parse_args()
    figures: dict[str, Any] = {"universities": args.universities, "backend": args.backend}

    def told(**more: Any) -> None:
        figures.update(more)
        print(json.dumps(more), flush=True)
        if args.json:
            args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory(prefix="tidelog-lubm-") as own:
        folder = args.folder or Path(own)
        (folder / "updates").mkdir(parents=True, exist_ok=True)
        data = universities(folder, args.universities)[0].parent
        if args.universities > 1 and not args.no_reading:
            told(reading=read(data))
        (folder / "pipeline.toml").write_text(SETTINGS.format(backend=args.backend, ontology=ONTOLOGY, data=data))
        events, took = run(folder)
        loaded = next(event for event in events if event["event"] == "loaded")
        told(facts=loaded["facts"], load={"until loaded": round(loaded["seconds"], 1), **took})
        for number, line in enumerate(updates(args.updates)):
            (folder / "updates" / f"{number:06}.jsonl").write_text(line + "\n")
        events, took = run(folder)
        batches = [event for event in events if event["event"] == "batch"]
        seconds = {key: round(median(event[key] for event in batches), 4) for key in ("seconds", "maintenance")}
        told(updates={"count": len(batches), **seconds, "run": took})
        told(queries=asked(folder, args.backend))


if __name__ == "__main__":
    main()
