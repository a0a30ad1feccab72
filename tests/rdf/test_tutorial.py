"""Every block of the page on knowledge graphs is run, in order, in an empty folder."""

import re
import shlex
import subprocess

from tests.house.sources import ROOT
from tidelog.cli import main
from tidelog.pipeline.settings.config import read_pipeline

PAGE = ROOT / "docs" / "knowledge-graphs.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_shell(text, capsys):
    """Commands of `tidelog` in this process, the rest in a shell; what was printed."""
    rest, said = [], []
    lines = text.splitlines()
    while lines:
        line = lines.pop(0)
        if line.startswith("tidelog "):
            subprocess.run(["bash", "-ec", "\n".join(rest)], check=True)
            rest = []
            assert main(shlex.split(line)[1:]) == 0, line
            said.append(capsys.readouterr().out)
        else:
            rest.append(line)
    subprocess.run(["bash", "-ec", "\n".join(rest)], check=True)
    return "\n".join(said)


def test_the_page(tmp_path, monkeypatch, capsys, spark):  # the page runs a pipeline, in the session of the tests
    monkeypatch.chdir(tmp_path)
    said = ""
    for language, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if language == "sh":
            said = run_shell(text, capsys)
        elif language == "text":
            assert text.strip() in said
        elif language == "toml":
            (tmp_path / "graph" / "pipeline.toml").write_text(text)
            assert read_pipeline("graph/pipeline.toml").reasoning == "owl-rl"
        else:
            exec(text, {})
    assert "http://example.org/ann" in (tmp_path / "graph" / "out2" / "graph.nt").read_text()
