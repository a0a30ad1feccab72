"""Poison: an update that cannot be applied is one line's business. Figure 19 of the guarantees.

Taught by streams that a single line stopped for ever, even with `on_bad = "reject"`: the line was found good by itself,
and only the update that it was netted into was refused. The naive twin applies line by line, and is always right.
"""

import random
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tidelog as tl
from tests.pipeline.places import RULES, Place, facts, summed
from tests.pipeline.poison import AFTER, ENDLESS, GOOD, KINDS, LIMITS, engine, one_by_one, read, stream
from tidelog.changes.update import read_update
from tidelog.errors import PipelineError
from tidelog.pipeline.follow.settling import merged, settle, settle_together
from tidelog.pipeline.follow.updates import Part
from tidelog.pipeline.sources.rejects import readable
from tidelog.state.reading import read_versions


def settled(lines, cuts=()):
    """The lines in parts, as `on_bad = "reject"` settles them."""
    found, rejects, changes = engine(), [], []
    bounds = [0, *cuts, len(lines)]
    for start, end in pairwise(bounds):
        part = settle(found, read(lines)[start:end], stops=False)
        assert part.done == end - start
        rejects += part.rejects
        changes += part.changes
    assert [version for version, _, _ in changes] == list(range(2, 2 + len(changes)))
    found.verify()
    return found, [reject.line for reject in rejects], sum(count for _, _, count in changes)


def met(lines, cuts, limits):
    """The lines in parts that are submitted together, as `latest` settles them."""
    found, rejects, changes, at = engine(limits), [], [], 0
    parts = [Part(tuple(read(lines)[start:end])) for start, end in pairwise([0, *cuts, len(lines)])]
    while at < len(parts):
        settled, _ = settle_together(found, parts[at:], stops=False)
        at += max(1, len(settled))
        settled = settled or [settle(found, parts[at - 1].lines, stops=False)]
        assert sum(one.done for one in settled) == sum(len(part.lines) for part in parts[at - len(settled) : at])
        rejects += [reject for one in settled for reject in one.rejects]
        changes += merged(settled).changes
    assert [version for version, _, _ in changes] == list(range(2, 2 + len(changes)))
    assert found.version == 1 + len(changes)
    found.verify()
    return found, [reject.line for reject in rejects], sum(count for _, _, count in changes)


def same(found, expected):
    return facts(found) == facts(expected) and found.rules == expected.rules


def agrees(lines, cuts=()):
    """Both ways come to the same."""
    expected, refused = one_by_one(lines)
    found, rejected, applied = settled(lines, cuts)
    assert rejected == refused
    assert applied == len(lines) - len(refused)
    assert same(found, expected)
    return refused


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_in_every_place(kind):
    """First, in the middle, last, alone, twice: that line is the reject, and all others are applied."""
    for at in range(len(GOOD) + 1):
        lines = [*GOOD[:at], KINDS[kind], *GOOD[at:]]
        assert agrees(lines) == [at + 1]
    assert agrees([KINDS[kind]]) == [1]
    assert agrees([KINDS[kind], GOOD[0], KINDS[kind]]) == [1, 3]


@pytest.mark.parametrize("limits", [LIMITS, tl.Limits(rounds=60)], ids=["facts", "rounds"])
@pytest.mark.parametrize("seed", range(30))
def test_parts_that_are_submitted_together(seed, limits):
    """Random micro-batches in random parts: facts, rules, rejects and counted lines are those of line by line.

    With a limit of facts no versions are shared; with one of rounds they are, and the poison is found late.
    """
    draw, lines = random.Random(seed), stream(seed, 24)
    if limits.facts is None:
        lines = [ENDLESS if line == KINDS["budget"] else line for line in lines]
        lines.insert(draw.randrange(len(lines)), ENDLESS)
    cuts = sorted(draw.sample(range(len(lines) + 1), draw.randrange(8)))
    expected, refused = one_by_one(lines, limits)
    found, rejected, applied = met(lines, cuts, limits)
    assert (rejected, applied) == (refused, len(lines) - len(refused))
    assert same(found, expected)


def test_parts_that_take_each_other_back_cost_nothing():
    """Opposites in later parts cancel before anything is derived: one version, in which nothing has changed."""
    there, gone = '{"insert": [["edge", "c", "d"]]}', '{"delete": [["edge", "c", "d"]]}'
    found = engine(tl.Limits())
    parts = [Part(tuple(read([text]))) for text in (there, gone, there, gone)]
    settled, is_refused = settle_together(found, parts, stops=False)
    assert not is_refused
    [(version, change, lines)] = merged(settled).changes
    assert (len(settled), version, lines, change.updates) == (4, 2, 4, 4)
    assert (change.inserted.total, change.deleted.total, change.stats.derivations) == (0, 0, {})


def test_a_part_that_fails_late_fails_alone():
    """Those before it are visible, those after it wait for what becomes of its lines, which are settled in place."""
    found = engine(tl.Limits(rounds=60))
    texts = [GOOD[0], ENDLESS, '{"delete": [["edge", "c", "d"]]}', '{"insert": [["edge", "e", "f"]]}']
    parts = [Part(tuple(read([text]))) for text in texts]
    settled, is_refused = settle_together(found, parts, stops=False)
    assert (len(settled), is_refused) == (1, True)
    assert ("c", "d") in found["edge"]
    alone = settle(found, parts[1].lines, stops=False)
    assert (len(alone.rejects), alone.changes) == (1, [])
    assert len(settle_together(found, parts[2:], stops=False)[0]) == 2
    assert ("c", "d") not in found["edge"]
    assert found.version == 3
    found.verify()


def test_nobody_is_in_line_any_more_when_a_part_was_refused():
    """The rules of parts behind it were in force for its lines when these were tried again: good ones were rejected."""
    texts = [ENDLESS, *(f'{{"add_rules": "after{at}(x) :- edge(x, _)."}}' for at in range(9))]
    parts = [Part(tuple(read([text]))) for text in texts]
    for _ in range(10):
        found = engine(tl.Limits(rounds=60))
        assert settle_together(found, parts, stops=False) == ([], True)
        assert not found._worker.line.open


def test_one_number_of_a_declared_float_is_taken_back_however_it_is_written():
    """Taught by 9 and 9.0, which were two values while lines of one part were netted."""
    found = tl.Engine(".decl p(x: float)\nq(x) :- p(x).")
    lines = read(['{"insert": [["p", 9]]}', '{"delete": [["p", 9.0]]}'])
    settle(found, lines, stops=False)
    assert set(found["q"]) == set()


@pytest.mark.parametrize("kind", AFTER)
def test_lines_that_the_line_before_makes_bad(kind):
    """In one part or in two: the second is the reject, and by itself it might have been fine."""
    for at in (0, 3, len(GOOD)):
        lines = [*GOOD[:at], *AFTER[kind], *GOOD[at:]]
        assert agrees(lines) == [at + 2]
        assert agrees(lines, [at + 1]) == [at + 2]


def test_what_fits_after_the_lines_before_it_is_applied():
    """A relation that is emptied takes other columns in the same file, and so does a rule's head."""
    lines = [
        '{"delete": [["free", 1]]}',
        '{"insert": [["free", 1, 2]]}',
        '{"add_rules": "own: own(x, x) :- edge(x, _)."}',
        '{"remove_rules": ["own"]}',
        '{"add_rules": "own: own(x) :- edge(x, _)."}',
    ]
    assert agrees(lines) == []


def test_lines_that_go_together_are_one_version():
    """Bad lines between them cost none: what is known to be bad is left out before."""
    static = [kind for kind in KINDS if kind != "budget"]
    found = engine()
    part = settle(found, read([GOOD[0], *(KINDS[kind] for kind in static), GOOD[1]]), stops=False)
    assert (len(part.changes), len(part.rejects), found.version) == (1, len(static), 2)


@pytest.mark.parametrize("kind", [*KINDS, *AFTER])
def test_fail_stops_in_front_of_it(kind):
    """What was before it is applied, it and what follows is not; without the line the rest follows."""
    poison = [KINDS[kind]] if kind in KINDS else list(AFTER[kind])
    lines = [*GOOD[:3], *poison, *GOOD[3:]]
    bad = 3 + len(poison)
    found = engine()
    part = settle(found, read(lines), stops=True)
    assert ([reject.line for reject in part.rejects], part.done) == ([bad], bad - 1)
    expected, refused = one_by_one(lines[: bad - 1])
    assert (refused, same(found, expected)) == ([], True)
    rest = settle(found, read([*lines[: bad - 1], *lines[bad:]])[part.done :], stops=True)
    assert (rest.rejects, rest.done) == ([], len(lines) - bad)
    assert same(found, one_by_one(lines)[0])


def whole_stream(seed):
    """A random stream in random parts, both ways of dealing with bad lines; how many lines and rejects it had.

    Whether a line is too much for a budget depends on what is applied together with it, so a stream with such a line is
    applied line by line.
    """
    lines, draw = stream(seed), random.Random(seed)
    cuts = sorted(draw.sample(range(1, len(lines)), draw.randint(0, 3)))
    length = 1 if KINDS["budget"] in lines else len(lines)
    refused = agrees(lines, range(1, len(lines)) if length == 1 else cuts)
    found, at, stops = engine(), 0, []
    while at < len(lines):
        part = settle(found, read(lines)[at : at + length], stops=True)
        at += part.done
        if part.rejects:
            stops.append(part.rejects[0].line)
            assert part.rejects[0].line == at + 1
            at += 1
    assert stops == refused
    assert same(found, one_by_one(lines)[0])
    return len(lines), len(refused)


@pytest.mark.parametrize("seed", range(12))
def test_random_streams(seed):
    """Lines of every kind in random parts."""
    whole_stream(seed)


@pytest.mark.long
def test_random_streams_long():
    """Five hundred of them; `python -m tests.records poison` leaves a record."""
    lines, rejects = (sum(column) for column in zip(*(whole_stream(seed) for seed in range(1_000, 1_500))))
    assert 0.1 < rejects / lines < 0.6


def poisoned(place):
    """Files that begin, go on and end with lines of every kind; the numbers of the bad ones by file."""
    expected = {}
    for number, good in enumerate(GOOD[:2]):
        bad = [kind if isinstance(kind, bytes) else kind.encode() for kind in KINDS.values()]
        lines = [*bad[:5], good.encode(), *bad[5:], good.encode(), bad[0]]
        name = f"{number}.jsonl"
        (place.folder / "updates" / name).write_bytes(b"\n".join(lines) + b"\n")
        expected[name] = [at for at, line in enumerate(lines, 1) if line != good.encode()]
    return expected


def test_the_stream_goes_on_and_the_rejects_are_whole(spark, tmp_path):
    """Every kind, through Spark: file, line, text and reason in the rejects; everything else in state and feed."""
    place = Place(tmp_path / "p", on_bad="reject")
    text = (place.folder / "pipeline.toml").read_text().replace("[spark]", "[engine.limits]\nfacts = 5000\n[spark]")
    place.write("pipeline.toml", text)
    place.write("rules.dl", (place.folder / "rules.dl").read_text() + "free(1).\n")
    expected = poisoned(place)
    last, seen = place.run(spark)
    assert [told["updates"] for told in seen.of("batch")] == [1, 1, 1, 1]  # each file is split at the line over budget
    assert {("c", "d"), ("d", "a")} <= set(last["path"])
    found = {}
    for row in place.rejects():
        assert row["reason"]
        found.setdefault(Path(row["file"]).name, []).append(row["line"])
        line = (place.folder / "updates" / Path(row["file"]).name).read_bytes().split(b"\n")[row["line"] - 1]
        assert row["text"] == line.decode(errors="backslashreplace")
    assert found == expected
    assert summed(place.feed()) == facts(last) == facts(tl.Engine.open(place.folder / "state"))
    assert summed(place.feed()) == facts(place.run(spark)[0])


@pytest.mark.parametrize("seed", range(2))
def test_random_micro_batches_with_latest(spark, tmp_path, seed):
    """Through Spark: files that share versions, with poison among them; versions record the range that they hold."""
    place = Place(tmp_path / "p", on_bad="reject", updates="latest = true")
    limits = "[engine.limits]\nrounds = 60\n[spark]"
    place.write("pipeline.toml", (place.folder / "pipeline.toml").read_text().replace("[spark]", limits))
    draw = random.Random(seed)
    files = [
        [ENDLESS if line == KINDS["budget"] else line for line in stream(10 * seed + at, draw.randint(1, 6))]
        for at in range(8)
    ]
    files[draw.randrange(8)].append(ENDLESS)
    for number, lines in enumerate(files):
        data = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
        (place.folder / f"updates/{number}.jsonl").write_bytes(data)
    last, seen = place.run(spark)
    expected, refused = tl.Engine(RULES, limits=tl.Limits(rounds=60)), []
    expected.apply(insert={"edge": [("a", "b"), ("b", "c")]})
    for number, lines in enumerate(files):
        for at, line in enumerate(lines, 1):
            try:
                expected.apply_update(read_update(line if isinstance(line, bytes) else line.encode()))
            except tl.TidelogError:
                refused.append((f"{number}.jsonl", at))
    assert same(last, expected)
    assert sorted((Path(row["file"]).name, row["line"]) for row in place.rejects()) == refused
    assert sum(told["updates"] for told in seen.of("batch")) == sum(map(len, files)) - len(refused)
    assert summed(place.feed()) == facts(last) == facts(tl.Engine.open(place.folder / "state"))
    held = [(one.first_batch, one.batch) for one in read_versions(place.folder / "state") if one.source == "stream"]
    assert [first for first, _ in held] == [0, *(end + 1 for _, end in held[:-1])], "no part is missing or twice"
    assert held[-1][1] == 7
    assert len(held) < 8, "some of them share a version"


@pytest.mark.parametrize("latest", ["", "latest = true"])
def test_fail_names_file_and_line_and_keeps_what_was_before(spark, tmp_path, latest):
    """The lines before it are stored; the run that follows leaves them out, so that none is applied twice."""
    place = Place(tmp_path / "p", updates=latest)
    before = ['{"remove_rules": ["tr"]}', '{"insert": [["edge", "c", "d"]]}', '{"add_rules": "s(x) :- edge(x, _)."}']
    place.update("1", *before, '{"insert": [["s", "x", "y"]]}', '{"insert": [["edge", "d", "e"]]}')
    for _ in range(2):
        with pytest.raises(PipelineError) as caught:
            place.run(spark)
        problem = caught.value.problems[0]
        assert (problem.code, Path(problem.place.source).name, problem.place.line) == ("E728", "1.jsonl", 4)
        assert "s has 1 columns, not 2" in str(caught.value)
        stored = tl.Engine.open(place.folder / "state")
        assert (stored.version, len(stored["edge"]), len(stored["s"])) == (2, 3, 3)
        assert not any(rule.startswith("tr") for rule in stored.rules)
        assert summed(place.feed()) == facts(stored)
    place.update("1", *before, '{"insert": [["edge", "d", "e"]]}')
    last, _ = place.run(spark)
    assert (last.version, len(last["edge"])) == (3, 4)
    last.verify()
    assert summed(place.feed()) == facts(last) == facts(tl.Engine.open(place.folder / "state"))


@pytest.mark.parametrize("name", ["a b", "a%20b", "a\u2028b", "[x]", "{y,z}", "*", "a\nb", "x\x1b", "a?b#"])
def test_files_of_any_name_are_read_and_named(spark, tmp_path, name):
    """What a file is called is no pattern, no address and no end of a line; its rejects say where they stood."""
    place = Place(tmp_path / "p", on_bad="reject")
    place.update(name, {"insert": [["edge", "c", "d"]]}, "{bad")
    last, _ = place.run(spark)
    assert ("c", "d") in last["edge"]
    assert [readable(row["file"]) for row in place.rejects()] == [str(place.folder / f"updates/{name}.jsonl")]


def test_a_file_that_cannot_be_read_is_named(spark, tmp_path):
    """Spark has no way to a file with a colon; that is said with a code and the file, not with its stack."""
    place = Place(tmp_path / "p", on_bad="reject")
    place.update("a:b", {"insert": [["edge", "c", "d"]]})
    with pytest.raises(PipelineError) as caught:
        place.run(spark)
    assert caught.value.code == "E732"
    assert "a:b.jsonl cannot be read" in str(caught.value)
    assert str(caught.value).count("\n") == 1
    (place.folder / "updates/a:b.jsonl").rename(place.folder / "updates/ab.jsonl")


def test_rows_of_a_table_can_be_poison_too(spark, tmp_path):
    """Rows whose values are no list, no JSON, or too deep; names and numbers that are missing."""
    place = Place(tmp_path / "p", on_bad="reject", updates='format = "parquet"')
    rows = [
        ("insert", "edge", '["c", "d"]'), ("insert", "edge", "5"), ("insert", "edge", '{"a": 1}'),
        (None, "edge", '["x"]'), ("insert", None, '["x", "y"]'), ("insert", "edge", "[" * 100_000),
        ("add_rules", None, "7"), ("insert", "edge", None), ("insert", "", '["x"]'),
        ("insert", "\u2028", '["\\ud800"]'), ("insert", "edge", '["d", "e"]'),
    ]  # fmt: skip
    table = pa.table([list(column) for column in zip(*rows)], names=["op", "relation", "values"])
    pq.write_table(table, place.folder / "updates" / "1.parquet")
    last, _ = place.run(spark)
    assert sorted(row["line"] for row in place.rejects()) == list(range(2, 11))
    assert {("c", "d"), ("d", "e")} <= set(last["edge"])
    assert summed(place.feed()) == facts(last)
