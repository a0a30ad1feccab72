"""Threads are started where an injected exception cannot leave the caller waiting (tidelog/beginning.py)."""

import ast

from tests.house.sources import modules


def test_threads_begin_in_one_place():
    """Nobody calls `Thread(...).start()`, nor `start_new_thread`."""
    found = []
    for module in modules():
        if module.name == "tidelog.beginning":
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and node.attr == "start_new_thread":
                found.append(f"{module.name}:{node.lineno}")
            if isinstance(node, ast.Call) and _is_start(node) and _makes_threads(module.tree):
                found.append(f"{module.name}:{node.lineno}")
    assert found == []


def _is_start(node: ast.Call) -> bool:
    """Whether this is `thread.start()`, or `Thread(...).start()`."""
    called = node.func
    if not isinstance(called, ast.Attribute) or called.attr != "start":
        return False
    value = called.value
    return isinstance(value, ast.Call) or (isinstance(value, ast.Name) and "thread" in value.id)


def _makes_threads(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call) and ast.unparse(node.func) in ("Thread", "threading.Thread")
        for node in ast.walk(tree)
    )
