"""Write the pages that the program itself has to write: `python -m tests.pages`."""

from tests.house.sources import ROOT
from tests.pages.test_pages import PAGES

for name, made in PAGES.items():
    (ROOT / "docs" / name).write_text(made(), encoding="utf-8")
