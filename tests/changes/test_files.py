"""Facts in files: types by declaration or by looks, everything that is written reads back, bad lines are named."""

import bz2
import gzip
import lzma

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tidelog as tl
from tidelog.changes.fact_sources import to_table
from tidelog.changes.files import find_file, read_facts, read_file, write_facts, write_file
from tidelog.errors import UpdateError
from tidelog.language.values import INT_MAX, INT_MIN, fact_identity

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
finite = st.floats(allow_nan=False, allow_infinity=False)
TYPES = ["symbol", "number", "float", "bool"]
rows = st.lists(st.tuples(text, st.integers(INT_MIN, INT_MAX), finite, st.booleans()), max_size=10)


def identities(facts):
    return [fact_identity(fact) for fact in facts]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("header", [False, True])
@settings(max_examples=40, deadline=None)
@given(facts=rows)
def test_what_is_written_reads_back(tmp_path_factory, ending, header, facts):
    """Quotes, commas, new lines, empty strings, NULs and the extremes of numbers survive a file."""
    path = tmp_path_factory.mktemp("facts") / f"p{ending}"
    write_file(path, to_table(facts, "p", 4), header=header)
    assert identities(read_file(path, "p", TYPES, header=header)) == identities(facts)
    assert [found.name for found in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".facts", ".tsv"])
@settings(max_examples=40, deadline=None)
@given(facts=st.lists(st.tuples(text.filter(lambda text: not set(text) & set("\t\r\n")), finite), max_size=10))
def test_tabs_separate_without_quotes(tmp_path_factory, ending, facts):
    """Souffle's format has no quotes: they are ordinary characters."""
    path = tmp_path_factory.mktemp("facts") / f"p{ending}"
    write_file(path, to_table(facts, "p", 2))
    assert identities(read_file(path, "p", ["symbol", "float"])) == identities(facts)


@given(facts=st.lists(st.tuples(text | st.integers(0, 3) | st.booleans()), max_size=10))
@settings(max_examples=40, deadline=None)
def test_json_lines_keep_mixed_types(tmp_path_factory, facts):
    """1, true and "1" in one column stay three constants."""
    path = tmp_path_factory.mktemp("facts") / "p.jsonl"
    write_file(path, to_table(facts, "p", 1))
    assert identities(read_file(path, "p")) == identities(facts)


def test_types_by_looks(tmp_path):
    """Without a declaration a column is integers, else floats, else strings; dates, `nan` and `true` are strings."""
    path = tmp_path / "p.csv"
    path.write_text("1,1,2020-01-01,nan,true,\n2,2.5,2020-01-02,inf,false,\n")
    assert list(read_file(path, "p")) == [
        (1, 1.0, "2020-01-01", "nan", "true", ""),
        (2, 2.5, "2020-01-02", "inf", "false", ""),
    ]


def test_whole_floats_still_look_like_floats(tmp_path):
    """1.0 must not be written as 1, which reads back as another constant."""
    facts = [(1.0,), (-3.0,), (1e300,), (0.0,)]
    for ending in (".csv", ".facts"):
        path = write_file(tmp_path / f"p{ending}", to_table(facts, "p"))
        assert identities(read_file(path, "p")) == identities(facts)
    path = write_file(tmp_path / "whole.csv", to_table(facts[:2], "p"))
    assert identities(read_file(path, "p")) == identities(facts[:2])


def test_declarations_win_over_looks(tmp_path):
    """`007` declared a symbol keeps its zeros, a number declared float is one; `any` looks."""
    (tmp_path / "p.facts").write_text("007\t1\t1\n")
    assert identities(read_file(tmp_path / "p.facts", "p", ["symbol", "float", "any"])) == [("007", ("float", 1.0), 1)]


def test_a_directory_of_relations(tmp_path):
    """Relations without a file are left out; the ending says the format."""
    (tmp_path / "edge.facts").write_text("a\tb\nb\tc\n")
    (tmp_path / "node.jsonl").write_text('["a"]\n\n{"x": "b"}\n')
    (tmp_path / "holds.facts").write_text("()\n")
    (tmp_path / "fails.facts").write_text("")
    (tmp_path / "empty.csv").write_text("")
    relations = {"edge": None, "node": ["symbol"], "holds": [], "fails": [], "empty": None, "missing": None}
    found = read_facts(tmp_path, relations)
    assert list(found["edge"]) == [("a", "b"), ("b", "c")]
    assert list(found["node"]) == [("a",), ("b",)]
    assert [len(found[name]) for name in ("holds", "fails", "empty")] == [1, 0, 0]
    assert "missing" not in found


def test_relations_without_columns_are_written(tmp_path):
    """The fact of a relation without columns is a line of its own."""
    for ending in (".facts", ".csv", ".jsonl"):
        write_facts(tmp_path, {"holds": to_table([()], "holds", 0)}, ending)
        assert len(read_file(tmp_path / f"holds{ending}", "holds", [])) == 1


def test_an_empty_line_is_an_empty_symbol(tmp_path):
    """In a single column of symbols an empty line is a fact; in other files it says nothing."""
    (tmp_path / "p.facts").write_text("a\n\nb\n")
    assert list(read_file(tmp_path / "p.facts", "p", ["symbol"])) == [("a",), ("",), ("b",)]
    (tmp_path / "q.facts").write_text("1\n\n2\n")
    assert list(read_file(tmp_path / "q.facts", "q")) == [(1,), (2,)]


@pytest.mark.parametrize(
    ("name", "content", "types", "code", "place"),
    [
        ("p.facts", "a\tb\na\tb\tc\n", None, "E306", "p.facts:2:1"),
        ("p.csv", 'a,"b\nb"\na\n', None, "E306", "p.csv:3:1"),
        ("p.csv", "x,y\na,1\n\na,b\n", ["symbol", "number"], "E306", "p.csv:4:1"),
        ("p.csv", "h,h\na,99999999999999999999\n", ["symbol", "number"], "E306", "p.csv:2:1"),
        ("p.facts", "a\n", ["symbol", "symbol"], "E306", "p.facts:1:1"),
        ("p.jsonl", '["a", 1]\n["a"\n', None, "E306", "p.jsonl:2:1"),
        ("p.jsonl", '["a", 1]\n\n7\n', None, "E306", "p.jsonl:3:1"),
        ("p.jsonl", '["a", 1]\n["a"]\n', None, "E301", "p.jsonl:2:1"),
        ("p.jsonl", '["a", 1]\n["a", null]\n', None, "E302", "p.jsonl:2:1"),
        ("p.jsonl", '["a", NaN]\n', None, "E304", "p.jsonl:1:1"),
        ("p.jsonl", '["a", 1]\n' + "[" * 100_000, None, "E306", "p.jsonl:2:1"),
    ],
)
def test_bad_lines_are_named(tmp_path, name, content, types, code, place):
    """File, line and remedy; the place counts lines of the file, not facts."""
    (tmp_path / name).write_text(content)
    with pytest.raises(UpdateError) as caught:
        read_file(tmp_path / name, "p", types, header=content[0] in "xh")
    assert caught.value.code == code
    assert str(caught.value.problems[0].place).endswith(place)
    assert caught.value.problems[0].remedy


def test_values_that_fit_no_range_are_refused(tmp_path):
    """`nan` declared a float is no constant, and neither is an unsigned beyond 63 bits."""
    (tmp_path / "p.csv").write_text("1.0,1\nnan,2\n")
    with pytest.raises(UpdateError, match="column 1 of p, row 2"):
        read_file(tmp_path / "p.csv", "p", ["float", "number"])
    (tmp_path / "q.csv").write_text("18446744073709551615\n")
    with pytest.raises(UpdateError, match="beyond 64 bits"):
        read_file(tmp_path / "q.csv", "q", ["unsigned"])


def test_broken_encodings_are_refused(tmp_path):
    """Bytes that are not UTF-8 are no text."""
    (tmp_path / "p.csv").write_bytes(b"a,\xff\xfe\n")
    with pytest.raises(UpdateError, match="encoding"):
        read_file(tmp_path / "p.csv", "p")
    (tmp_path / "p.jsonl").write_bytes(b'["a"]\n["\xff"]\n')
    with pytest.raises(UpdateError, match=r"p\.jsonl:2"):
        read_file(tmp_path / "p.jsonl", "p")


def test_files_that_cannot_be(tmp_path):
    """A missing file, an unknown ending, a damaged file, two files for one relation."""
    for name in ("p.facts", "p.csv", "p.xyz"):
        (tmp_path / name).write_text("a\n")
    (tmp_path / "q.parquet").write_text("this is not Parquet")
    for path, relation, code in (("p.xyz", "p", "E307"), ("r.csv", "r", "E307"), ("q.parquet", "q", "E306")):
        with pytest.raises(UpdateError) as caught:
            read_file(tmp_path / path, relation)
        assert caught.value.code == code
    with pytest.raises(UpdateError, match=r"p\.facts and p\.csv"):
        find_file(tmp_path, "p")


@pytest.mark.parametrize("name", ["../p", "/etc/passwd", "a/b", "..", "", "a\0b"])
def test_names_never_leave_the_directory(tmp_path, name):
    """A relation's name is data; it must not become a path."""
    with pytest.raises(UpdateError, match="cannot be the name of a file"):
        find_file(tmp_path, name)
    with pytest.raises(UpdateError, match="cannot be the name of a file"):
        write_facts(tmp_path / "out", {name: to_table([(1,)], "p")})


def test_what_a_format_cannot_hold_is_refused(tmp_path):
    """A tab in a `.tsv`, mixed types in Parquet: refused, and the old file is still there."""
    write_file(tmp_path / "p.tsv", pa.table({"x": ["old"]}))
    with pytest.raises(UpdateError) as caught:
        write_file(tmp_path / "p.tsv", pa.table({"x": ["a\tb"]}))
    assert caught.value.code == "E308"
    assert (tmp_path / "p.tsv").read_text() == "old\n"
    with pytest.raises(UpdateError) as caught:
        write_file(tmp_path / "p.parquet", to_table([(1,), ("1",)], "p"))
    assert caught.value.code == "E308"
    assert [path.name for path in tmp_path.iterdir()] == ["p.tsv"]


def test_other_delimiters(tmp_path):
    """A delimiter given by hand reads any ending."""
    (tmp_path / "p.txt").write_text("a|1\nb|2\n")
    assert list(read_file(tmp_path / "p.txt", "p", delimiter="|")) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst", ".lz4"])
@pytest.mark.parametrize("form", [".csv", ".facts", ".jsonl"])
@pytest.mark.parametrize("damage", ["cut", "other"])
def test_a_damaged_packed_file_is_refused(tmp_path, ending, form, damage):
    """Of .bz2 and .zst it was a raw OSError, on the command line a fault of ours."""
    lines = "".join(f"[{number}, 1]\n" if form == ".jsonl" else f"{number},1\n" for number in range(20_000)).encode()
    path = tmp_path / f"p{form}{ending}"
    if ending in (".zst", ".lz4"):
        with pa.CompressedOutputStream(str(path), {".zst": "zstd", ".lz4": "lz4"}[ending]) as stream:
            stream.write(lines)
    else:
        path.write_bytes({".gz": gzip, ".bz2": bz2, ".xz": lzma}[ending].compress(lines))
    read_file(path, "p")
    data = path.read_bytes()
    path.write_bytes({"cut": data[: len(data) // 2], "other": lines}[damage])
    with pytest.raises(UpdateError) as caught:
        read_file(path, "p")
    assert caught.value.code == "E306"
    assert path.name in str(caught.value)


@pytest.mark.parametrize("ending", [".csv.zst", ".csv.bz2"])
def test_a_packed_file_with_a_bad_line_names_the_line(tmp_path, ending):
    """It is not said to be damaged: it can be unpacked, and what is wrong is the text in it."""
    path = tmp_path / f"p{ending}"
    if ending == ".csv.zst":
        with pa.CompressedOutputStream(str(path), "zstd") as stream:
            stream.write(b"1,2\n3\n")
    else:
        path.write_bytes(bz2.compress(b"1,2\n3\n"))
    with pytest.raises(UpdateError, match=r"E306.*the line has 1"):
        read_file(path, "p")


def test_a_file_name_that_is_none_is_told(tmp_path):
    """Names that the system does not take were raw errors; a folder was said not to exist."""
    for name, reason in (("n" * 300, "too long"), ("a\0b", "null"), ("", "is a folder"), ("nowhere", "does not exist")):
        with pytest.raises(UpdateError, match=reason) as caught:
            read_file(tmp_path / name, "p")
        assert caught.value.code == "E307"
    with pytest.raises(UpdateError, match="E307"):
        list(tl.read_updates(tmp_path / ("n" * 300)))
    assert read_facts(tmp_path / ("n" * 300), {"p": None}) == {}


@pytest.mark.parametrize("ending", [".csv", ".facts", ".csv.gz"])
def test_whole_numbers_beyond_64_bits_are_not_rounded(tmp_path, ending):
    """Two card numbers became one float, and every other number of their column a float, without a word."""
    path = tmp_path / f"p{ending}"
    lines = b"1\n\n89014103211118510720\n89014103211118510721\n"
    path.write_bytes(gzip.compress(lines) if ending.endswith(".gz") else lines)
    with pytest.raises(UpdateError) as caught:
        read_file(path, "p")
    [problem] = caught.value.problems
    assert (problem.code, problem.place.line) == ("E304", 3)
    assert "89014103211118510720" in problem.sentence
    assert "symbol" in problem.remedy
    assert {("89014103211118510720",), ("89014103211118510721",)} < set(read_file(path, "p", ["symbol"]))
    assert next(iter(read_file(path, "p", ["float"]))) == (1.0,)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("1\n2.5\n9223372036854775807\n", [1.0, 2.5, 9.223372036854775807e18]),
        ("1\n1e300\n-7\n", [1.0, 1e300, -7.0]),
        ("abc\n89014103211118510720\n", ["abc", "89014103211118510720"]),
        ("-9223372036854775808\n9223372036854775807\n", [-(2**63), 2**63 - 1]),
        ("89014103211118510720.5\n", [8.901410321111851e19]),
    ],
)
def test_other_columns_are_what_they_look_like(tmp_path, lines, wanted):
    """Floats among whole numbers of 64 bits, texts among digits: as ever."""
    (tmp_path / "p.csv").write_text(lines)
    assert identities(read_file(tmp_path / "p.csv", "p")) == identities((value,) for value in wanted)
