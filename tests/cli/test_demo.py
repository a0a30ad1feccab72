"""The demonstration is the first thing a newcomer runs, so its promises are tested like any other."""

import pytest

from tidelog.cli import demo, main


def test_the_story_shows_what_it_announces(capsys):
    """A surviving conclusion, a conclusion lost to negation, a rule that comes and goes, a dead cycle, a refusal."""
    assert main(["demo"]) == 0
    story = capsys.readouterr().out
    storm, reef, rule, gone, last = story.split("\n\n")[3:8]
    assert '- reach("harbour", "island")' in storm
    assert '- reach("harbour", "lighthouse")' not in storm
    assert '- cut_off("reef")' in reef
    assert '+ tour("reef")' in rule
    assert '- tour("reef")' in gone
    assert '- reach("harbour", "reef")' in last
    assert '- reach("harbour", "lighthouse")' in last
    assert "E202" in story


def test_a_broken_law_ends_the_story(capsys, monkeypatch):
    """The comparison with recomputation is real: if recomputation disagrees, the command fails and says so."""
    monkeypatch.setattr(demo, "materialise", lambda rules, explicit: set())
    assert main(["demo"]) == 2
    assert "E901" in capsys.readouterr().err


@pytest.mark.parametrize("scene", demo.STORY, ids=lambda scene: scene.title)
def test_every_scene_changes_something(scene):
    """A scene without an update would show nothing."""
    assert scene.insert or scene.delete or scene.add_rules or scene.remove_rules
