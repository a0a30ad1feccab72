"""A docstring may only name what exists: files, names, readers, numbers of things.

Taught by six docstrings that lied. Each had been true once: a file stayed outside the repository, a field and a
function got other names, a reader went away, one decorator became three, and a module that "knows no store by name"
worded a remedy for one of them. Nobody had touched the sentences. All six are planted below.
"""

import ast
import re
from functools import cache

import pytest

from tests.house import mentions
from tests.house.sources import PACKAGE, ROOT, Module, beside_the_package, modules, tracked_files

KNOWN_ELSEWHERE = {
    "jdk.incubator.vector": "a module of Java",
    "make": "the command",
    "mapInArrow": "PySpark's; the tasks that it runs are in another module than the call",
    "neg": "how unary minus is called inside; nobody writes it",
    "sources.edge.format": "a key of a user's pipeline file",
    "unique": "NumPy's; named because it is not used",
}
"""Back-quoted names that are not in the code around them, each with the reason."""

NUMBERS = {"no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
COUNTED = re.compile(rf"\b({'|'.join(NUMBERS)}) (decorator|class)(?:s|es)?\b", re.IGNORECASE)
READ_BY = re.compile(rf"\b(?:read|used|asked|called|imported) by ((?:{mentions.FILE.pattern}|, | and )+)")
READER = re.compile(
    rf"\b(?:which|that|what) ({'|'.join(sorted(path.name for path in PACKAGE.iterdir() if path.is_dir()))})\b"
    r"[^.;:]{0,60}?\b(?:looks? at|reads?|uses?|asks?)\b"
)
BLIND = re.compile(r"no (?:store|backend) is (?:known by name|named)", re.IGNORECASE)
BACKENDS = re.compile(r"spark", re.IGNORECASE)
VAGUE = re.compile(r"(?i:\b(?:so many(?:th)?|whoever|unless one is)\b)|(?<!there )\b(?:is|are) none\b")
"""A number and a person that are not told, and things that "are none"; "there are none" is plain, None is Python's."""


def missing_files(module: Module) -> list[str]:
    """Files that a module names and that cannot be found, or not at one place only."""
    return [
        f"{module.file}:{line}: {file}"
        for line, text in mentions.spoken(module)
        for file in mentions.files(text)
        if not mentions.exists(file, module)
    ]


def unknown_names(module: Module) -> list[str]:
    """Names in back quotes that a reader of the module does not find near it."""
    return [
        f"{module.file}:{line}: {name}"
        for line, text in mentions.spoken(module)
        for name in mentions.names(text)
        if name not in KNOWN_ELSEWHERE and not mentions.is_near(name, module, text)
    ]


def dead_commands(module: Module) -> list[str]:
    """Modules of ours that a text tells its readers to run and that are not there."""
    return [
        f"{module.file}:{line}: python -m {name}"
        for line, text in mentions.spoken(module)
        for name in mentions.commands(text)
        if not mentions.can_be_run(name)
    ]


def false_readers(module: Module) -> list[str]:
    """Files ("read by" a file) and rooms ("which planning looks at") that are said to read a module and do not."""
    text = " ".join((ast.get_docstring(module.tree) or "").split())
    readers = [other for other in modules() if module.name in mentions.vocabulary(other).imports]
    said = [file for match in READ_BY.finditer(text) for file in mentions.files(match[1])]
    rooms = [match[1] for match in READER.finditer(text)]
    return [file for file in said if not any(reader.file.endswith(f"/{file}") for reader in readers)] + [
        room for room in rooms if not any(reader.name.split(".")[1] == room for reader in readers)
    ]


def miscounted(module: Module) -> list[str]:
    """Numbers of decorators or classes in a module's docstring that are not what the module has."""
    public = [node for node in module.tree.body if not getattr(node, "name", "_").startswith("_")]
    has = {
        "class": sum(isinstance(node, ast.ClassDef) for node in public),
        "decorator": sum(node.name in _decorators() for node in public if isinstance(node, ast.FunctionDef)),
    }
    text = " ".join((ast.get_docstring(module.tree) or "").split())
    return [match[0] for match in COUNTED.finditer(text) if NUMBERS[match[1].lower()] != has[match[2].lower()]]


@cache
def _decorators() -> set[str]:
    """The names that decorate something somewhere in the package."""
    return {
        decorator.id
        for module in modules()
        for node in mentions.nodes(module)
        for decorator in getattr(node, "decorator_list", [])
        if isinstance(decorator, ast.Name)
    }


def names_of_backends(module: Module) -> list[str]:
    """Strings that name a backend in a module that promises to know none."""
    if not BLIND.search(" ".join((ast.get_docstring(module.tree) or "").split())):
        return []
    said = {id(node.value) for node in mentions.nodes(module) if isinstance(node, ast.Expr)}
    strings = [node for node in mentions.nodes(module) if isinstance(node, ast.Constant) and id(node) not in said]
    return [node.value for node in strings if isinstance(node.value, str) and BACKENDS.search(node.value)]


def vague_words(module: Module) -> list[str]:
    """Words that leave the reader to guess how many, or who (CONTRIBUTING.md)."""
    return vague_in(module.file, module.text)


def vague_in(file: str, text: str) -> list[str]:
    """The same for the text of any file."""
    lines = enumerate(text.splitlines(), 1)
    return [f"{file}:{number}: {match[0]}" for number, line in lines for match in VAGUE.finditer(line)]


CHECKS = (missing_files, unknown_names, dead_commands, false_readers, miscounted, names_of_backends, vague_words)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_a_module_says_of_itself_is_true(check):
    """Every docstring and every comment of the package."""
    assert [fault for module in modules() for fault in check(module)] == []


def test_files_named_in_tests_and_benchmarks_exist():
    """The same for the files that stand beside the package."""
    assert [fault for module in beside_the_package() for fault in missing_files(module)] == []


def test_pages_and_benchmarks_are_plain():
    """What people read before the code: README, the walk, the pages, and what the benchmarks say that they measure."""
    names = {path: path.relative_to(ROOT).as_posix() for path in tracked_files()}
    read = re.compile(r"(?:README|ARCHITECTURE|docs/.*|benchmarks/.*)\.md|benchmarks/.*\.py")
    pages = {name: path.read_text(encoding="utf-8") for path, name in names.items() if read.fullmatch(name)}
    assert {"README.md", "ARCHITECTURE.md", "docs/language.md", "benchmarks/reasoners.py"} <= pages.keys()
    assert [fault for name, text in pages.items() for fault in vague_in(name, text)] == []


def test_no_exception_outlives_its_reason():
    """A name that is excused is still mentioned, and still not to be found."""
    said = {
        name
        for module in modules()
        for _, text in mentions.spoken(module)
        for name in mentions.names(text)
        if not mentions.is_near(name, module, text)
    }
    assert said == set(KNOWN_ELSEWHERE)


LIES = {
    "a file outside the repository": (missing_files, "Idea: SPARK.md, fixpoint loops: a plan doubles.", ""),
    "a field of another name": (unknown_names, "`side` of a step says where its literal stands.", "is_before = 1"),
    "a function of another name": (unknown_names, "What: `fixpoint` derives all facts.", "class Fixpoint: ..."),
    "readers that went away": (
        false_readers,
        "The shape of a recursion,\nwhich planning and the choice of a strategy look at.",
        "",
    ),
    "a reader named as a file": (false_readers, "The shape, read by cli/check.py and planning/planner.py.", ""),
    "one decorator of three": (
        miscounted,
        "One decorator, `compiled`.",
        "def compiled(f): ...\ndef allocating(f): ...\ndef woven(f): ...",
    ),
    "a store known by name": (
        names_of_backends,
        "Never: no store is known\n  by name.",
        'remedy = "raise spark.tidelog.driver.facts"',
    ),
    "a member that a class does not have": (unknown_names, "See `Engine.frobnicate`.", ""),
    "a module that is not there": (unknown_names, "Prefixes are for others (see tidelog.nowhere.reader).", ""),
    "a command that is not there": (dead_commands, "Run `python -m benchmarks.nothing_here`.", ""),
    "a file that two folders have": (missing_files, "No arithmetic (functions.py).", ""),
    "a file of a folder that is not told": (missing_files, "Shapes are planned (pair_rules.py).", ""),
    "a riddle about what is not": (vague_words, "A limit that is none, and rows which are none of ours.", ""),
    "a riddle about a reader": (vague_words, "False unless one is patient.", ""),
    "a number that is not told": (vague_words, "Up to so many rows.", ""),
    "somebody in a comment": (vague_words, "True.", "x = 1  # whoever reads it"),
    "a name in a comment": (unknown_names, "True.", "x = 1  # as `frobnicated` does"),
    "a name in an attribute's docstring": (unknown_names, "True.", 'x = 1\n"""For `frobnicated`."""'),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_planted_lie_is_found(lie):
    """By the check that is meant for it."""
    check, sentence, code = LIES[lie]
    assert check(Module.of(f'"""{sentence}"""\n{code}\n')) != []


@pytest.mark.parametrize(
    ("sentence", "code"),
    [
        ("`p(x) :- q(x)` derives; `x` and `B1` are letters, `--out` is an option, `y != 0` a test.", ""),
        ("`Engine.apply`, `engine.apply`, `Engine`, `count`, `len()` and `None` are known to everybody.", ""),
        ("`limit` is a parameter, `depth` an attribute, `keep` a key.", "def f(limit): f.depth = limit['keep']"),
        ("`sweep` is here.", "from tidelog.backends.local.joins import sweep"),
        (
            "See tidelog.pipeline and `tidelog.planning.plan`; `spark.ui.enabled` is a setting.",
            "x = 'spark.ui.enabled'",
        ),
        ("See planning/plan.py, `Driver`, ARCHITECTURE.md, docs/decisions/0004 and maintenance/bulk.py.", ""),
        ("Arguments are in order (join_order.py).", "from tidelog.planning.join_order import order"),
        ("Empty where there are none; a name is None where there is none.", "x = None"),
        ("`python -m benchmarks.maintenance NAME` and python -m tidelog.reference.tables. do run.", ""),
        ("Read by nobody. Two classes.", "class A: ...\nclass B: ..."),
        ("No store is known by name.", 'x = "a store"'),
    ],
)
def test_true_sentences_are_left_alone(sentence, code):
    """Examples of rules, letters, options, and everything that a reader can find."""
    planted = Module.of(f'"""{sentence}"""\n{code}\n')
    assert [fault for check in CHECKS for fault in check(planted)] == []
