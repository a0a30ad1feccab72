"""Sources of every kind: what is a fact becomes one, what is none becomes a reject with its file, line and reason."""

import gzip
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidelog.backends.spark.files.shared_frames import unpacked
from tidelog.errors import PipelineError
from tidelog.language.parser import parse
from tidelog.pipeline.settings.config import FactSource, Filter
from tidelog.pipeline.sources.extraction import extract
from tidelog.pipeline.sources.rejects import RejectsTable


def rows_of(frame):
    return (tuple(row.values()) for row in frame.toArrow().to_pylist())


def typed_triples(packed):
    """The triples of a packed source as typed texts."""
    for texts, rows in unpacked(packed.frame.toArrow().to_batches()):
        known = texts.to_pylist()
        yield from (tuple(known[number] for number in row) for row in rows.tolist())


@pytest.fixture
def read(spark, tmp_path):
    """Read one source; gives its facts, its types, and its rejects as (line, text, reason)."""

    def reading(source, rules="", on_bad="reject", packs=False):
        shutil.rmtree(tmp_path / "rejects", ignore_errors=True)
        table = RejectsTable(spark, str(tmp_path / "rejects"), on_bad)
        with extract(spark, (source,), parse(rules), table, packs=packs) as found:
            one = found[source.relation]
            facts = sorted(typed_triples(one.facts) if packs else rows_of(one.facts.facts))
            assert len(facts) == one.count
        files = sorted((tmp_path / "rejects").glob("part=*/*.parquet"))
        rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
        assert len(rows) == table.count
        return facts, one.types, sorted((row["line"] or 0, row["text"], row["reason"]) for row in rows)

    return reading


def test_csv_with_every_kind_of_bad_line(read, tmp_path):
    """Quotes, separators and empty fields are read as in changes/files.py; two equal bad lines are two rejects."""
    file = tmp_path / "a file;--.csv"
    good = ["name,n,x", "ann,1,0.5", '"b ""q"", c",2,1e3']
    bad = ["short,1", "ann,one,2", "ann,one,2", ",3,4", "", '"open,1,2', "ann,9223372036854775808,1", "ann,1,nan"]
    file.write_text("\n".join([*good, *bad, good[0]]) + "\n")
    kinds = ("symbol", "number", "float")
    facts, types, rejects = read(FactSource("p", "csv", str(file), types=kinds, options={"header": "true"}))
    assert facts == [("", 3, 4.0), ("ann", 1, 0.5), ('b "q", c', 2, 1000.0)]
    assert types == kinds
    assert [(line, reason) for line, _, reason in rejects] == [
        (4, "the line does not have 3 fields"),
        (5, "n is no number"),
        (6, "n is no number"),
        (9, "a quote is not closed"),
        (10, "n is no number"),
        (11, "x is no float"),
        (12, "the line repeats the header"),
    ]


def test_csv_without_types_columns_by_number_and_filters(read, tmp_path):
    """Types follow the data; the filter sees columns that are not chosen; numbers in text compare as numbers."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "1.csv").write_text("a;1;x\nb;2;y\n")
    (tmp_path / "d" / "2.csv").write_text("c;10;x') DROP\n")
    kept = (Filter("c2", ">=", 2), Filter("c3", "!=", "z"))
    where = {"format": "csv", "path": str(tmp_path / "d"), "options": {"sep": ";"}}
    facts, types, rejects = read(FactSource("p", columns=(2, "c1"), where=kept, **where))
    assert (facts, types, rejects) == ([(2, "b"), (10, "c")], ("number", "symbol"), [])
    quoted = FactSource("p", columns=(3,), where=(Filter("c3", "in", ["x') DROP"]),), **where)
    assert read(quoted)[0] == [("x') DROP",)]


def test_json_lines_keep_kinds_apart(read, tmp_path):
    """`"1"` is no number and `1` is no symbol; nulls, lists, doubled names, surrogates are rejects."""
    good = ['{"a": "x", "b": 1}', '{"b": 2, "a": "1"}', '["y", 3]']
    kinds = ['{"a": 1, "b": 1}', '{"a": "x", "b": "1"}', '{"a": null, "b": 1}', '{"a": "x", "b": 1.0}']
    shapes = ['{"a": "x"}', '{"a": "x", "b": 1, "b": 2}', '{"a": [1], "b": 1}', '{"a": ', '{"a": "\\ud800", "b": 1}']
    (tmp_path / "p.jsonl").write_text("\n".join([*good, *kinds, *shapes]) + "\n\n")
    facts, _, rejects = read(FactSource("p", "jsonl", str(tmp_path / "p.jsonl")), ".decl p(a: symbol, b: number)")
    assert facts == [("1", 2), ("x", 1), ("y", 3)]
    assert [line for line, _, _ in rejects] == [4, 5, 6, 7, 8, 9, 10, 11, 12]
    source = FactSource(
        "p", "jsonl", str(tmp_path / "p.jsonl"), columns=("b",), where=(Filter("a", "=", "1"),), types=("number",)
    )
    assert read(source)[0] == [(2,)]
    with pytest.raises(PipelineError, match="mixes"):
        read(FactSource("p", "jsonl", str(tmp_path / "p.jsonl")))


@pytest.mark.parametrize("packs", [False, True])
def test_triples_are_terms_whatever_the_format(read, tmp_path, packs):
    """N-Triples line by line, Turtle as a whole, zipped or not; what is no statement is rejected with its line.

    A record for each triple, or packed for a graph: the same triples and the same rejects.
    """
    good = [
        "<http://e/a> <http://e/p> <http://e/b> .",
        '<u:a> <u:p> "v\\"1"@en-GB . # remark',
        '<u:a> <u:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .',
        '<u:a> <u:p> "1" .',
    ]
    bad = ["<http://e/a> <http://e/p> <http://e/b>", "<a b> <u:p> <u:c> .", '<u:a> "p" <u:c> .', "a b ."]
    graph = "<u:a> <u:p> <u:c> <u:g> ."
    (tmp_path / "rdf").mkdir()
    (tmp_path / "rdf" / "t.nt").write_text("\n".join(["# all", *good, "", *bad, graph]) + "\n")
    with gzip.open(tmp_path / "rdf" / "more.ttl.gz", "wb") as file:
        file.write(b"@prefix e: <http://e/> . e:x e:p 2.5e0, true ; a e:C .")
    (tmp_path / "rdf" / "bad.ttl").write_text("@prefix e: <http://e/> .\ne:x e:p .\n")
    facts, types, rejects = read(FactSource("t", "rdf", str(tmp_path / "rdf")), packs=packs)
    assert facts == sorted(
        [
            ("t<http://e/a>", "t<http://e/p>", "t<http://e/b>"),
            ("t<u:a>", "t<u:p>", 't"v\\"1"@en-gb'),
            ("t<u:a>", "t<u:p>", "i1"),
            ("t<u:a>", "t<u:p>", "s1"),
            ("t<http://e/x>", "t<http://e/p>", "f4004000000000000"),
            ("t<http://e/x>", "t<http://e/p>", "btrue"),
            ("t<http://e/x>", "t<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "t<http://e/C>"),
        ]
    )
    assert types == ("any",) * 3
    assert [(line, text) for line, text, _ in rejects] == [(2, ""), *enumerate([*bad, graph], 7)]
    assert rejects[-1][2] == "the statement stands in a named graph"
    united = FactSource("t", "rdf", str(tmp_path / "rdf" / "t.nt"), options={"named_graphs": "union"})
    assert ("t<u:a>", "t<u:p>", "t<u:c>") in read(united, packs=packs)[0]


def test_triples_are_filtered_by_what_they_say(read, tmp_path):
    """A filter names an IRI without brackets; columns can be left out; declared types are kept."""
    (tmp_path / "t.nt").write_text('<u:a> <u:p> "1" .\n<u:a> <u:q> <u:b> .\n')
    kept = (Filter("predicate", "=", "u:p"),)
    path = str(tmp_path / "t.nt")
    assert read(FactSource("t", "rdf", path, columns=("object",), where=kept))[0] == [("s1",)]
    assert read(FactSource("t", "rdf", path, where=kept), packs=True)[0] == [("t<u:a>", "t<u:p>", "s1")]
    facts, _, rejects = read(FactSource("t", "rdf", path, columns=("object",), types=("symbol",)))
    assert (facts, [reason for *_, reason in rejects]) == ([("s1",)], ["object is no symbol"])


@pytest.mark.parametrize("packs", [False, True])
def test_blank_nodes_of_two_files_do_not_meet(read, tmp_path, packs):
    """One label in two files is two nodes; in one file, whichever task reads it, one."""
    (tmp_path / "b").mkdir()
    for name in ("1.nt", "2.nt"):
        (tmp_path / "b" / name).write_text("_:x <u:p> <u:a> .\n_:x <u:q> <u:a> .\n")
    facts = read(FactSource("t", "rdf", str(tmp_path / "b")), packs=packs)[0]
    assert len({subject for subject, _, _ in facts}) == 2
    assert len(facts) == 4


def test_text_and_parquet(read, tmp_path):
    """A line of text is a fact with one value; a Parquet table brings its types, and its nulls are rejects."""
    (tmp_path / "w.txt").write_text("one\ntwo words\n")
    assert read(FactSource("w", "text", str(tmp_path / "w.txt")))[0] == [("one",), ("two words",)]
    table = pa.table(
        {"a": pa.array([1, 2, None], pa.int32()), "odd `name.": ["x", "y", "z"], "d": pa.array([0, 1, 2], pa.date32())}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    facts, types, rejects = read(FactSource("q", "parquet", str(tmp_path / "t.parquet"), columns=("odd `name.", "a")))
    assert (facts, types) == ([("x", 1), ("y", 2)], ("symbol", "number"))
    assert [reason for _, _, reason in rejects] == ["a has no value"]
    with pytest.raises(PipelineError, match="has the type date"):
        read(FactSource("r", "parquet", str(tmp_path / "t.parquet"), columns=("d",)))
    dates = FactSource("r", "parquet", str(tmp_path / "t.parquet"), columns=("d",), types=("symbol",))
    assert read(dates)[0][0] == ("1970-01-01",)


@pytest.mark.parametrize(
    ("form", "good"), [("csv", b"a"), ("text", b"a"), ("jsonl", b'{"x": "a"}'), ("rdf", b"<u:a> <u:b> <u:c> .")]
)
def test_a_line_that_is_not_utf8_is_a_bad_record(read, tmp_path, form, good):
    """Spark takes its bytes as they are, and what decodes them later fails; here it is one reject."""
    (tmp_path / "data").write_bytes(good + b"\n" + good.replace(b"a", b"\xff\xfe") + b"\n" + good + b"\n")
    facts, _, rejects = read(FactSource("p", form, str(tmp_path / "data")))
    assert len(facts) == 2
    assert [(line, reason) for line, _, reason in rejects] == [(2, "the line is not UTF-8")]


def test_a_bad_record_can_be_a_failure(read, tmp_path):
    """With `on_bad = "fail"` the error names file and line, and nothing is written."""
    (tmp_path / "n.csv").write_text("1\nx\n")
    with pytest.raises(PipelineError) as caught:
        read(FactSource("n", "csv", str(tmp_path / "n.csv"), types=("number",)), on_bad="fail")
    assert (caught.value.code, caught.value.problems[0].place.line) == ("E728", 2)
    assert not (tmp_path / "rejects").exists()


def test_what_cannot_be_read_is_said_in_one_line(read, tmp_path):
    """An unknown format, an unknown column, a wrong number of columns: errors of the pipeline, not of Spark."""
    (tmp_path / "n.csv").write_text("1,2\n")
    for source, code in (
        (FactSource("n", "nonsense"), "E726"),
        (FactSource("n", "csv", str(tmp_path / "n.csv"), columns=("z",)), "E727"),
        (FactSource("n", "csv", str(tmp_path / "n.csv"), types=("number",)), "E727"),
    ):
        with pytest.raises(PipelineError) as caught:
            read(source)
        assert caught.value.code == code
        assert len(str(caught.value).splitlines()) <= 3


def test_whole_numbers_beyond_64_bits_are_not_rounded(read, tmp_path):
    """Two card numbers became one float, and `1` in their column 1.0; with a type they are what it says."""
    (tmp_path / "card.csv").write_text("1,a\n89014103211118510720,b\n89014103211118510721,c\n")
    source = FactSource("card", "csv", str(tmp_path / "card.csv"))
    with pytest.raises(PipelineError, match=r"E727.*89014103211118510720") as caught:
        read(source)
    assert "symbol" in str(caught.value)
    facts, _, rejects = read(replace(source, types=("symbol", "symbol")))
    assert (len(facts), rejects) == (3, [])
    assert len(read(replace(source, types=("float", "symbol")))[0]) == 3
