"""RDF terms as constants.

What      : `IRI`, `BlankNode` and `Literal`, the terms that are no Python number, string or bool.
Idea      : a term is its canonical N-Triples text: that text is stored, and two terms are equal exactly if their texts
            are. What Python has a type for (`xsd:integer` of 64 bits, finite `xsd:double`, `xsd:boolean`, `xsd:string`)
            is that type and never a `Literal`.
Source    : RDF 1.1 N-Triples, W3C Recommendation, section 4 (canonical form).
Invariant : `term_of(term.text) == term`; the text has no line break, so it may stand on a line of its own.
Never     : no parser of whole files (see tidelog.rdf), and no value of a literal (see rdf_values.py).
"""

from __future__ import annotations

import re

from tidelog.errors import UsageError

XSD = "http://www.w3.org/2001/XMLSchema#"
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_MEANT = {spelled[1]: character for character, spelled in _ESCAPES.items()} | {"'": "'"}
_ESCAPED = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_TO_ESCAPE = re.compile(r'[\\"\x00-\x1f\x7f]')
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")
_LABEL = re.compile(r"[\w](?:[\w.-]*[\w-])?")
_LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*(?:--(?:ltr|rtl))?")
_LITERAL = re.compile(r'"(?P<lexical>(?:[^"\\]|\\.)*)"(?:\^\^<(?P<datatype>[^>]*)>|@(?P<language>[\w-]+))?', re.DOTALL)


class RdfTerm:
    """A term, known by its canonical N-Triples text; it never changes."""

    __slots__ = ("text",)
    text: str

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an RDF term never changes: {name}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RdfTerm) and self.text == other.text

    def __hash__(self) -> int:
        return hash((RdfTerm, self.text))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text})"

    def __reduce__(self) -> tuple[object, ...]:
        return term_of, (self.text,)

    def _known_by(self, text: str) -> None:
        object.__setattr__(self, "text", text)


class IRI(RdfTerm):
    """An IRI, such as `IRI("http://example.org/a")`."""

    __slots__ = ()

    def __init__(self, value: str) -> None:
        if not is_iri(value):
            raise UsageError.of("E830", f"{value!r} is no absolute IRI", remedy="begin it with a scheme: http://...")
        self._known_by(f"<{value}>")

    @property
    def value(self) -> str:
        """The IRI without its brackets."""
        return self.text[1:-1]


class BlankNode(RdfTerm):
    """A blank node, such as `BlankNode("b0")`."""

    __slots__ = ()

    def __init__(self, label: str) -> None:
        if _LABEL.fullmatch(label) is None:
            raise UsageError.of("E830", f"{label!r} labels no blank node", remedy="use letters and digits")
        self._known_by(f"_:{label}")

    @property
    def value(self) -> str:
        """The label, without `_:`."""
        return self.text[2:]


class Literal(RdfTerm):
    """A literal that Python has no type for, with exactly this lexical form (rdf_values.py has the canonical one)."""

    __slots__ = ()

    def __init__(self, lexical: str, datatype: str | None = None, language: str | None = None) -> None:
        if language is not None and _LANGUAGE.fullmatch(language) is None:
            raise UsageError.of("E830", f"{language!r} is no language tag", remedy="write en or de-AT")
        if language is None and not is_iri(datatype or ""):
            raise UsageError.of("E830", f"{datatype!r} is no data type", remedy="give its IRI; a plain text is a str")
        ending = f"@{language.lower()}" if language else f"^^<{datatype}>"
        self._known_by(f'"{escaped(lexical)}"{ending}')

    @property
    def value(self) -> str:
        """The lexical form."""
        return unescaped(self._part("lexical"))

    @property
    def datatype(self) -> str:
        """The IRI of the data type; that of a tagged string is `rdf:langString`."""
        return self._part("datatype") or "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"

    @property
    def language(self) -> str | None:
        """The language tag, if there is one."""
        return self._part("language") or None

    def _part(self, name: str) -> str:
        found = _LITERAL.fullmatch(self.text)
        return (found[name] or "") if found else ""


_CLASSES: dict[str, type[RdfTerm]] = {"<": IRI, "_": BlankNode, '"': Literal}


def term_of(text: str) -> RdfTerm:
    """The term of a canonical N-Triples text, which is trusted to be one."""
    kind = _CLASSES[text[:1]]
    term = kind.__new__(kind)
    term._known_by(text)
    return term


def is_iri(text: str) -> bool:
    """Whether the text is an absolute IRI, as it may stand between angle brackets."""
    return _IRI.fullmatch(text) is not None


def escaped(text: str) -> str:
    """A text as it stands between the quotes of canonical N-Triples."""
    return _TO_ESCAPE.sub(_escape, text)


def unescaped(text: str) -> str:
    """What stands between the quotes of N-Triples, as the text that it means."""
    return _ESCAPED.sub(_meant, text) if "\\" in text else text


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04X}"


def _meant(match: re.Match[str]) -> str:
    body = match[1]
    return chr(int(body[1:], 16)) if len(body) > 1 else _MEANT.get(body, match[0])
