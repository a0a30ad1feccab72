"""Updates: read, written, and merged so that one update has the effect of many."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.changes.update import Update, net, read_update, read_updates, to_json, write_updates
from tidelog.errors import UpdateError
from tidelog.language.parser import parse_rules
from tidelog.language.printer import rule_key
from tidelog.language.values import fact_identity

RULES = ["r1: p(x) :- q(x).", "r2: p(x) :- s(x).", "s(x) :- q(x), p(x)."]
KEYS = [rule_key(parse_rules(text)[0]) for text in RULES]

constants = st.sampled_from([0, 1, 1.0, True, "1", "a"])
facts = st.dictionaries(st.sampled_from(["p", "q"]), st.lists(st.tuples(constants), min_size=1, max_size=4), max_size=2)


@st.composite
def streams(draw):
    """Rules that are there at first, and updates that add only rules that are absent and remove only present ones."""
    present = set(draw(st.sets(st.sampled_from(KEYS))))
    first, updates = frozenset(present), []
    for _ in range(draw(st.integers(0, 5))):
        removed = draw(st.sets(st.sampled_from(sorted(present)))) if present else set()
        present -= removed
        added = (
            draw(st.sets(st.sampled_from([key for key in KEYS if key not in present]))) if len(present) < 3 else set()
        )
        present |= added
        text = "\n".join(RULES[KEYS.index(key)] for key in sorted(added))
        updates.append(Update.of(draw(facts), draw(facts), text, sorted(removed)))
    return first, updates


def applied(update, state):
    """Explicit facts and rule keys after an update: deletions first."""
    present, rules = state
    gone = {(relation, fact_identity(fact)) for relation, table in update.delete.items() for fact in table}
    come = {(relation, fact_identity(fact)) for relation, table in update.insert.items() for fact in table}
    assert set(update.remove_rules) <= rules
    return (present - gone) | come, (rules - set(update.remove_rules)) | set(
        map(rule_key, parse_rules(update.add_rules))
    )


@given(stream=streams(), start=facts)
def test_the_net_update_has_the_effect_of_all(stream, start):
    """Insert then delete, delete then insert, add then remove a rule: the order inside the stream is kept."""
    rules, updates = stream
    first = {(relation, fact_identity(fact)) for relation, found in start.items() for fact in found}, rules
    state = first
    for update in updates:
        state = applied(update, state)
    merged = net(updates, rules)
    assert applied(merged, first) == state
    both = [(relation, fact_identity(fact)) for relation, table in merged.insert.items() for fact in table]
    gone = {(relation, fact_identity(fact)) for relation, table in merged.delete.items() for fact in table}
    assert not gone & set(both)


def test_removing_a_rule_that_was_added_again():
    """A rule that was there before and is added once more, which changes nothing, must still go when it is removed."""
    updates = [Update.of(add_rules=RULES[0]), Update.of(remove_rules=["r1"])]
    assert net(updates, {"r1"}) == Update(remove_rules=("r1",))
    assert net(updates).is_empty


@given(stream=streams())
def test_updates_survive_a_file(tmp_path_factory, stream):
    """JSON keeps 1, 1.0, true and "1" apart."""
    path = tmp_path_factory.mktemp("updates") / "updates.jsonl"
    write_updates(path, stream[1])
    found = list(read_updates(path))
    assert list(map(to_json, found)) == list(map(to_json, stream[1]))
    assert [facts_of(update) for update in found] == [facts_of(update) for update in stream[1]]


def facts_of(update):
    return {
        (sign, relation, fact_identity(fact))
        for sign, facts in (("+", update.insert), ("-", update.delete))
        for relation, table in facts.items()
        for fact in table
    }


def test_a_line_may_leave_out_every_key(tmp_path):
    """`{}` asks for nothing, and blank lines are skipped."""
    path = tmp_path / "updates.jsonl"
    path.write_text('{}\n\n{"insert": [["edge", "a", "b"], ["node", "a"], ["holds"]]}\n')
    nothing, something = read_updates(path)
    assert nothing.is_empty
    assert not something.is_empty
    assert {name: list(table) for name, table in something.insert.items()} == {
        "edge": [("a", "b")],
        "node": [("a",)],
        "holds": [()],
    }


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("{", "E305", "not JSON"),
        ("[]", "E305", "not a JSON object"),
        ('{"inserts": []}', "E305", "no 'inserts'"),
        ('{"insert": {"edge": [["a"]]}}', "E305", "insert is not a list of facts"),
        ('{"insert": [[]]}', "E305", "insert is not a list of facts"),
        ('{"delete": [[1, "a"]]}', "E305", "name of its relation"),
        ('{"add_rules": ["p(x) :- q(x)."]}', "E305", "add_rules is not a string"),
        ('{"remove_rules": "r1"}', "E305", "remove_rules is not a list"),
        ('{"insert": [["p", null]]}', "E302", "a fact of p"),
        ('{"insert": [["p", [1]]]}', "E303", "list"),
        ('{"insert": [["p", 1], ["p", 1, 2]]}', "E301", "p has 1 columns, not 2"),
        ('{"insert": [["p", 9223372036854775808]]}', "E304", "64 bits"),
        ('{"insert": [["p", NaN]]}', "E304", "nan"),
        ("[" * 100_000, "E305", "not JSON"),
        ('{"insert": [["p", ' + "9" * 5000 + "]]}", "E305", "not JSON"),
        (b'{"insert": [["p", "\xff"]]}', "E305", "not JSON"),
    ],
)
def test_bad_lines_name_file_and_line(tmp_path, line, code, words):
    """Good updates before a bad line are handed out; then the file and line are named."""
    path = tmp_path / "updates.jsonl"
    path.write_bytes(b'{"insert": [["p", 1]]}\n' + (line if isinstance(line, bytes) else line.encode()) + b"\n")
    updates = read_updates(path)
    assert len(next(updates).insert["p"]) == 1
    with pytest.raises(UpdateError, match=words) as caught:
        next(updates)
    assert caught.value.code == code
    assert str(caught.value.problems[0].place).startswith(f"{path}:2:")


def test_a_missing_file_is_named(tmp_path):
    """A wrong path is the user's mistake, told as such."""
    with pytest.raises(UpdateError, match="does not exist"):
        list(read_updates(tmp_path / "nowhere.jsonl"))


def test_arities_are_checked_where_known():
    """The engine knows its relations; a wrong arity is refused before anything changes."""
    with pytest.raises(UpdateError) as caught:
        Update.of(insert={"edge": [("a",)]}, arities={"edge": 2})
    assert caught.value.code == "E301"


def test_one_rule_name_is_a_list_of_one():
    """A bare string must not be taken for a list of letters."""
    assert Update.of(remove_rules="r1").remove_rules == ("r1",)


def test_values_come_out_as_json():
    """Only the keys that ask for something are written."""
    assert json.loads(to_json(read_update('{"delete": [["p", "é", true, 1.0]]}'))) == {
        "delete": [["p", "é", True, 1.0]]
    }
