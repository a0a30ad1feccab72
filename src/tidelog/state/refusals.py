"""Why an engine may not save into a state that others have changed.

What      : the errors E608 (others moved on) and E611 (not the state that this engine last wrote).
Invariant : each names the state and what to do.
Never     : no file is looked at.
"""

from __future__ import annotations

from tidelog.errors import StateError
from tidelog.state.remote import Location
from tidelog.state.versions import VersionInfo


def not_the_last(directory: Location, why: str) -> StateError:
    """The state is a copy or a backup, or was replaced."""
    return StateError.of(
        "E611",
        f"the state in {directory} is not the one that this engine last wrote: {why}",
        remedy="open it and apply what it lacks, or save into an empty directory",
    )


def moved_on(directory: Location, info: VersionInfo) -> StateError:
    """Another engine has added a version."""
    sentence = f"{directory} has moved on to version {info.version} without this engine"
    return StateError.of("E608", sentence, remedy="open it again")
