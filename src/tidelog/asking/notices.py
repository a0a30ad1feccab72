"""What an engine asks back: is this what you meant?

What      : `Notices` looks at the rules and facts of an update before it is applied, and warns of what is doubtful.
Idea      : only new rules and relations are looked at, each once. An engine without any facts warns of no empty
            relation, because the next insertion may fill it: its rules wait until there are facts.
Invariant : each doubt is uttered once per engine, and before the update changes anything.
Cost      : nothing for an update without new rules and new relations.
Never     : no update is refused here, unless the user's filter turns a warning into an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tidelog.analysis.doubts import single_variables, strangers, unfilled
from tidelog.errors import Problem
from tidelog.language.terms import Rule
from tidelog.maintenance.rule_book import RuleBook
from tidelog.observe.notices import warn
from tidelog.planning.lowered import is_hidden

_MOST_RULES = 2000
"""A program with more rules is machine-made: nobody mistyped a name in it."""


class Notices:
    """The doubts of one engine."""

    def __init__(self) -> None:
        self._uttered: set[tuple[str, str, str]] = set()
        self._waiting: list[Rule] = []
        self._seen: set[str] = set()

    def look(
        self,
        inserted: Iterable[str],
        fresh: Sequence[Rule],
        book: RuleBook,
        stored: Callable[[], Iterable[str]],
        size: Callable[[str], int],
    ) -> None:
        """Warn of what is doubtful in an update: `fresh` rules of a book, and facts of `inserted` relations."""
        new = [name for name in inserted if name not in self._seen]
        if not (fresh or new) or len(book.program.rules) > _MOST_RULES:
            return
        before = self._waiting
        try:
            for problem in self._doubts(new, fresh, book, lambda: [name for name in stored() if size(name)]):
                key = problem.code, problem.sentence, str(problem.place)
                if key not in self._uttered:
                    warn(problem)
                    self._uttered.add(key)
        except BaseException:  # a warning that is an error: the update is not applied, so it may come again
            self._waiting = before
            raise
        self._seen.update(new)

    def _doubts(
        self, new: list[str], fresh: Sequence[Rule], book: RuleBook, stored: Callable[[], list[str]]
    ) -> Iterator[Problem]:
        yield from single_variables(fresh)
        self._waiting = [*self._waiting, *fresh]
        filled = {*new, *stored()}
        if not filled:
            return
        waiting, self._waiting = self._waiting, []
        derived, declared = book.schedule.place, {one.relation for one in book.program.declarations}

        def names() -> list[str]:
            return [name for name in (*filled, *derived, *declared) if not is_hidden(name)]

        empty = list(unfilled(waiting, lambda name: name in filled or name in derived or name in declared, names))
        yield from empty
        unknown = [name for name in new if book.arity(name) is None]
        if unknown and book.program.rules:
            asked = " ".join(one.remedy or "" for one in empty)
            known = [name for name in book.relations if not is_hidden(name)]
            yield from strangers((name for name in unknown if f"did you mean {name}?" not in asked), known)
