"""The repository as the house tests see it: its tracked files, and the parsed modules of the package."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tidelog"

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """One module: its dotted name, whether it is a package, its text and its syntax tree."""

    name: str
    is_package: bool
    text: str
    tree: ast.Module

    @property
    def file(self) -> str:
        """Its path from the root of the repository."""
        below = "src/" if self.name.split(".")[0] == "tidelog" else ""
        return f"{below}{self.name.replace('.', '/')}{'/__init__' if self.is_package else ''}.py"

    @classmethod
    def of(cls, text: str, name: str = "tidelog.planted", is_package: bool = False) -> Module:
        """A module from text; the tests plant faults this way to see that a check finds them."""
        return cls(name, is_package, text, ast.parse(text))


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, ordered by name."""
    return tuple(_read(sorted(PACKAGE.rglob("*.py")), ROOT / "src"))


@cache
def beside_the_package() -> tuple[Module, ...]:
    """The tests and the benchmarks."""
    return tuple(_read(sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]), ROOT))


def _read(paths: list[Path], root: Path) -> Iterator[Module]:
    for path in paths:
        parts = path.relative_to(root).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        yield Module.of(path.read_text(encoding="utf-8"), name, is_package)


@cache
def tracked_files() -> tuple[Path, ...]:
    """What the repository holds; without git (an unpacked archive) every file that is not hidden."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        candidates = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        candidates = [
            path for path in ROOT.rglob("*") if not any(p.startswith(".") for p in path.relative_to(ROOT).parts)
        ]
    return tuple(path for path in candidates if path.is_file())


def definitions(module: Module) -> Iterator[tuple[str, Definition]]:
    """Classes, functions and methods with their dotted names; what is nested in a function is private."""

    def visit(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, Definition]]:
        for node in body:
            if isinstance(node, Definition):
                yield prefix + node.name, node
                if isinstance(node, ast.ClassDef):
                    yield from visit(node.body, f"{prefix}{node.name}.")

    return visit(module.tree.body, "")
