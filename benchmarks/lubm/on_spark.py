"""LUBM under OWL 2 RL through `tidelog run`.

What      : `python -m benchmarks.lubm.on_spark UNIVERSITIES [--backend spark] [--updates 100] [--folder DIR]` generates
            universities as a Spark job, measures how fast Spark's tasks and this process read them, then runs a
            pipeline that loads, reasons, stores and follows updates, and asks its state.
Idea      : everything goes through the command that users have, in processes of its own; what is measured is seconds
            and processor seconds of all of them. The same job at two sizes says what grows.
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

from benchmarks.lubm.files import ONTOLOGY
from benchmarks.lubm.generate import UB, on_spark
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
path = "data"
[updates]
path = "updates"
[spark]
master = "local[2]"
memory = "6g"
"""
QUESTIONS = {
    "students of Course0": "triple(x, <{ub}takesCourse>, <{course}>), triple(x, <{type}>, <{ub}Student>)",
    "chairs": "triple(x, <{type}>, <{ub}Chair>)",
    "members of University0": "triple(x, <{ub}memberOf>, <http://www.University0.edu>)",
}
"""Like the first, the twelfth and the fifth of the fourteen queries, as bodies of rules."""
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
COURSE = "http://www.Department0.University0.edu/Course0"


def updates(count: int) -> Iterator[str]:
    """Lines of update files: a student takes a course, and leaves it again."""
    student, course = "http://www.Department0.University0.edu/UndergraduateStudent{}", {"@id": COURSE}
    for number in range(count):
        fact = ["triple", {"@id": student.format(number // 2)}, {"@id": f"{UB}takesCourse"}, course]
        yield json.dumps({"delete" if number % 2 else "insert": [fact]})


def read(folder: Path, universities: int) -> dict[str, Any]:
    """Generate by Spark; then what a triple costs to read, by Spark's tasks and in this process."""
    from tidelog.pipeline.sources.triples import term_records
    from tidelog.rdf.read import read_quads

    spark = session("local[2]", app="lubm", options={"spark.driver.memory": "4g"})
    _, made = measured(lambda: on_spark(spark, str(folder / "data"), universities))
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    def lines() -> Any:
        text = spark.read.text(str(folder / "data"))
        valid = F.lit(True).alias("is_text")
        return text.select("value", F.col("_metadata.file_path").alias("file"), valid)

    def records() -> int:
        return int(term_records(spark, lines(), str(folder / "data"), {}).where("problem is null").count())

    records()
    triples, far = measured(records)
    parts = sorted((folder / "data").glob("part-*"))
    for part in parts:
        part.rename(part.with_suffix(".nt"))

    def here() -> int:
        return sum(len(one) for path in parts for one in read_quads(path.with_suffix(".nt")))

    here()
    _, near = measured(here)
    close(spark)
    return {"generate": made, "triples": triples, "read by Spark": far, "read here": near}


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


def asked(folder: Path) -> dict[str, Any]:
    """Questions to the stored state, each as a process of its own."""
    found = {}
    for name, question in QUESTIONS.items():
        text = question.format(ub=UB, type=TYPE, course=COURSE)
        command = [sys.executable, "-W", "ignore", "-m", "tidelog", "query", "--state", str(folder / "state"), text]
        done, took = measured(lambda: subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True))  # noqa: B023
        found[name] = {**took, "answer": done.stdout.splitlines()[-1] if done.stdout else ""}
    return found


def main() -> None:
    """Generate, read, run, ask; print each as it is known."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("universities", type=int)
    parser.add_argument("--backend", default="spark")
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidelog-lubm-") as own:
        folder = args.folder or Path(own)
        (folder / "updates").mkdir(parents=True)
        print(json.dumps(read(folder, args.universities)), flush=True)
        (folder / "pipeline.toml").write_text(SETTINGS.format(backend=args.backend, ontology=ONTOLOGY))
        events, took = run(folder)
        loaded = next(event for event in events if event["event"] == "loaded")
        print(json.dumps({"loaded": loaded, "run": took}), flush=True)
        for number, line in enumerate(updates(args.updates)):
            (folder / "updates" / f"{number:06}.jsonl").write_text(line + "\n")
        events, took = run(folder)
        batches = [event for event in events if event["event"] == "batch"]
        seconds = {key: median(event[key] for event in batches) for key in ("seconds", "maintenance")}
        print(json.dumps({"updates": len(batches), **seconds, "run": took}), flush=True)
        print(json.dumps(asked(folder)), flush=True)


if __name__ == "__main__":
    main()
