"""What to say about text that the grammar does not accept, and where to go on.

What      : turns a parser's error into a problem with a sentence and a remedy; finds the next statement.
Idea      : the common mistakes (a missing full stop, an open string) and the features of Souffle that Tidelog leaves
            out are recognised by what stands at the place of the error, from a table.
Invariant : `next_statement` always moves forward.
Never     : no grammar rules and no program parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lark.exceptions import UnexpectedEOF, UnexpectedInput, UnexpectedToken

from tidelog.errors import Place, Problem

PlaceAt = Callable[[int, int], Place]

_COMPONENTS = "write the component's rules out, with a name per instance"
_REFUSED: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), feature, remedy)
    for pattern, feature, remedy in (
        (r"\.comp\b", "components (.comp)", _COMPONENTS),
        (r"\.init\b", "components (.init)", _COMPONENTS),
        (r"\.override\b", "components (.override)", _COMPONENTS),
        (r"\.functor\b", "user-defined functors (.functor)", "compute the values before they become facts"),
        (r"@prefix\b", "this form of @prefix", "write @prefix ex: <http://example.org/> . before the rules"),
        (r"@base\b", "@base", "write IRIs in full, or @prefix ex: <http://example.org/> ."),
        (r"@\w*", "user-defined functors (@f)", "compute the values before they become facts"),
        (r"\.(number|symbol)_type\b", "old type directives", "write .type T <: number or .type T <: symbol"),
        (
            r"\[\s*\?",
            "RDFox's triple atoms ([?x, p, ?y])",
            "write p(x, y), or name the file .dlog",
        ),
        (r"\[", "records", "give each component a column of its own"),
        (r"(band|bor|bxor|bnot|bshl|bshr|bshru|land|lor|lnot|lxor)\b", "bit operations", "compute with + - * / % ^"),
        (r"\$", "algebraic data types and counters ($)", "encode the branch in a column of its own"),
        (r"#", "preprocessor lines (#)", "run the C preprocessor first; comments begin with //"),
    )
)

_HABITS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(before + r"(?=" + at + r")" if before else at), sentence, remedy)
    for before, at, sentence, remedy in (
        ("", r"==", "equality is written =", "write = in place of =="),
        ("=", r"=", "equality is written =", "write = in place of =="),
        ("", r"<>", "inequality is written !=", "write != in place of <>"),
        ("<", r">", "inequality is written !=", "write != in place of <>"),
        ("", r"\\\+", "negation is written !", "write !p(x) in place of \\+ p(x)"),
        ("", r"\\=", "inequality is written !=", "write != in place of \\="),
        ("", r"=<", "at most is written <=", "write <= in place of =<"),
        ("=", r"<", "at most is written <=", "write <= in place of =<"),
        ("", r":=", "a value is given with =", "write x = ... in a body, :- between head and body"),
        ("", r"<-", "head and body are separated by :-", "write p(x) :- q(x)."),
        ("<", r"-", "head and body are separated by :-", "write p(x) :- q(x)."),
        ("", r"is\b", "a value is given with =", "write x = y + 1 in place of x is y + 1"),
        ("", r"(and|AND)\b", "conjunction is written with a comma", "write p(x), q(x)"),
        ("", r"(or|OR)\b", "alternatives are written with a semicolon", "write (p(x) ; q(x))"),
        ("", r"&&?", "conjunction is written with a comma", "write p(x), q(x)"),
        ("", r"\|\|?", "alternatives are written with a semicolon", "write (p(x) ; q(x))"),
        (r"[0-9]", r"[uf]\b", "a number has no suffix", "write 1 for 1u, 1.0 for 1f"),
        ("", r"≠", "inequality is written !=", "write != in place of ≠"),
        ("", r"≤|≥", "order is written <= and >=", "write <= in place of ≤"),
        ("", r"¬", "negation is written !", "write !p(x)"),
        ("", r"∧", "conjunction is written with a comma", "write p(x), q(x)"),
        ("", r"(if|IF)\b", "head and body are separated by :-", "write p(x) :- q(x)."),
        ("", r"(where|WHERE)\b", "conditions follow after a comma", "write p(x), x > 1"),
        ("", r"(in|IN)\b", "a set is a relation", "write p(x) in place of x in p"),
        ("", r"\?-", "a program asks nothing", "ask with tidelog query, engine.query or in tidelog shell"),
    )
)
"""What other languages write: what stands before the place of the error, what stands there, and what to write here."""

_LINES: tuple[tuple[re.Pattern[str], re.Pattern[str], str, str], ...] = tuple(
    (re.compile(before), re.compile(at), sentence, remedy)
    for before, at, sentence, remedy in (
        (r"\s*$", r":-", "a rule has a head", "derive a relation, wrong(x) :- ..., and look whether it is empty"),
        (r"\.type\b", r"\{", "there are no algebraic data types", "encode the branch in a column of its own"),
        (r"\s*(SELECT|select)\b", r"", "this is SQL", "write rules: answer(x) :- table(x, _)."),
        (r".*[<>]=?[^,<>=]*$", r"[<>]", "a comparison has two sides", "write 1 < x, x < 3 in place of 1 < x < 3"),
    )
)
"""The same for habits that show in the line: what it begins with, and what stands at the place of the error."""

_AGGREGATED = re.compile(r"(?:count|sum|min|max|mean|median)\s*\([^{}]*$")

_QUOTED = re.compile(r"""(["'`])(?:(?!\1)[^\\\n]|\\.)*\1""")
_DIRECTIVE = re.compile(r"\.[a-z]\w*")
_KNOWN = re.compile(r"\.(decl|type|input|output|printsize|include|pragma|plan|limitsize|once)\b")
_SKIPPED = re.compile(
    r"""//[^\n]* | /\*(?s:.*?)\*/ | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | `(?:[^`\\\n]|\\.)*` | <[^<>\s"]*>
      | [0-9]+\.[0-9]+
      | (?P<directive>\.(?:decl|type|input|output|printsize|comp|init|functor|pragma|plan|include|limitsize)\b)
      | (?P<stop>\.) | (?P<open>\{) | (?P<close>\})""",
    re.VERBOSE,
)

_SHOWN = {
    "NAME": "a name",
    "VARIABLE": "a variable",
    "NUMBER": "a number",
    "STRING": "a string",
    "COMPARE": "a comparison",
    "EQUAL": "`=`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "COLON": "`:`",
    "__ANON_0": "`:-`",
    "COMMA": "`,`",
    "DOT": "`.`",
}
"""What a remedy calls the tokens that were expected; the others are left out, for brevity."""


def describe(error: UnexpectedInput, text: str, place_at: PlaceAt) -> Problem:
    """The problem that a parser's error stands for."""
    position = _position(error, text)
    if position >= len(text.rstrip()):
        return _at_end(text, place_at)
    place = place_at(*_line_and_column(text, position))
    for pattern, feature, remedy in _REFUSED:
        if pattern.match(text, position):
            return Problem("E110", f"not supported: {feature}", place, remedy)
    habit = _habit(text, position)
    if habit is not None:
        return Problem("E101", habit[0], place, habit[1])
    rest = text[position : position + 40]
    if rest[0] in "\"'`" and not _QUOTED.match(text, position):
        return Problem("E102", "a quoted text does not end on its line", place, f"close it with {rest[0]}")
    if rest[0] == "%" and _begins_line(text, position):
        return Problem("E101", "unexpected %", place, "begin a comment with //")
    if rest.startswith("/*"):
        return Problem("E102", "a comment does not end", place, "close it with */")
    match = _DIRECTIVE.match(text, position)
    if match and not _KNOWN.match(text, position) and _begins_line(text, position):
        return Problem(
            "E111",
            f"there is no directive {match[0]}",
            place,
            "use .decl, .type, .input, .output, .printsize, .include",
        )
    return _unexpected(error, text, position, place)


def _habit(text: str, position: int) -> tuple[str, str] | None:
    """The sentence and remedy for something that another language writes this way."""
    for pattern, sentence, remedy in _HABITS:
        if pattern.match(text, position) or (pattern.match(text, position - 1) and position):
            return sentence, remedy
    line = text[text.rfind("\n", 0, position) + 1 : position]
    for begins, at, sentence, remedy in _LINES:
        if begins.match(line) and at.match(text, position):
            return sentence, remedy
    found = _AGGREGATED.search(line)
    if text[position] == ":" and found is not None:
        word = found[0].partition("(")[0].strip()
        whole = found[0].partition(word)[2].strip()
        return "the value of an aggregate is one term", f"put it in parentheses as a whole: {word}({whole}) : {{ ... }}"
    return None


def next_statement(text: str, start: int, error: UnexpectedInput) -> int:
    """Where to go on after an error in the statement that was being read from `start` on."""
    position = _position(error, text)
    if _KNOWN.match(text, position) and position > start:
        return position
    if _DIRECTIVE.match(text, position) and not text.startswith(".comp", position):
        line_end = text.find("\n", position)
        return len(text) if line_end < 0 else line_end
    depth = 0
    for match in _SKIPPED.finditer(text, position):
        if match["open"]:
            depth += 1
        elif match["close"]:
            depth -= 1
            if depth <= 0 and text.startswith(".comp", position):
                return match.end()
        elif match["directive"] and depth <= 0 and match.start() > max(position, start):
            return match.start()
        elif match["stop"] and depth <= 0:
            return match.end()
    return len(text)


def _position(error: UnexpectedInput, text: str) -> int:
    if isinstance(error, UnexpectedEOF):
        return len(text)
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        return len(text)
    return error.pos_in_stream if error.pos_in_stream is not None else len(text)


def _unexpected(error: UnexpectedInput, text: str, position: int, place: Place) -> Problem:
    match = re.compile(r"\w+|[:<>=!-]+|.", re.DOTALL).match(text, position)
    shown = match[0] if match else ""
    wanted = _expected(error)
    if "`.`" in wanted and _begins_line(text, position):
        sentence = f"a full stop is missing before {shown}"
        return Problem("E101", sentence, place, "end the statement before it with a full stop")
    remedy = f"expected {_either(wanted)}" if wanted else None
    return Problem("E101", f"unexpected {shown if shown.isprintable() else repr(shown)}", place, remedy)


def _expected(error: UnexpectedInput) -> list[str]:
    parser = error.interactive_parser
    names = parser.accepts() if parser else set()  # type: ignore[no-untyped-call]
    return [shown for name, shown in _SHOWN.items() if name in names]


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _at_end(text: str, place_at: PlaceAt) -> Problem:
    end = len(text.rstrip())
    place = place_at(*_line_and_column(text, end))
    plain = _QUOTED.sub("", text)
    is_open = plain.count("(") > plain.count(")") or plain.count("{") > plain.count("}")
    remedy = "close the bracket" if is_open else "end it with a full stop"
    return Problem("E102", "the text ends inside a statement", place, remedy)


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def _begins_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip()
