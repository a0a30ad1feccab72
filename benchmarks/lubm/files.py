"""The files of LUBM: the ontology and LUBM(1) as published, and universities of our own.

What      : `universities(folder, count)` gives N-Triples files; one university is LUBM(1) as published, more are
            generated. `turtle` puts all triples into one file that every reasoner reads.
Never     : nothing is measured here.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from benchmarks.lubm.generate import write

ROOT = Path(__file__).resolve().parents[2]
ONTOLOGY = ROOT / "tests" / "data" / "lubm" / "univ-bench.nt"
PUBLISHED = ROOT / "tests" / "data" / "lubm" / "lubm1.nt.gz"
QUERIES = Path(__file__).parent / "queries"


def universities(folder: Path, count: int) -> list[Path]:
    """N-Triples files of a number of universities, made once."""
    folder.mkdir(parents=True, exist_ok=True)
    if count == 1:
        plain = folder / "lubm1.nt"
        if not plain.exists():
            plain.write_bytes(gzip.decompress(PUBLISHED.read_bytes()))
        return [plain]
    return sorted((folder / f"lubm{count}").glob("*.nt")) or write(folder / f"lubm{count}", count)


def turtle(paths: list[Path], target: Path) -> Path:
    """The ontology and all triples in one Turtle file: N-Triples are Turtle."""
    with target.open("wb") as file:
        for path in [ONTOLOGY, *paths]:
            file.write(path.read_bytes())
    return target
