"""The demonstration is the first thing a newcomer runs, so its promises are tested like any other."""

import re

from tests.pipeline.places import feed
from tidelog.cli import companies, main


def test_the_world_is_the_same_every_time(tmp_path):
    """The story can be followed in the documentation because it never changes; it has two changes of rules."""
    first, second = companies.write_world(tmp_path / "a"), companies.write_world(tmp_path / "b")
    assert first == second
    for file in ("facts/owns.csv", "updates/020.jsonl"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert len(first) == companies.UPDATES
    assert len([scene for scene in first if {"add_rules", "remove_rules"} & set(scene.update)]) == 2
    assert all(scene.update for scene in first)


def test_every_update_has_something_to_do():
    """Deliveries that end were loaded, or began in an update before; those that begin are new, but for a few."""
    made = companies.world()
    present = {*companies._traded(made)}
    idle = 0
    for scene in companies.scenes(made):
        gone, come = (
            {tuple(one[1:]) for one in scene.update.get(key, ()) if one[0] == "supplies"}
            for key in ("delete", "insert")
        )
        assert gone <= present
        idle += bool(come and come <= present)
        present = (present - gone) | come
    assert idle <= 5
    assert made == companies.world(), "what is written afterwards is the world before the updates"


def test_the_story_is_told(spark, tmp_path, capsys):
    """Spark loads, fifty updates are followed, each scripted one is explained, and the end is verified."""
    assert main(["demo", "--out", str(tmp_path / "d")]) == 0
    told = capsys.readouterr().out
    spans = re.findall(r"^ *(\d+)(?:-(\d+))?\. ", told, re.MULTILINE)
    numbers = [number for first, last in spans for number in range(int(first), int(last or first) + 1)]
    assert numbers == list(range(1, companies.UPDATES + 1))
    assert "1 bad record" in told
    assert re.search(r"why\? exposed\(.*\) came", told)
    assert re.search(r"there is no (blocked|exposed)\(.*\)  since now", told)
    assert "by the new rule led:" in told
    assert "by the removed rule downstream:" in told
    assert told.rstrip().endswith("verify: equal to recomputation")
    report = (tmp_path / "d" / "report.html").read_text()
    assert report.count("<svg") == 2
    assert report.count("<tr>") == companies.UPDATES + 1
    assert {row[1] for row in feed(tmp_path / "d" / "out" / "changes")} == {"blocked"}


def test_a_used_folder_is_refused(tmp_path, capsys):
    """Nothing of the user's is overwritten."""
    (tmp_path / "mine.txt").write_text("keep")
    assert main(["demo", "--out", str(tmp_path)]) == 1
    assert "E806" in capsys.readouterr().err


def test_a_page_escapes_what_it_shows(tmp_path):
    """Names of strategies and titles are text, whatever they contain."""
    from tidelog.cli.report import write_report
    from tidelog.language.parser import parse

    batch = {"version": 1, "inserted": 1, "deleted": 0, "maintenance": 0.001, "seconds": 0.01, "strategy": "<script>"}
    page = write_report(tmp_path / "r.html", parse('p("<b>") :- q(_).'), [{**batch, "title": "<i>&"}]).read_text()
    assert "<script>" not in page
    assert "<i>" not in page
    assert "&lt;b&gt;" in page


def test_pictures_of_a_report_keep_their_shape(tmp_path):
    """A height that does not follow a narrowed width left white bands around the graph of rules, in letters of 5 px."""
    from tidelog.cli.report import write_report
    from tidelog.language.parser import parse

    page = write_report(tmp_path / "r.html", parse("p(x) :- q(x)."), []).read_text()
    assert "svg{max-width:100%;height:auto}" in page
    assert "<div class=graph><svg" in page
    assert ".graph svg{max-width:max(100%,1100px)" in page
