"""LUBM under OWL 2 RL: Tidelog beside other reasoners that install from PyPI.

What      : `python -m benchmarks.reasoners [--sizes 1 10] [--owlrl 1] [--json FILE]` measures loading, reasoning, one
            triple in and out, and every axiom in and out, in CPU seconds, and writes one table for all.
Idea      : one run, the same triples for all; CPU time, because a machine has other things to do. Every reasoner works
            in a process of its own; ours has reasoned once before, so that its kernels are compiled. `reasonable` reads
            Turtle only, so it is given the same triples in a `.ttl` file.
Never     : no assertion: figures are written down, with the machine that gave them.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.lubm.files import ONTOLOGY, turtle, universities

Figures = dict[str, Any]
TRIPLES = 200
"""Single triples that go and come back, after twenty that warm up."""


def cpu(work: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """The least CPU seconds of several runs, and the last result."""
    least, found = float("inf"), None
    for _ in range(times):
        found = None
        gc.collect()
        started = time.process_time()
        found = work()
        least = min(least, time.process_time() - started)
    return least, found


def by_tidelog(paths: list[Path], times: int) -> Figures:
    """Tidelog's own figures."""
    import pyoxigraph as ox

    from tidelog import rdf
    from tidelog.rdf.quads import merged
    from tidelog.rdf.read import read_quads

    sources = [ONTOLOGY, *paths]
    rdf.Graph(*sources[:2], reasoning="owl-rl")
    parse, _ = cpu(lambda: [sum(1 for _ in ox.parse(path=str(path))) for path in sources], times)
    load, quads = cpu(lambda: merged([part for path in sources for part in read_quads(path)]), times)
    stored, _ = cpu(lambda: rdf.Graph(quads, reasoning="none"), times)
    anew, _ = cpu(lambda: rdf.Graph(quads, reasoning="owl-rl"), times)
    whole, kg = cpu(lambda: rdf.Graph(*sources, reasoning="owl-rl"), times)
    listed, _ = cpu(lambda: list(kg))
    found: Figures = {"given": len(quads), "triples": len(kg), "pyoxigraph parses": parse, "loads": load}
    found |= {"stores": stored, "stores and reasons": anew, "reasons": anew - stored}
    found |= {"from files": whole, "lists all triples": listed}
    return found | triples_in_and_out(kg) | axioms_in_and_out(kg)


def triples_in_and_out(kg: Any) -> Figures:
    """Random explicit triples out and in again, one at a time; the first twenty warm up."""
    from tidelog.rdf.axioms import is_axiom

    data = [triple for triple in kg.explicit() if not is_axiom(triple)]
    times = [there_and_back(kg, triple) for triple in random.Random(1).sample(data, 20 + TRIPLES)][20:]
    out, back = zip(*times)
    return {
        "a triple out": {"median": statistics.median(out), "mean": statistics.mean(out), "most": max(out)},
        "a triple in": {"median": statistics.median(back), "mean": statistics.mean(back), "most": max(back)},
    }


def axioms_in_and_out(kg: Any) -> Figures:
    """Every explicit axiom out and in again; the five that take longest three times, of which the least counts."""
    from tidelog.rdf.axioms import is_axiom
    from tidelog.rdf.proofs import show

    axioms = [triple for triple in kg.explicit() if is_axiom(triple)]
    for axiom in axioms[:: len(axioms) // 5]:
        there_and_back(kg, axiom)
    times = {axiom: there_and_back(kg, axiom) for axiom in axioms}
    for axiom in sorted(axioms, key=lambda one: -max(times[one]))[:5]:
        again = [times[axiom], there_and_back(kg, axiom), there_and_back(kg, axiom)]
        times[axiom] = min(out for out, _ in again), min(back for _, back in again)
    out, back = zip(*times.values())
    longest = max(axioms, key=lambda one: max(times[one]))
    return {
        "axioms": len(axioms),
        "an axiom out": {"mean": statistics.mean(out), "most": max(out)},
        "an axiom in": {"mean": statistics.mean(back), "most": max(back)},
        "the axiom that takes longest": show(longest),
    }


def there_and_back(kg: Any, triple: Any) -> tuple[float, float]:
    """CPU seconds of a deletion, and of the insertion that undoes it."""
    return cpu_of(lambda: kg.apply(delete=[triple])), cpu_of(lambda: kg.apply(insert=[triple]))


def cpu_of(work: Callable[[], object]) -> float:
    """CPU seconds of one run."""
    started = time.process_time()
    work()
    return time.process_time() - started


def by_reasonable(path: Path, times: int) -> Figures:
    """The figures of `reasonable`; `reason` hands over its triples as Python tuples."""
    import reasonable

    found: list[Figures] = []
    for _ in range(times):
        reasoner = reasonable.PyReasoner()
        load, _ = cpu(lambda: reasoner.load_file(str(path)))  # noqa: B023 - called at once
        reason, triples = cpu(reasoner.reason)
        found.append({"loads": load, "reasons": reason, "from files": load + reason, "triples": len(triples)})
    return {name: min(one[name] for one in found) for name in found[0]}


def by_owlrl(path: Path, _: int) -> Figures:
    """The figures of `owlrl`, measured once: minutes for LUBM(1)."""
    import owlrl
    import rdflib

    graph = rdflib.Graph()
    load, _ = cpu(lambda: graph.parse(str(path)))
    closure = owlrl.DeductiveClosure(owlrl.OWLRL_Semantics)
    reason, _ = cpu(lambda: closure.expand(graph))
    return {"loads": load, "reasons": reason, "from files": load + reason, "triples": len(graph)}


OTHERS: dict[str, Callable[[Path, int], Figures]] = {"reasonable": by_reasonable, "owlrl": by_owlrl}


def in_a_process(name: str, paths: Iterable[Path], times: int) -> Figures:
    """The figures of one reasoner, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.reasoners", "--only", name, "--times", str(times), *map(str, paths)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found = {"version": version(name), **json.loads(done.stdout.splitlines()[-1])}
    print(name, json.dumps(found), file=sys.stderr, flush=True)
    return found


def compared(size: int, folder: Path, times: int, *, with_owlrl: bool) -> Figures:
    """All reasoners over a number of universities."""
    paths = universities(folder, size)
    whole = turtle(paths, folder / f"lubm{size}.ttl")
    found = {"tidelog": in_a_process("tidelog", paths, times)}
    for name in ["reasonable", "owlrl"] if with_owlrl else ["reasonable"]:
        found[name] = in_a_process(name, [whole], times)
    return found | {"goals": goals(found)}


def goals(found: Figures) -> Figures:
    """What was asked for, beside what was measured."""
    ours = found["tidelog"]
    anew = ours["stores and reasons"]
    reached: Figures = {"loading, times parsing (2.5)": ours["loads"] / ours["pyoxigraph parses"]}
    for name, (alone, from_files) in {"reasonable": (10, 4), "owlrl": (100, 100)}.items():
        if name in found:
            theirs = found[name]
            reached[f"{name}, reasoning alone ({alone})"] = theirs["reasons"] / ours["reasons"]
            reached[f"{name}, against storing and reasoning"] = theirs["reasons"] / anew
            reached[f"{name}, from files ({from_files})"] = theirs["from files"] / ours["from files"]
    for way in ("out", "in"):
        triple, axiom = ours[f"a triple {way}"], ours[f"an axiom {way}"]
        reached[f"a triple {way}, ms (1)"] = 1000 * triple["median"]
        reached[f"a triple {way}, part of anew (0.01)"] = triple["median"] / anew
        reached[f"an axiom {way}, mean part of anew (0.1)"] = axiom["mean"] / anew
        reached[f"an axiom {way}, largest part of anew (1)"] = axiom["most"] / anew
    return reached


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("paths", type=Path, nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 10], help="universities; 1 is LUBM(1) as published")
    parser.add_argument("--owlrl", type=int, nargs="*", default=[1], help="the sizes at which owlrl is measured too")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where generated universities are kept")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        found = by_tidelog(args.paths, args.times) if args.only == "tidelog" else None
        print(json.dumps(found or OTHERS[args.only](args.paths[0], args.times)))
        return
    with tempfile.TemporaryDirectory(prefix="tidelog-reasoners-") as own:
        folder = args.folder or Path(own)
        sizes = {
            f"LUBM({size})": compared(size, folder, args.times, with_owlrl=size in args.owlrl) for size in args.sizes
        }
    text = json.dumps({"machine": platform.processor() or platform.machine(), **sizes}, indent=2)
    print(text)
    if args.json:
        args.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
