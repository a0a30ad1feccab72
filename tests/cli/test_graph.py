"""`tidelog graph` draws the HRDG in three formats that agree with each other."""

import argparse
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.analysis.hypergraph import hypergraph
from tidelog.cli import graph
from tidelog.cli.drawing.diagram import diagram
from tidelog.cli.drawing.dot import dot
from tidelog.cli.drawing.layers import layers
from tidelog.cli.drawing.layout import lay_out
from tidelog.cli.drawing.mermaid import mermaid
from tidelog.cli.drawing.svg import svg
from tidelog.errors import ProgramError, UsageError
from tidelog.language.parser import parse

ROOT = Path(__file__).parents[2]
RS3 = ROOT / "tests" / "programs" / "zodiacedge" / "rs3" / "program.dl"


ROADS = """\
far: far(x, w) :- road(x, y), road(y, z), road(z, w).
rail: far(x, w) :- road(x, y), road(y, z), rail(z, w).
on: far(x, w) :- far(x, y), ferry(y, z), road(z, w), !closed(w).
busy: busy(x, n) :- road(x, _), n = count : { far(x, _) }.
"""


def run(file: Path, *, output=None, name=None, title=None, circuit=False) -> int:
    options = {"output": output, "format": name, "title": title, "dialect": None, "circuit": circuit}
    return graph.run(argparse.Namespace(file=str(file), **options))


def drawn(text: str):
    return diagram(hypergraph(parse(text).rules), "t")


@pytest.mark.parametrize("rule_set", ["rs2", "rs3"])
def test_the_pictures_in_the_documentation_are_current(rule_set, capsys):
    """`docs/pictures` holds what the command draws today; draw again after a change and look at it."""
    program = RS3.parents[1] / rule_set / "program.dl"
    assert run(program, title=f"ZodiacEdge rule set {rule_set.upper()}") == 0
    picture = ROOT / "docs" / "pictures" / f"hrdg-{rule_set}.svg"
    assert capsys.readouterr().out == picture.read_text(encoding="utf-8")


def test_the_circuit_is_drawn_with_the_rows_that_rules_share(tmp_path, capsys):
    """Two rules read one prefix; `docs/circuits.md` shows these rules and this picture."""
    (tmp_path / "roads.dl").write_text(ROADS)
    assert run(tmp_path / "roads.dl", title="The circuit of four rules", circuit=True) == 0
    drawn = capsys.readouterr().out
    assert drawn == (ROOT / "docs" / "pictures" / "circuit.svg").read_text(encoding="utf-8")
    assert ROADS in (ROOT / "docs" / "circuits.md").read_text(encoding="utf-8")
    assert drawn.count("prefix1(") == 3  # its direction, and the signals of two rules
    assert "count1(x, n)" in drawn
    assert "@" not in drawn


def test_a_program_that_cannot_run_has_no_circuit(tmp_path):
    """Rules can be looked at when they are wrong; rows cannot be made of them."""
    (tmp_path / "wrong.dl").write_text("p(x, z) :- q(x).")
    with pytest.raises(ProgramError, match="E202"):
        run(tmp_path / "wrong.dl", circuit=True)


def test_rs3_as_svg_shows_rules_recursion_negation_and_strata():
    """Well-formed XML with one box per hyper-node, every rule's name, and two red dashed arrows."""
    picture = svg(diagram(hypergraph(parse(RS3.read_text()).rules), "RS3"))
    ElementTree.fromstring(picture)
    assert "14 hyper-nodes · 18 rules · 2 strata" in picture
    assert all(f">{name}</text>" in picture for name in ("r1", "r10_new", "r18"))
    assert picture.count(">recursive</text>") == 4
    assert picture.count('stroke="#dc2626" stroke-width="1.9" stroke-dasharray') == 2
    assert "STRATUM 0" in picture
    assert "STRATUM 1" in picture


@pytest.mark.parametrize(
    ("output", "name", "start"),
    [("o.svg", None, "<svg"), ("o.dot", None, "digraph"), ("o.mmd", None, "flowchart TB"), ("o.txt", "dot", "digraph")],
)
def test_the_format_follows_the_ending_unless_it_is_given(tmp_path, output, name, start):
    """`-o picture.dot` needs no `--format`."""
    assert run(RS3, output=str(tmp_path / output), name=name) == 0
    assert (tmp_path / output).read_text(encoding="utf-8").startswith(start)


def test_an_output_that_cannot_be_written_is_the_users_mistake(tmp_path):
    """Not ours: exit code 1, not 2."""
    with pytest.raises(UsageError, match="cannot be written"):
        run(RS3, output=str(tmp_path / "missing" / "o.svg"))


def test_a_graph_that_nobody_could_read_is_refused(tmp_path):
    """Every one of 150 rules feeds every one of 150 others: 22,500 arrows."""
    file = tmp_path / "dense.dl"
    file.write_text("".join(f"p(x) :- q{i}(x). r{i}(x) :- p(x).\n" for i in range(150)))
    with pytest.raises(UsageError, match="22500 arrows"):
        run(file)


def test_text_is_escaped_in_every_format():
    """Comparisons and quoted strings are markup in all three formats."""
    shown = drawn('p(x) :- q(x, "<b>\\"&"), x < 3.')
    ElementTree.fromstring(svg(shown))
    assert "&lt;b&gt;" in svg(shown)
    assert '\\"' in dot(shown)
    assert "<b>p</b>" in mermaid(shown)
    assert "x #60; 3" in mermaid(shown)
    assert '"&' not in mermaid(shown)


def test_dot_and_mermaid_mark_negation_aggregation_and_recursion():
    """The same three kinds of arrows, and a loop or badge on recursive hyper-nodes."""
    shown = drawn("a(x) :- e(x). b(x) :- e(x), !a(x). b(x) :- b(x). c(n) :- n = count : { b(x) }.")
    assert dot(shown).count("style=dashed") == 1
    assert dot(shown).count("style=dotted") == 2
    assert dot(shown).count('label="recursive"') == 1
    assert mermaid(shown).count("-. not .->") == 1
    assert mermaid(shown).count("-. aggregates .->") == 2
    assert mermaid(shown).count("#8635; recursive") == 1


def test_a_program_that_cannot_be_stratified_is_drawn_with_a_warning():
    """A picture is most useful when something is wrong."""
    shown = drawn("win(x) :- move(x, y), !win(y).")
    assert "not stratifiable" in svg(shown)
    assert "not stratifiable" in mermaid(shown)
    assert "style=dashed" in dot(shown)


def test_many_rules_and_long_rules_are_shortened():
    """A box has room for a dozen rules; a long body is broken between literals."""
    many = drawn("".join(f"p(x) :- p(x), q{i}(x).\n" for i in range(20)))
    assert many.boxes[0].lines[-1] == ("", "... and 8 more rules")
    long = drawn("name: head(x) :- " + ", ".join(f"relation{i}(x)" for i in range(6)) + ".")
    assert long.boxes[0].lines[0] == ("name", "head(x) :-")
    assert [len(text) <= 38 for _, text in long.boxes[0].lines] == [True] * 4


def test_an_empty_program_has_an_empty_picture():
    """No boxes, and still a picture."""
    ElementTree.fromstring(svg(drawn("edge(1, 2).")))
    assert dot(drawn("")).endswith("}\n")
    assert mermaid(drawn("")).startswith("flowchart")


GRAPH = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30, unique=True)


@given(GRAPH, st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_arrows_lead_down_and_boxes_do_not_overlap(pairs, steps):
    """Whatever the graph: rows are disjoint in height, boxes in a row in width, and strata in bands."""
    arrows = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    strata = [0] * 12
    for box in range(12):
        below = [strata[a] for a, b in arrows if b == box]
        strata[box] = max([*below, 0]) + (steps[box] == 2)
    strata = [sorted(set(strata)).index(stratum) for stratum in strata]
    sizes = [(60.0 + 10 * step, 30.0 + 5 * step) for step in steps]
    layout = lay_out(sizes, strata, arrows)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(layout.corners, sizes)]
    for i, a in enumerate(boxes):
        assert a[0] >= 0
        assert a[2] <= layout.width
        for b in boxes[i + 1 :]:
            assert a[2] <= b[0] + 1e-6 or b[2] <= a[0] + 1e-6 or a[3] <= b[1] or b[3] <= a[1]
    for (source, target), route in zip(arrows, layout.routes):
        assert boxes[source][3] < boxes[target][1]
        assert [y for _, y in route] == sorted(y for _, y in route)
    bands = {stratum: (top, bottom) for stratum, top, bottom in layout.bands}
    assert all(bands[strata[i]][0] < box[1] < box[3] < bands[strata[i]][1] for i, box in enumerate(boxes))


def test_sweeps_remove_crossings():
    """Two arrows written crosswise are drawn side by side."""
    rows = layers([0, 0, 0, 0], [(0, 3), (1, 2)]).rows
    assert [rows[0].index(0) < rows[0].index(1)] == [rows[1].index(3) < rows[1].index(2)]
