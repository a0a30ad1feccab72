"""Drive a grammar over a text, past its mistakes.

What      : a Lark LALR(1) parser bound to a builder, one per thread.
Idea      : the builder is called at every reduction. After a mistake, reading starts again behind the next full stop,
            so that one run reports the mistakes of all statements.
Invariant : reading ends for every text, with at most `MAX_PROBLEMS` problems; the time grows linearly with the text.
Never     : no knowledge of a particular grammar (parser.py and dialects/ bring theirs).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tidelog.errors import Problem, ProgramError
from tidelog.language.builder import Builder
from tidelog.language.prefixes import Prefixes
from tidelog.language.term_reductions import MAX_PROBLEMS
from tidelog.language.terms import Value

if TYPE_CHECKING:
    from lark import Lark

BuilderType = TypeVar("BuilderType", bound=Builder)


class Reader(threading.local, Generic[BuilderType]):
    """A parser and its builder; each thread has its own, because the builder holds the text that is being read."""

    def __init__(self, builder: type[BuilderType], package: str, grammar: str, starts: Sequence[str]) -> None:
        self.builder = builder()
        self.builder.prefixes = Prefixes()
        self._grammar = package, grammar
        self._starts = list(starts)

    @cached_property
    def _lark(self) -> Lark:
        """The parser, built when a text needs it: that takes a third of a second, and plain texts do not."""
        from lark import Lark

        package, grammar = self._grammar
        builder: Any = self.builder
        return Lark(
            resources.files(package).joinpath(grammar).read_text(encoding="utf-8"),
            parser="lalr",
            lexer="contextual",
            start=self._starts,
            transformer=builder,
            postlex=self.builder.prefixes,
            maybe_placeholders=False,
        )

    def read(
        self,
        text: str,
        source: str,
        start: str,
        glance: Callable[[str, BuilderType], int] | None = None,
        parameters: Mapping[str, Value] | None = None,
    ) -> object:
        """Read the whole text; what was built and what is wrong is with the builder.

        `glance` may read a first part of the text by itself, and says where that ends.
        """
        self.builder.begin(source, text, parameters)
        position = glance(text, self.builder) if glance is not None else 0
        if glance is not None and position == len(text):
            return None
        from lark import TextSlice
        from lark.exceptions import UnexpectedInput

        from tidelog.language.mistakes import describe, next_statement

        while len(self.builder.problems) < MAX_PROBLEMS:
            try:
                return self._lark.parse(TextSlice(text, position, len(text)), start=start)
            except UnexpectedInput as error:
                self.builder.end_statement()
                self.builder.problems.append(describe(error, text, self.builder.place_at))
                position = next_statement(text, position, error)
                if start != "program" or position >= len(text):
                    break
        return None


def raise_if_any(problems: list[Problem]) -> None:
    """Raise the problems together, ordered by place."""
    if problems:
        raise ProgramError(sorted(problems, key=_by_place))


def _by_place(problem: Problem) -> tuple[int, int]:
    return (problem.place.line, problem.place.column) if problem.place else (0, 0)
