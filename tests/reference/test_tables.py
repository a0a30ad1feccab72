"""The papers' numbers: what does not depend on the order of rule instances is equal to the published counters."""

import pytest

from tidelog.errors import UsageError
from tidelog.reference.backward_forward_depth_first import BackwardForwardDepthFirst, BackwardForwardDepthFirstShared
from tidelog.reference.backward_forward_marking import BackwardForwardMarking, BackwardForwardSharedMarks
from tidelog.reference.dred_marking import DRedMarking
from tidelog.reference.published import COUNTERS, DRED, EXACT, SINGLE_STREAMS, TABLE_2, TABLE_3
from tidelog.reference.tables import TESTS, TOLERANCE, Row, Tables, main, read_stream

TABLES = Tables(TESTS / "data" / "streams", TESTS / "programs" / "marking")


@pytest.mark.parametrize("kind", [BackwardForwardSharedMarks, BackwardForwardDepthFirstShared])
@pytest.mark.parametrize("marking", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_table_2_at_size_10_is_equal_for_every_seed_in_every_order(seed, marking, kind):
    """P_seq is a deterministic function of the stream: every counter, with and without marks."""
    ours = TABLES.count(kind, f"seq_seed{seed}_size10", marking=marking)
    assert Row("seq", TABLE_2["seq_size10", marking], ours, COUNTERS).broken == ()


@pytest.mark.parametrize("marking", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize(
    ("kind", "stream", "published"),
    [
        (BackwardForwardDepthFirst, "track_2", TABLE_3),
        (BackwardForwardDepthFirstShared, "trans_seed2_size10", SINGLE_STREAMS),
    ],
)
def test_in_the_order_of_the_authors_program_every_counter_is_near(kind, stream, published, marking):
    """What depends on the order comes within 15 % once the order is theirs; as printed, deletions miss by far."""
    row = Row(stream, published[stream, marking], TABLES.count(kind, stream, marking=marking), EXACT)
    assert row.broken == ()
    assert {name: row.deviation(name) for name in row.published if abs(row.deviation(name)) > TOLERANCE} == {}


@pytest.mark.parametrize("marking", [False, True])
def test_table_3_insertions_and_explicit_marks_are_equal(marking):
    published = TABLE_3["track_2", marking]
    ours = TABLES.count(BackwardForwardMarking, "track_2", marking=marking)
    assert ours["insertions"] == published["insertions"]
    assert ours["forward"] == published["forward"]
    assert ours["marks explicit"] == published.get("marks explicit", 0)


def test_table_1_insertions_and_explicit_marks_are_equal_on_the_known_stream():
    published = SINGLE_STREAMS["trans_seed2_size10", True]
    ours = TABLES.count(BackwardForwardSharedMarks, "trans_seed2_size10", marking=True)
    assert (ours["insertions"], ours["marks explicit"]) == (published["insertions"], published["marks explicit"])
    without = TABLES.count(BackwardForwardSharedMarks, "trans_seed2_size10", marking=False)
    assert ours["deletions"] < without["deletions"]


@pytest.mark.parametrize("marking", [False, True])
def test_dred_on_p_seq_is_equal_with_and_without_marks(marking):
    """Negative marks pass along all four renamings, and the one edge that comes back brings four facts with it."""
    published = DRED["seq_seed1_size10", marking]
    ours = TABLES.count(DRedMarking, "seq_seed1_size10", marking=marking)
    assert {name: ours[name] for name in published} == published


def test_dred_without_marks_is_equal_on_p_trans_and_every_mark_saves_one_overdeletion():
    published = DRED["trans_seed1_size10", False]
    ours = TABLES.count(DRedMarking, "trans_seed1_size10", marking=False)
    assert {name: ours[name] for name in published} == published
    marked = TABLES.count(DRedMarking, "trans_seed1_size10", marking=True)
    assert marked["overdeleted"] + marked["marks implicit"] == ours["overdeleted"]
    assert (marked["rederived"], marked["inserted"]) == (ours["rederived"], ours["inserted"])
    assert marked["marks positive explicit"] == DRED["trans_seed1_size10", True]["marks positive explicit"]


def test_a_counter_that_must_be_equal_and_is_not_is_named():
    """The comparison can fail: a row with a wrong counter says which."""
    row = Row("seq", {"insertions": 10, "deletions": 3}, {"insertions": 11, "deletions": 4}, ("insertions",))
    assert row.broken == ("insertions",)
    assert row.deviation("deletions") == pytest.approx(1 / 3)


def test_a_missing_stream_is_named(tmp_path):
    with pytest.raises(UsageError, match="there is no update stream"):
        read_stream(tmp_path / "nowhere.jsonl")


@pytest.mark.long
def test_the_whole_table_prints_and_is_right_where_it_must_be(capsys):
    assert main(["--sizes", "10"]) == 0
    printed = capsys.readouterr().out
    assert "Table 3" in printed
    assert "must be equal and is not" not in printed
