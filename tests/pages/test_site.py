"""The site can be built, has search and a reference, and fetches nothing."""

import json
import re
import subprocess
import sys

import pytest

from tests.house.sources import ROOT

FETCHED = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=["'](https?:|//)[^"']*["']""")


@pytest.mark.long
def test_the_site_has_search_and_a_reference_and_fetches_nothing(tmp_path):
    """Built as `make docs` builds it, where a warning is an error."""
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(site)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        assert FETCHED.search(page.read_text(encoding="utf-8")) is None, page
    for sheet in site.rglob("*.css"):
        assert "@import" not in sheet.read_text(encoding="utf-8")
    assert "explain_absence" in (site / "reference" / "engine.html").read_text(encoding="utf-8")
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert {"tasks/csv.html", "mistakes.html", "errors.html"} <= {one["location"] for one in index["docs"]}
    assert (site / "search" / "search_index.js").is_file()
