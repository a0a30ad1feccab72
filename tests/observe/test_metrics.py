"""Metrics render as text that Prometheus reads, whatever the labels contain."""

import pytest

from tidelog.errors import UsageError
from tidelog.observe.metrics import Registry


def test_the_text_format():
    """Golden text: help and type lines, ordered samples, cumulative buckets, shortest numbers."""
    registry = Registry()
    derivations = registry.counter("tidelog_derivations_total", "Derivations made.")
    derivations.add(3, rule="r2")
    derivations.add(2, rule="r1")
    derivations.add(1, rule="r1")
    registry.gauge("tidelog_facts", "Facts held.").set(2.5)
    seconds = registry.histogram("tidelog_update_seconds", "Time per update.", bounds=(0.5, 1.0))
    for value in (0.25, 0.5, 7.0):
        seconds.observe(value)
    assert registry.render().splitlines() == [
        "# HELP tidelog_derivations_total Derivations made.",
        "# TYPE tidelog_derivations_total counter",
        'tidelog_derivations_total{rule="r1"} 3',
        'tidelog_derivations_total{rule="r2"} 3',
        "# HELP tidelog_facts Facts held.",
        "# TYPE tidelog_facts gauge",
        "tidelog_facts 2.5",
        "# HELP tidelog_update_seconds Time per update.",
        "# TYPE tidelog_update_seconds histogram",
        'tidelog_update_seconds_bucket{le="0.5"} 2',
        'tidelog_update_seconds_bucket{le="1"} 2',
        'tidelog_update_seconds_bucket{le="+Inf"} 3',
        "tidelog_update_seconds_sum 7.75",
        "tidelog_update_seconds_count 3",
    ]


def test_label_values_cannot_break_out_of_their_quotes():
    """A relation named by a hostile user stays inside its label."""
    registry = Registry()
    registry.gauge("tidelog_facts", "Facts.\nHeld.").set(1, relation='x"} 9\n\\')
    assert registry.render().splitlines() == [
        "# HELP tidelog_facts Facts.\\nHeld.",
        "# TYPE tidelog_facts gauge",
        'tidelog_facts{relation="x\\"} 9\\n\\\\"} 1',
    ]


def test_asking_twice_gives_the_same_metric():
    """Modules that name the same counter share it."""
    registry = Registry()
    registry.counter("rounds_total", "Rounds.").add(2)
    registry.counter("rounds_total", "Rounds.").add(3)
    assert registry.counter("rounds_total", "Rounds.").value() == 5


@pytest.mark.parametrize(
    "misuse",
    [
        lambda registry: registry.counter("a_total", "A.").add(-1),
        lambda registry: registry.gauge("a b", "A."),
        lambda registry: (registry.counter("a", "A."), registry.gauge("a", "A.")),
        lambda registry: registry.gauge("a", "A.").set(1, **{"not-a-label": "x"}),
        lambda registry: registry.histogram("a", "A.", bounds=(2.0, 1.0)),
    ],
)
def test_misuse_is_refused(misuse):
    """A falling counter, a bad name, two kinds under one name, and bounds out of order are all programming errors."""
    with pytest.raises(UsageError):
        misuse(Registry())
