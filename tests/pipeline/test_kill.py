"""`kill -9` at any moment: after a restart, state, change feed and rejects are those of an undisturbed run."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

import tidelog as tl
from tests.pipeline.places import RULES, Place, facts, summed
from tidelog.pipeline.job import FAILPOINTS
from tidelog.state import failpoints
from tidelog.state.reading import read_versions

FILES = 6


def prepared(folder):
    """A pipeline with a few update files, one bad line and a rule change among them."""
    place = Place(folder, on_bad="reject")
    for number in range(FILES):
        inserted = [["edge", f"n{number}", f"n{(number * 3 + step) % 7}"] for step in (1, 2)]
        place.update(
            f"{number}", {"insert": inserted, "delete": [["edge", f"n{number - 2}", f"n{(number * 3 - 5) % 7}"]]}
        )
    place.update("2b", {"add_rules": "loop: loop(x) :- path(x, x)."}, "{bad")
    return place


def start(place, failpoint=None):
    command = [sys.executable, "-m", "tidelog", "run", str(place.folder / "pipeline.toml"), "--once", "--json"]
    environment = {**os.environ, "TIDELOG_FAILPOINT": failpoint} if failpoint else dict(os.environ)
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def outcome(place):
    engine = tl.Engine.open(place.folder / "state")
    engine.verify()
    found = place.feed()
    assert summed(found) == facts(engine)
    rejects = sorted((row["line"], row["text"], row["reason"]) for row in place.rejects())
    return engine.version, facts(engine), found, rejects


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory):
    """What a run without a crash gives."""
    place = prepared(tmp_path_factory.mktemp("undisturbed") / "p")
    place.run(spark)
    return outcome(place)


def killed_and_restarted(spark, folder, undisturbed, failpoint):
    place = prepared(folder)
    process = start(place, failpoint)
    _, errors = process.communicate(timeout=280)
    assert process.returncode == -signal.SIGKILL, errors.decode()
    place.run(spark)
    assert outcome(place) == undisturbed


def test_a_kill_between_state_and_sink(spark, tmp_path, undisturbed):
    """The hardest moment: the version is stored, no sink has it, and Spark will bring its batch again."""
    killed_and_restarted(spark, tmp_path / "p", undisturbed, "version-saved:4")


@pytest.mark.parametrize("failpoint", ["batch-applied:2", pytest.param("version-saved:2", marks=pytest.mark.long)])
def test_a_kill_between_parts_that_share_versions(spark, tmp_path, failpoint):
    """With `latest` the files of a micro-batch meet in three versions, each stored with its range; none comes twice."""
    places = [Place(tmp_path / name, on_bad="reject", updates="latest = true") for name in ("whole", "killed")]
    for place in places:
        place.update("0", {"insert": [["free", 1], ["edge", "c", "d"]]}, "{bad")
        place.update("1", {"delete": [["free", 1], ["edge", "c", "d"]]})
        place.update("2", {"insert": [["free", 1, 2]]})  # which has to wait until `free` is seen to be empty
        place.update("3", {"delete": [["free", 1, 2]], "insert": [["edge", "c", "a"]]}, "{worse")
        place.update("4", {"insert": [["free", 1, 2, 3]]})
        place.update("5", {"delete": [["edge", "c", "a"]]})
    whole, killed = places
    whole.run(spark)
    process = start(killed, failpoint)
    _, errors = process.communicate(timeout=280)
    assert process.returncode == -signal.SIGKILL, errors.decode()
    assert tl.Engine.open(killed.folder / "state").version == 2
    killed.run(spark)
    assert outcome(killed) == outcome(whole)
    origins = [one.origin for one in read_versions(killed.folder / "state") if one.origin]
    assert origins == ["stream 0.0 to 0.1", "stream 0.2 to 0.3", "stream 0.4 to 0.5"]


def killed_at_a_rule_change(spark, folder, failpoint):
    """A finished pipeline whose rule file is edited; the run that finds it is killed; what the next run says of it."""
    place = Place(folder)
    place.update("1", {"insert": [["edge", "c", "a"]]})
    before, _ = place.run(spark)
    place.write("rules.dl", RULES.replace("tr: path(x, z) :- path(x, y), edge(y, z).", "loop(x) :- path(x, x)."))
    process = start(place, failpoint)
    _, errors = process.communicate(timeout=280)
    assert process.returncode == -signal.SIGKILL, errors.decode()
    left = tl.Engine.open(place.folder / "state")
    last, seen = place.run(spark)
    outcome(place)
    assert last.version == before.version + 1
    assert [rule for rule in last.rules if "loop" in rule or "tr:" in rule] == ["loop(x) :- path(x, x)."]
    return left.version - before.version, len(seen.of("rules"))


def test_a_kill_between_a_rule_change_and_its_commit(spark, tmp_path):
    """What the file said is stored with the version: killed before, the change comes once more, killed after, not."""
    assert killed_at_a_rule_change(spark, tmp_path / "p", "rules-applied") == (0, 1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "versions"),
    [("outbox-written", 0), ("files-written", 0), ("committed", 1), ("version-saved", 1), ("version-published", 1)],
)
def test_a_kill_at_every_place_of_a_rule_change(spark, tmp_path, name, versions):
    """The version before, and the change comes once more; or the version after, and it does not."""
    assert killed_at_a_rule_change(spark, tmp_path / "p", name) == (versions, 1 - versions)


@pytest.mark.long
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("name", [*FAILPOINTS, *failpoints.FAILPOINTS[:5]])
def test_a_kill_at_every_place(spark, tmp_path, undisturbed, name, times):
    """Every step between two durable effects, at the first version and at a later one."""
    killed_and_restarted(spark, tmp_path / "p", undisturbed, f"{name}:{times}")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_kills_at_random_moments(spark, tmp_path, undisturbed, seed):
    """Three kills, wherever they fall; the fourth start runs to its end."""
    place = prepared(tmp_path / "p")
    moments = random.Random(seed)
    for _ in range(3):
        process = start(place)
        try:
            process.wait(timeout=moments.uniform(8, 40))
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
        time.sleep(0.5)
    place.run(spark)
    assert outcome(place) == undisturbed
