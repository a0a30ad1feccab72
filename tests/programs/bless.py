"""Draft the expectation of a golden case: `python -m tests.programs.bless topic/case ...`

Writes `expected/` from recomputation. It is a draft: read it, and let the foreign oracles (tests/oracles) agree with
it, before it is committed. Existing files are overwritten; refusals are found by trying.
"""

from __future__ import annotations

import sys

from tests.differential.case import Update
from tests.differential.engines import ReferenceEngine
from tests.differential.oracle import model
from tests.programs.golden import ROOT, Golden
from tidelog.errors import ProgramError
from tidelog.language.printer import print_fact
from tidelog.reference.facts import from_fact
from tidelog.reference.recompute import Recompute


def bless(golden: Golden) -> None:
    """Write what recomputation says after every update."""
    expected = golden.folder / "expected"
    expected.mkdir(exist_ok=True)
    for file in expected.iterdir():
        file.unlink()
    engine = ReferenceEngine(Recompute, golden.case.program)
    for version, update in enumerate((Update(), *golden.case.updates)):
        try:
            engine.apply(**update.arguments)  # type: ignore[arg-type]
        except ProgramError as error:
            (expected / f"{version}.refused").write_text(f"{error.code}\n", encoding="utf-8")
    fresh = Golden(golden.folder)
    for version, state in enumerate(fresh.states):
        if not fresh.refusal(version):
            facts = sorted(print_fact(*from_fact(fact)) for fact in model(state) if fact[0] in fresh.derived)
            (expected / f"{version}.dl").write_text("".join(f"{fact}.\n" for fact in facts), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        bless(Golden(ROOT / name))
