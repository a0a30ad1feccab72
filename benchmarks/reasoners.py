"""LUBM under OWL 2 RL: Tidelog beside `reasonable` and `owlrl`.

What      : `python -m benchmarks.lubm.measure FOLDER [--universities N] [--owlrl] [--json FILE]` measures loading,
            reasoning, one triple in and out, and every axiom in and out, in CPU seconds of one warm process.
Idea      : one run, the same files for everybody; CPU time, because a machine has other things to do. `reasonable`
            reads Turtle only, so it is given the same triples in a `.ttl` file.
Never     : no assertion: figures are written down, with the machine that gave them.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox

from benchmarks.lubm.generate import write
from tidelog import rdf
from tidelog.rdf.axioms import is_axiom
from tidelog.rdf.quads import merged
from tidelog.rdf.read import read_quads

ROOT = Path(__file__).resolve().parents[2]
ONTOLOGY = ROOT / "tests" / "data" / "lubm" / "univ-bench.nt"
PUBLISHED = ROOT / "tests" / "data" / "lubm" / "lubm1.nt.gz"


def cpu(work: Callable[[], object], times: int = 1) -> tuple[float, object]:
    """The least CPU seconds of several runs, and the last result."""
    least, found = float("inf"), None
    for _ in range(times):
        found = None
        started = time.process_time()
        found = work()
        least = min(least, time.process_time() - started)
    return least, found


def measure(paths: list[Path], times: int) -> dict[str, object]:
    """Tidelog's own figures."""
    sources = [ONTOLOGY, *paths]
    parse, _ = cpu(
        lambda: [sum(1 for _ in ox.parse(path=str(path))) for path in sources if path.suffix == ".nt"], times
    )
    load, quads = cpu(lambda: merged([part for path in sources for part in read_quads(path)]), times)
    reason, _ = cpu(lambda: rdf.Graph(quads, reasoning="owl-rl"), times)
    whole, kg = cpu(lambda: rdf.Graph(*sources, reasoning="owl-rl"), times)
    stored, _ = cpu(lambda: rdf.Graph(quads, reasoning="none"), times)
    figures: dict[str, object] = {"given": sum(1 for _ in quads.triples()), "triples": len(kg)}
    figures |= {"pyoxigraph parses": parse, "loads": load, "loads and stores": load + stored}
    figures |= {"reasons": reason - stored, "stores and reasons": reason, "from files": whole}
    figures |= triples_in_and_out(kg)
    figures |= axioms_in_and_out(kg, reason)
    return figures


def triples_in_and_out(kg: rdf.Graph) -> dict[str, object]:
    """Random explicit triples out and in again, one at a time; the first twenty warm up."""
    chosen = random.Random(1).sample([triple for triple in kg.explicit() if not is_axiom(triple)], 220)
    out, back = [], []
    for triple in chosen:
        out.append(cpu(lambda triple=triple: kg.apply(delete=[triple]))[0])
        back.append(cpu(lambda triple=triple: kg.apply(insert=[triple]))[0])
    return {
        "a triple out, median": statistics.median(out[20:]),
        "a triple in, median": statistics.median(back[20:]),
        "a triple out, mean": statistics.mean(out[20:]),
        "a triple in, mean": statistics.mean(back[20:]),
    }


def axioms_in_and_out(kg: rdf.Graph, anew: float) -> dict[str, object]:
    """Every explicit axiom out and in again."""
    out, back = [], []
    for axiom in [triple for triple in kg.explicit() if is_axiom(triple)]:
        out.append(cpu(lambda axiom=axiom: kg.apply(delete=[axiom]))[0])
        back.append(cpu(lambda axiom=axiom: kg.apply(insert=[axiom]))[0])
    return {
        "axioms": len(out),
        "an axiom out, mean": statistics.mean(out),
        "an axiom in, mean": statistics.mean(back),
        "an axiom, most": max(*out, *back),
        "anew": anew,
    }


def turtle(paths: list[Path], folder: Path) -> Path:
    """All triples in one Turtle file, as reasonable reads it."""
    target = folder / "all.ttl"
    with target.open("wb") as file:
        for path in [ONTOLOGY, *paths]:
            text = (
                path.read_bytes()
                if path.suffix == ".nt"
                else ox.serialize(_triples(path), format=ox.RdfFormat.N_TRIPLES)
            )
            file.write(text)
    return target


def _triples(path: Path):
    import gzip

    return (quad.triple for quad in ox.parse(gzip.decompress(path.read_bytes()), format=ox.RdfFormat.N_TRIPLES))


def by_reasonable(path: Path) -> dict[str, object]:
    """The figures of `reasonable`."""
    import reasonable

    reasoner = reasonable.PyReasoner()
    load, _ = cpu(lambda: reasoner.load_file(str(path)))
    reason, found = cpu(reasoner.reason)
    return {"loads": load, "reasons": reason, "triples": len(found)}


def by_owlrl(path: Path) -> dict[str, object]:
    """The figures of `owlrl`; minutes for LUBM(1)."""
    import owlrl
    import rdflib

    graph = rdflib.Graph()
    load, _ = cpu(lambda: graph.parse(str(path)))
    closure = owlrl.DeductiveClosure(owlrl.OWLRL_Semantics)
    reason, _ = cpu(lambda: closure.expand(graph))
    return {"loads": load, "reasons": reason, "triples": len(graph)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="where generated universities are kept")
    parser.add_argument("--universities", type=int, default=1, help="1 is LUBM(1) as published")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--owlrl", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    if args.universities == 1:
        plain = args.folder / "lubm1.nt"
        if not plain.exists():
            plain.write_bytes(ox.serialize(_triples(PUBLISHED), format=ox.RdfFormat.N_TRIPLES))
        paths = [plain]
    else:
        folder = args.folder / f"lubm{args.universities}"
        paths = sorted(folder.glob("*.nt")) or write(folder, args.universities)
    rdf.Graph(ONTOLOGY, reasoning="owl-rl")
    whole = turtle(paths, args.folder)
    found = {"machine": platform.processor() or platform.machine(), "universities": args.universities}
    found["reasonable"] = by_reasonable(whole)
    found["tidelog"] = measure(paths, args.times)
    if args.owlrl:
        found["owlrl"] = by_owlrl(whole)
    text = json.dumps(found, indent=2)
    print(text)
    if args.json:
        args.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
