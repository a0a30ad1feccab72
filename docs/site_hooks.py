"""What the site takes from outside docs/: the README as its first page, and the other pages of the root folder.

What      : hooks of MkDocs (mkdocs.yml): pages are added, and links between them and to files are turned.
Idea      : every page is written for the repository, where its links can be followed; here they are made to fit the
            site. A link to a page leads to its page, a link to any other file of the repository becomes plain text.
Invariant : no page and no link leads out of the site but to an address with a scheme.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
HOMES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "examples/README.md": "examples.md",
    "benchmarks/local/README.md": "benchmarks-local.md",
}
"""Where pages from outside docs/ stand in the site."""

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)?(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:  # noqa: ANN401 - MkDocs' configuration
    """Add the pages from outside docs/, and the pictures that they show."""
    for path, home in HOMES.items():
        content = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, home, content=content))
    for picture in sorted((ROOT / "benchmarks" / "results").glob("*.svg")):
        files.append(File.generated(config, f"results/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401
    """Turn the links of a page."""
    here = page.file.src_uri
    written = next((path for path, home in HOMES.items() if home == here), f"docs/{here}")

    def turned(found: re.Match[str]) -> str:
        mark, text, target, anchor = found.groups()
        if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(written), target))
        home = _home(path)
        if home is None:
            return text
        relative = posixpath.relpath(home, posixpath.dirname(here) or ".")
        return f"{mark}[{text}]({relative}{anchor or ''})"

    return _LINK.sub(turned, markdown)


def _home(path: str) -> str | None:
    """Where a file of the repository stands in the site; None if it is not there."""
    if path in HOMES:
        return HOMES[path]
    if (ROOT / path).is_dir():
        return _home(f"{path}/README.md") if (ROOT / path / "README.md").is_file() else None
    if path.startswith("benchmarks/results/") and path.endswith(".svg"):
        return path.removeprefix("benchmarks/")
    if path.startswith("docs/") and path.endswith((".md", ".svg", ".png", ".json")):
        return path.removeprefix("docs/")
    return None
