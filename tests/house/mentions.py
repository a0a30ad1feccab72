"""What a module talks about: the files and the names that its docstrings and comments mention, and those it can know.

A name in back quotes is *near* if a reader who has the module and what it imports in front of him finds it: in the
module's own code, as a definition of a module that it imports or that the same text names, or among the names that
every reader of Tidelog knows (the front door, the words of the rule language, Python's own). "Occurs somewhere in the
package" would be too weak: of three hundred modules one always has a `side` or a `fixpoint`.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.house.sources import ROOT, Module, modules, tracked_files

QUOTED = re.compile(r"(`+)([^`]+)\1")
NAME = re.compile(r"@?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?")
FILE = re.compile(r"(?<![\w.*<>/{}-])[\w./-]*\w\.(?:py|md|lark)(?![\w(])|docs/decisions/\d{4}(?:-[\w-]+)?")
TELLING = re.compile(rf"#.*(?:`|{FILE.pattern})")
KEY = re.compile(r"@?[\w.-]+")
"""A string that is a key, an option or a setting; one with spaces is a sentence and defines no name."""

MODULE = re.compile(r"(?<![\w.])tidelog(?:\.[a-z_]+)+")
VARIABLE = re.compile(r"[A-Za-z]\d?")
"""One letter, with a digit perhaps: a variable or a relation of an example, or a set of a paper."""


@cache
def nodes(module: Module) -> tuple[ast.AST, ...]:
    """Every node of a module's syntax tree; walking it once is a good part of the work."""
    return tuple(ast.walk(module.tree))


@cache
def spoken(module: Module) -> tuple[tuple[int, str], ...]:
    """Everything that a module says in words, each text with its line."""
    return (*docstrings(module), *comments(module))


def docstrings(module: Module) -> Iterator[tuple[int, str]]:
    """The docstrings of a module, its classes, functions and attributes, each with its line."""
    for node in nodes(module):
        for statement in getattr(node, "body", None) or [] if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text)), lineno=line):
                    yield line, text


def comments(module: Module) -> Iterator[tuple[int, str]]:
    """The comments of a module; lines of comment that follow each other are one text."""
    if not TELLING.search(module.text):
        return  # reading tokens is slow, and most comments mention nothing
    line, text = 0, ""
    for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
        if token.type == tokenize.COMMENT:
            if text and token.start[0] == line + 1:
                text += token.string.replace("#", "\n", 1)
            else:
                if text:
                    yield line, text
                text = token.string
            line = token.start[0]
    if text:
        yield line, text


def files(text: str) -> list[str]:
    """The files that a text names."""
    return FILE.findall(text)


def commands(text: str) -> list[str]:
    """The modules that a text says can be run with `python -m`."""
    return [name.strip(".") for name in re.findall(r"python -m\s+((?:tidelog|benchmarks)[\w.]*)", text)]


def can_be_run(name: str) -> bool:
    """Whether `python -m name` finds a module of this repository."""
    path = name.replace(".", "/")
    return any(f"{root}{path}{end}" in paths() for root in ("", "src/") for end in (".py", "/__main__.py"))


def names(text: str) -> list[str]:
    """The identifiers in back quotes, without call brackets, and our modules by their dotted names, quoted or not.

    A rule, an expression or an option in back quotes is no identifier.
    """
    found = [NAME.fullmatch(match[2].strip()) for match in QUOTED.finditer(text)]
    quoted = [match[1] for match in found if match and not FILE.fullmatch(match[0])]
    return [name for name in quoted if not VARIABLE.fullmatch(name)] + MODULE.findall(QUOTED.sub("", text))


# -- what exists


def exists(file: str, module: Module) -> bool:
    """Whether a reader of a module finds a file that it names.

    A bare name is a file of the module's folder, of a module that it imports, or beside README.md; other files are
    given with a folder, and with it there is one.
    """
    folder = module.file.rpartition("/")[0]
    if f"{folder}/{file}" in paths() or file in paths():
        return True
    if file.startswith("docs/decisions/"):
        return any(path.startswith(file) for path in paths())
    if "/" not in file:
        return any(name.rpartition(".")[2] == file.removesuffix(".py") for name in vocabulary(module).imports)
    found = [path for path in paths() if path.endswith(f"/{file}")]
    return len(found) == 1 or len([path for path in found if path.startswith("src/")]) == 1


@cache
def paths() -> frozenset[str]:
    """The files of the repository, as paths from its root."""
    return frozenset(path.relative_to(ROOT).as_posix() for path in tracked_files())


@dataclass(frozen=True)
class Vocabulary:
    """The names of one module: all that its code has, those that it defines, and the members of its classes."""

    used: frozenset[str]
    defined: frozenset[str]
    members: dict[str, frozenset[str]]
    bases: dict[str, frozenset[str]]
    imports: frozenset[str]


@cache
def vocabulary(module: Module) -> Vocabulary:
    """Read the names of a module from its syntax tree, its docstrings left aside."""
    said = {id(node.value) for node in nodes(module) if isinstance(node, ast.Expr)}
    used: set[str] = set()
    for node in nodes(module):
        for field in ("name", "id", "attr", "arg", "asname", "module"):
            word = getattr(node, field, None)
            if isinstance(word, str):
                used.update(word.split("."))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            used.update(re.findall(r"\w+", node.value) if KEY.fullmatch(node.value) else ())
    classes = [node for node in nodes(module) if isinstance(node, ast.ClassDef)]
    return Vocabulary(
        frozenset(used),
        frozenset(_defined(module)),
        {node.name: frozenset(_members(node)) for node in classes},
        {
            node.name: frozenset(ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases)
            for node in classes
        },
        frozenset(_imported(module)),
    )


def _defined(module: Module) -> Iterator[str]:
    """Functions, classes, parameters, attributes, and the names that a module or a class assigns to; no local names."""
    for node in nodes(module):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.ClassDef(name=name):
                yield name
                yield from _members(node)
            case ast.Module():
                yield from _assigned(node.body)


def _members(owner: ast.ClassDef) -> Iterator[str]:
    """Methods, fields, and the attributes that a method gives to `self`."""
    yield from _assigned(owner.body)
    for node in ast.walk(owner):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements assign to, those inside an `if` or a `try` included."""
    for statement in body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id


def _last_name(base: ast.expr) -> str:
    """The name of a base class without its module and its parameters."""
    return ast.unparse(base).split("[")[0].split(".")[-1]


def _imported(module: Module) -> Iterator[str]:
    """The modules of our own that a module imports."""
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def by_name() -> dict[str, Module]:
    """The modules of the package by their dotted names."""
    return {module.name: module for module in modules()}


@cache
def members() -> dict[str, frozenset[str]]:
    """The members of the package's classes, inherited ones included; classes of one name are taken together."""
    own: dict[str, set[str]] = defaultdict(set)
    above: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        for name, found in vocabulary(module).members.items():
            own[name] |= found
        for name, bases in vocabulary(module).bases.items():
            above[name] |= bases - {name}

    def all_of(name: str, seen: frozenset[str]) -> set[str]:
        further = [all_of(base, seen | {name}) for base in above.get(name, set()) - seen if base in own]
        return own[name].union(*further)

    return {name: frozenset(all_of(name, frozenset())) for name in list(own)}


@cache
def instances() -> dict[str, str]:
    """The classes by the names that an instance usually has: `engine` for Engine."""
    return {owner.lower(): owner for owner in members()}


@cache
def everywhere() -> frozenset[str]:
    """Names that every reader knows.

    Python's, the front door's with their members, the words of the language, and the strategies that README lists.
    """
    language = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    words = {word for match in QUOTED.finditer(language) for word in re.findall(r"\w+", match[2])}
    words |= set(re.findall(r"^\| `(\w+)` \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    door = vocabulary(by_name()["tidelog"]).used
    known = words | set(dir(builtins)) | set(keyword.kwlist) | set(by_name()["tidelog"].name.split("."))
    return frozenset(known | door).union(*(members().get(name, frozenset()) for name in door))


@cache
def near(module: Module) -> frozenset[str]:
    """The single names that every text of a module may mention."""
    neighbours = {name for name in vocabulary(module).imports if name in by_name()}
    if module.is_package:
        neighbours |= {name for name in by_name() if name.rpartition(".")[0] == module.name}
    defined = (vocabulary(by_name()[name]).defined | {name.rpartition(".")[2]} for name in neighbours)
    return vocabulary(module).used.union(everywhere(), *defined)


def of_named_files(text: str) -> frozenset[str]:
    """What the modules define that a text names by their files."""
    named = {file.rpartition("/")[2] for file in files(text)}
    found = [module for module in modules() if named and module.file.rpartition("/")[2] in named]
    return frozenset().union(*(vocabulary(module).defined for module in found))


def is_near(name: str, module: Module, text: str) -> bool:
    """Whether a name means something here; `Class.member` and `instance.member` are looked up in the class."""
    first, *rest = name.split(".")
    if first == "tidelog" and rest:
        return name in by_name() or name.rpartition(".")[0] in by_name()
    owner = first if first in members() else instances().get(first.replace("_", ""))
    if len(rest) == 1 and owner is not None and rest[0] in members()[owner]:
        return True
    if rest and first in members():
        return False
    known = near(module)
    return all(part in known or part in of_named_files(text) for part in (first, *rest))
