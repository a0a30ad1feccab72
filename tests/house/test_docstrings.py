"""Every module and every public name says what it is, in words of its own.

A docstring copied from a sibling is worse than none: it lies.
"""

import ast
from difflib import SequenceMatcher

from tests.house.sources import Module, definitions, modules

TOO_SIMILAR = 0.9


def is_public(name: str) -> bool:
    """Whether no part of a dotted name begins with an underscore."""
    return not any(part.startswith("_") for part in name.split("."))


def needs_docstring(node: ast.AST) -> bool:
    """Overloads and property setters are described where the name is first defined."""
    decorators = [ast.unparse(decorator) for decorator in getattr(node, "decorator_list", [])]
    return not any(d.endswith((".setter", ".deleter")) or d.split(".")[-1] == "overload" for d in decorators)


def silent_names(module: Module) -> list[str]:
    """The module or its public names that have no docstring."""
    found = [] if ast.get_docstring(module.tree) else [module.name]
    for name, node in definitions(module):
        if is_public(name) and needs_docstring(node) and not ast.get_docstring(node):
            found.append(f"{module.name}.{name}")
    return found


def copied_module_docstrings(several: list[Module]) -> list[str]:
    """Pairs of modules whose docstrings are nearly the same text."""
    described = [(module.name, ast.get_docstring(module.tree) or module.name) for module in several]
    words = [frozenset(text.split()) for _, text in described]
    found = []
    for at, (second, text) in enumerate(described):
        for before, (first, other) in enumerate(described[:at]):
            if 2 * len(words[at] & words[before]) < len(words[at] | words[before]):
                continue  # texts with half of their words different differ in more than a tenth of their letters
            if SequenceMatcher(None, other, text, autojunk=False).ratio() > TOO_SIMILAR:
                found.append(f"{first} and {second}")
    return found


def copied_docstrings(module: Module) -> list[str]:
    """Names of one module that share a docstring although they are called differently."""
    first_with: dict[str, str] = {}
    found = []
    for name, node in definitions(module):
        text = ast.get_docstring(node)
        last = name.split(".")[-1]
        if text and first_with.setdefault(text, last) != last:
            found.append(f"{module.name}: {first_with[text]} and {name}")
    return found


def test_everything_public_is_described():
    """A reader never has to guess what a module, class, function or method is for."""
    assert [name for module in modules() for name in silent_names(module)] == []


def test_no_module_docstring_is_a_copy():
    """Two modules with one description: at least one of them is described wrongly."""
    assert copied_module_docstrings(list(modules())) == []


def test_no_docstring_is_a_copy():
    """Implementations of one interface may share words; different names may not."""
    assert [pair for module in modules() for pair in copied_docstrings(module)] == []


def test_missing_and_copied_docstrings_are_found():
    """The checks see what they are meant to see, and leave private names and overloads alone."""
    silent = Module.of("class A:\n    def b(self): ...\n    def _c(self): ...\n")
    assert silent_names(silent) == ["tidelog.planted", "tidelog.planted.A", "tidelog.planted.A.b"]
    twins = [Module.of(f'"""Delete and rederive, carefully, number {n}."""', f"tidelog.m{n}") for n in (1, 2)]
    assert copied_module_docstrings(twins) == ["tidelog.m1 and tidelog.m2"]
    copied = Module.of(
        'def a():\n    """Say."""\ndef b():\n    """Say."""\nclass C:\n    def a(self):\n        """Say."""\n'
    )
    assert copied_docstrings(copied) == ["tidelog.planted: a and b"]
