"""A pipeline file is checked before anything starts: every mistake, each with its line and a way out."""

import pytest

from tests.pipeline.places import Place
from tidelog.analysis.arities import arities
from tidelog.errors import PipelineError
from tidelog.pipeline.settings.config import Always, Filter, RowColumns, read_pipeline
from tidelog.pipeline.settings.rule_files import read_programs, strangers
from tidelog.pipeline.settings.toml_places import Places

GOOD = """program = "rules.dl"
state = "state"

[sources.edge]
format = "csv"
path = "edge.csv"
where = [{ column = "c1", op = "in", value = ["a", "b"] }]
options = { header = true, samplingRatio = 2 }

[updates]
path = "updates"

[[sinks]]
format = "console"

[[sinks]]
what = "relations"
format = "parquet"
path = "s3a://bucket/out"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rules.dl").write_text("p(x) :- edge(x, _).")
    (tmp_path / "edge.csv").write_text("a,b\n")
    return tmp_path


def problems(folder, text):
    file = folder / "pipeline.toml"
    file.write_text(text)
    with pytest.raises(PipelineError) as caught:
        read_pipeline(file)
    return [(p.code, p.place.line if p.place else None, p.sentence, p.remedy) for p in caught.value.problems]


def test_a_good_file_becomes_a_pipeline(folder):
    """Paths are resolved against the file, addresses are left alone, options become text."""
    (folder / "pipeline.toml").write_text(GOOD)
    pipeline = read_pipeline(folder / "pipeline.toml")
    (source,) = pipeline.sources
    assert source.path == str(folder / "edge.csv")
    assert source.options == {"header": "true", "samplingRatio": "2"}
    assert source.where == (Filter("c1", "in", ["a", "b"]),)
    assert pipeline.sinks[1].path == "s3a://bucket/out"
    (folder / "pipeline.toml").write_text(
        GOOD.replace("s3a://bucket/out", f'{folder.as_uri()}"\nkeep = "3').replace('"3"', "3")
    )
    assert read_pipeline(folder / "pipeline.toml").sinks[1].keep == 3
    assert (pipeline.on_bad, pipeline.strategy, pipeline.backend) == ("fail", "auto", "auto")


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "words"),
    [
        ('format = "csv"', 'fromat = "csv"', "E721", 5, "did you mean format?"),
        ('state = "state"', "state = 3", "E722", 2, "write a text"),
        ('state = "state"', "", "E723", 1, "add state"),
        ('program = "rules.dl"', 'program = "rulez.dl"', "E724", 1, "check the path"),
        ('path = "edge.csv"', 'path = "nowhere/*.csv"', "E724", 6, "check it"),
        ('op = "in"', 'op = "matches"', "E725", 7, "use one of"),
        ('what = "relations"', 'what = "relation"', "E725", 17, "did you mean relations?"),
        ('format = "console"', 'format = "csv"', "E723", 13, "name a folder"),
        ('path = "s3a://bucket/out"', 'path = "s3a://bucket/out"\nkeep = 3', "E725", 20, "life-cycle rules"),
        ('path = "s3a://bucket/out"', 'path = "hdfs:/out"\nkeep = 3', "E725", 20, "leave it out"),
        ('path = "s3a://bucket/out"', "keep = 3", "E725", 19, "leave it out"),
        ('format = "console"', 'format = "jdbc"', "E723", 13, "give both"),
        ('[updates]\npath = "updates"', "[updates]\nevery = -1", "E723", 10, "name the folder"),
        ('[updates]\npath = "updates"', '[updates]\npath = "u"\nlatest = 1', "E722", 12, "true or false"),
        ('[updates]\npath = "updates"', '[engine]\nstrategy = "bff"', "E725", 11, "did you mean bf?"),
        ('[updates]\npath = "updates"', "[engine.limits]\nfacts = 0", "E725", 11, "at least"),
        ('[updates]\npath = "updates"', "[engine]\nlimits = { fatcs = 1 }", "E721", 11, "did you mean facts?"),
        ("[sources.edge]", "[sources]\nother = 1\n[sources.edge]", "E722", 5, "write [sources.other]"),
        ("where = [", "columns = [1.5]\nwhere = [", "E722", 7, "a text or a number"),
        ('state = "state"', 'state = "state', "E720", 2, "correct the line"),
    ],
)
def test_a_mistake_is_reported_with_its_line(folder, old, new, code, line, words):
    """Unknown keys, wrong kinds, missing files and words that are not allowed: each says where and what to do."""
    assert old in GOOD
    found = problems(folder, GOOD.replace(old, new, 1))
    assert any((code, line) == one[:2] and words in one[3] for one in found), found


@pytest.mark.parametrize(
    ("status", "code", "line", "words"),
    [
        ('port = 9464\naddress = "localhost"', "E725", 12, "in numbers"),
        ('port = 9464\naddress = "::1"', "E725", 12, "IPv4"),
        ('address = "0.0.0.0"', "E723", 11, "add port"),
        ("port = 9464\naddress = 1", "E722", 12, "write a text"),
    ],
)
def test_mistakes_in_the_address_of_the_metrics(folder, status, code, line, words):
    """An address is a number, so that nothing has to be looked up; without a port it would serve nothing."""
    found = problems(folder, GOOD.partition("[updates]")[0] + f"[status]\n{status}\n")
    assert any((code, line) == one[:2] and words in one[3] for one in found), found


def test_the_address_of_the_metrics(folder):
    """This machine alone, unless another one is given."""
    for status, address in (("port = 1", "127.0.0.1"), ('port = 1\naddress = "127.0.0.2"', "127.0.0.2")):
        (folder / "pipeline.toml").write_text(GOOD.partition("[updates]")[0] + f"[status]\n{status}\n")
        assert read_pipeline(folder / "pipeline.toml").address == address


COLUMNS = """
[updates]
format = "kafka"
[updates.columns]
op = { always = "insert" }
relation = "topic"
values = ["key", "value"]
types = ["symbol", "number"]
"""


def test_the_columns_of_updates(folder):
    """A column, or a text that every row has; one column of JSON arrays, or a column for each value."""
    rest = GOOD.partition("[updates]")[0]
    (folder / "pipeline.toml").write_text(rest + COLUMNS)
    updates = read_pipeline(folder / "pipeline.toml").updates
    assert updates.columns == RowColumns(Always("insert"), "topic", ("key", "value"), ("symbol", "number"))
    assert updates.columns.names == ("topic", "key", "value")
    (folder / "pipeline.toml").write_text(rest + '[updates]\nformat = "rate"\n[updates.columns]\n'
                                          'op = "o"\nrelation = "r"\nvalues = "v"\n')  # fmt: skip
    assert read_pipeline(folder / "pipeline.toml").updates.columns == RowColumns("o", "r", "v")


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "words"),
    [
        ('op = { always = "insert" }\n', "", "E723", 13, "add op"),
        ('{ always = "insert" }', '{ always = "upsert" }', "E725", 14, "did you mean insert?"),
        ('{ always = "insert" }', '{ constant = "insert" }', "E721", 14, "use one of always"),
        ('{ always = "insert" }', "3", "E722", 14, "a text or a table"),
        ("values =", "valeus =", "E721", 16, "did you mean values?"),
        ('["key", "value"]', '["key", 3]', "E722", 16, "write a text"),
        ('["key", "value"]', '["key"]', "E725", 17, "a type for each value"),
        ('["key", "value"]', '"value"', "E725", 17, "JSON says its own types"),
        ('"number"]', '"numbr"]', "E725", 17, "did you mean number?"),
        ('format = "kafka"', 'format = "kafka"\nline = "value"', "E725", 13, "keep line"),
        ('format = "kafka"', 'path = "u"', "E725", 13, "name the format"),
    ],
)
def test_mistakes_in_the_columns_of_updates(folder, old, new, code, line, words):
    """Each with its line and a way out."""
    assert old in COLUMNS
    found = problems(folder, GOOD.partition("[updates]")[0] + COLUMNS.replace(old, new, 1))
    assert any((code, line) == one[:2] and words in one[3] for one in found), found


def test_all_mistakes_are_reported_together(folder):
    """A file with three mistakes needs one attempt to find them."""
    text = GOOD.replace('format = "csv"', 'fromat = "csv"').replace('state = "state"', "state = true")
    assert [one[0] for one in problems(folder, text)] == ["E722", "E721", "E723"]


def test_a_file_that_is_not_there(tmp_path):
    """The first thing a newcomer types wrong; the remedy names `tidelog init`."""
    with pytest.raises(PipelineError, match="tidelog init") as caught:
        read_pipeline(tmp_path / "none.toml")
    assert caught.value.code == "E720"


def test_places_of_nested_and_quoted_keys():
    """A key that the simple reader cannot see is answered with the table above it, never with nothing."""
    places = Places('[a."b c"]\nx.y = 1\n[[t]]\nk = { inner = 1 }\n[[t]]\nk = 2\n', "f")
    assert places.of("a", "b c", "x", "y").line == 2
    assert places.of("t", 1, "k").line == 6
    assert places.of("t", 0, "k", "inner").line == 4
    assert places.of("unknown").line == 1


def test_strange_relations_are_noted(tmp_path):
    """A sink that waits for a misspelled relation would stay empty without a word."""
    place = Place(tmp_path / "p")
    text = (place.folder / "pipeline.toml").read_text().replace("sources.edge", "sources.shop")
    place.write("pipeline.toml", text.replace('path = "changes"', 'path = "changes"\nrelations = ["pathh", "node"]'))
    known = arities(read_programs([place.folder / "rules.dl"]))
    assert list(strangers(place.pipeline(), known)) == [
        "a source brings shop, which no rule knows",
        "sink 1 wants pathh, which no rule knows; did you mean path?",
    ]
