"""Facts, rules and file names never become code, SQL, shell or network calls: the constructs for it are absent.

The checks read syntax trees, so comments and docstrings may name what the code must not do.
"""

import ast
import re

import pytest

from tests.house.sources import Module, modules

MODULES = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "requests", "socket", "ftplib", "telnetlib"}
SUBMODULES = {"urllib.request", "http.client"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {"os.system", "os.popen", "os.execv", "os.spawnv", "yaml.load", "yaml.unsafe_load", "subprocess.getoutput"}
SQL_TAKERS = {"sql", "selectExpr", "expr", "execute", "executemany", "executescript"}
SQL = re.compile(
    r"\s*(select\b.*\bfrom|insert\s+into|delete\s+from|update\s+\S+\s+set|create\s+(or\s+replace\s+)?(temp\w*\s+)?(table|view)"
    r"|drop\s+(table|view)|alter\s+table|merge\s+into|with\s+recursive)\b",
    re.IGNORECASE | re.DOTALL,
)


def forbidden(module: Module) -> list[str]:
    """Every forbidden construct of a module, as `module:line what`."""
    return [
        f"{module.name}:{node.lineno} {what}"
        for node in ast.walk(module.tree)
        for what in (*_imports(node), *_calls(node), *_assembled_sql(node))
    ]


def _imports(node):
    names = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    for name in names:
        if name.split(".")[0] in MODULES or name in SUBMODULES or name in ATTRIBUTES:
            yield f"imports {name}"


def _calls(node):
    if not isinstance(node, ast.Call):
        return
    name = ast.unparse(node.func)
    if name in BUILTINS or name in ATTRIBUTES:
        yield f"calls {name}"
    if any(
        k.arg == "shell" and not (isinstance(k.value, ast.Constant) and k.value.value is False) for k in node.keywords
    ):
        yield "passes shell=..."
    taker = node.func.attr if isinstance(node.func, ast.Attribute) else name
    if taker in SQL_TAKERS and node.args and _is_assembled(node.args[0]):
        yield f"hands assembled text to {taker}()"


def _is_assembled(node):
    """Whether an expression puts text together: an f-string with values, `+`, `%`, or `.format(...)`."""
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in node.values)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Mod)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"format", "join"}


def _assembled_sql(node):
    """SQL text with values inside, even when it is not handed over on the spot."""
    if _is_assembled(node):
        texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        if any(SQL.match(text + " ") for text in (*texts, " ? ".join(texts))):
            yield "assembles SQL text"


def test_nothing_forbidden_in_the_package():
    """The promise of inertness, as far as syntax can show it."""
    assert [line for module in modules() for line in forbidden(module)] == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "from urllib.request import urlopen",
        "from os import system",
        "import socket as s",
        "eval(text)",
        "exec(text)",
        "os.system(text)",
        "yaml.load(text)",
        "subprocess.run(text, shell=True)",
        "subprocess.run(text, shell=flag)",
        "spark.sql(f'SELECT * FROM {name}')",
        "df.selectExpr('a + ' + name)",
        "cursor.execute('delete from %s' % name)",
        "F.expr('{} + 1'.format(name))",
        "query = f'select x from {name}'",
        "query = 'DROP TABLE ' + name",
        "query = f'{kind} x' + 'INSERT INTO t'",
    ],
)
def test_a_forbidden_construct_is_found(text):
    """Each construct of the promise, planted once."""
    assert forbidden(Module.of(text))


@pytest.mark.parametrize(
    "text",
    [
        '"""Never eval, pickle or shell=True."""',
        "spark.sql('SELECT 1')",
        "cursor.execute('select x from t where y = ?', [y])",
        "message = f'cannot select {name} from the list'",
        "re.compile(pattern)",
        "plan.execute(store)",
        "subprocess.run(arguments, shell=False)",
    ],
)
def test_harmless_code_is_left_alone(text):
    """A check that cries wolf is switched off sooner or later."""
    assert forbidden(Module.of(text)) == []
