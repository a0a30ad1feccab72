"""The figures of the Spark benchmarks as lines of text and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

CONTENDERS = ("bulk", "engine", "loop", "local")


def lines(found: dict[str, Any]) -> Iterator[str]:
    """Seconds and processor seconds by case, ratios, the stream, and cores."""
    for row in found.get("contenders", ()):
        figures = [
            f"{who} {row[who]['seconds']} s {row[who]['cpu']} cpu s" for who in (*CONTENDERS, "recursive") if who in row
        ]
        ratio = row.get("loop / bulk")
        yield f"{row['case']}: {', '.join(figures)}" + (
            f"; loop / bulk {ratio['seconds']} {ratio['cpu']}" if ratio else ""
        )
    if "stream" in found:
        stream = found["stream"]
        ratio = stream["recomputation / update"]
        yield f"stream over {stream['facts']:,} facts: update {stream['update']}, again {stream['recomputation']}"
        yield f"bare recomputation / update: {ratio['seconds']} in seconds, {ratio['cpu']} in processor seconds"
        whole = stream["update by recomputation / update"]
        yield f"update by recomputation / update: {whole['seconds']} in seconds, {whole['cpu']} in processor seconds"
        yield f"around update: {stream['around update']}"
    for step, figures in found.get("size", {}).items():
        yield f"at size, {step}: {figures}"
    for name in ("1 core", "2 cores", "2 executors"):
        for row in found.get(name, {}).get("rows", ()):
            yield f"{name}: {row['case']} {row['bulk']}, {found[name]['megabytes per core']} MB per core"


def draw(found: dict[str, Any], target: Path) -> None:
    """Processor seconds of every contender by case, and the seconds of every update of the stream."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    rows = [row for row in found.get("contenders", ()) if "loop" in row]
    for at, contender in enumerate(CONTENDERS):
        places = [number + at * 0.2 for number in range(len(rows))]
        left.bar(places, [row[contender]["cpu"] for row in rows], 0.2, label=contender)
    left.set_xticks([number + 0.3 for number in range(len(rows))], [row["case"] for row in rows])
    left.set_yscale("log")
    left.set_ylabel("processor seconds")
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=len(CONTENDERS), frameon=False)
    if "stream" in found:
        right.plot(found["stream"]["cpu"], ".", label="update")
        right.axhline(found["stream"]["update by recomputation"]["cpu"], color="black", label="update by recomputation")
        right.axhline(found["stream"]["recomputation"]["cpu"], color="grey", label="bare recomputation")
        right.set_yscale("log")
        right.set_xlabel("update")
        right.set_ylabel("processor seconds")
        right.legend(loc="center right")
    figure.savefig(target, bbox_inches="tight", metadata={"Date": None})
