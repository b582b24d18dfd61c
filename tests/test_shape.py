"""The rules of shape: size, public surface, banned calls."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import alphaswarm

ROOT = Path(alphaswarm.__file__).parent
TESTS = Path(__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
CEILING = 700
PUBLIC_CLASSES = 3

BANNED_NAMES = {"eval", "exec", "compile", "__import__"}
BANNED_MODULES = {"pickle", "marshal", "shelve", "dill", "random"}
BANNED_CALLS = {
    "yaml.unsafe_load",
    "yaml.full_load",
    "os.system",
    "os.popen",
    "time.time",
    "time.monotonic",
    "time.perf_counter",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
}
BANNED_FILES = {"utils.py", "helpers.py", "manager.py"}
# The one place that reads the machine's clock and makes generators.
AMBIENT = ROOT / "core" / "runtime.py"
# The one place that executes text: a factor program, in a process of its own that is closed first.
PROGRAMS = ROOT / "dsl" / "programs.py"
# The top handlers: a fault must not kill the terminal session or the server.
TOP_HANDLERS = {ROOT / "cli" / "main.py", ROOT / "mcp_server" / "server.py"}

ids = {"ids": lambda path: str(path.relative_to(ROOT))}


def dotted(node: ast.AST) -> str:
    """`a.b.c` of an attribute chain, else an empty string."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize("path", sorted([*MODULES, *TESTS.rglob("*.py")]), ids=lambda path: path.name)
def test_file_is_small(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= CEILING
    assert path.name not in BANNED_FILES


def call_faults(node: ast.Call) -> list[str]:
    """What is wrong with one call."""
    name = dotted(node.func)
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    found = [name] if name in BANNED_NAMES else []
    for switch in ("shell", "allow_pickle"):
        value = given.get(switch)
        if value is not None and not (isinstance(value, ast.Constant) and value.value is False):
            found.append(switch)
    if name == "yaml.load" and "Loader" not in given:
        found.append("yaml.load without a loader")
    if name == "torch.load" and "weights_only" not in given:
        found.append("torch.load without weights_only")
    return found


def name_faults(name: str) -> list[str]:
    """What is wrong with reading the attribute `name`; types such as np.random.Generator are fine."""
    drawn = name.startswith(("np.random.", "numpy.random.")) and not name.endswith(".Generator")
    return [name] if name in BANNED_CALLS or drawn else []


def catches_all(node: ast.ExceptHandler) -> bool:
    """True for `except:`, `except Exception`, `except (A, BaseException)`."""
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return any(kind is None or dotted(kind) in {"Exception", "BaseException"} for kind in kinds)


def faults(tree: ast.AST, path: Path) -> list[str]:
    """Every banned thing in the module, with its line."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        new: list[str] = []
        if isinstance(node, ast.Assert) and path.relative_to(ROOT).parts[0] != "testing":  # those are tests
            new = ["assert as a check"]
        elif isinstance(node, ast.Call):
            new = [fault for fault in call_faults(node) if path != PROGRAMS or fault != "exec"]
        elif isinstance(node, ast.Attribute) and path != AMBIENT:
            new = name_faults(dotted(node))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            new = [f"import {name}" for name in names if name.split(".")[0] in BANNED_MODULES]
        elif isinstance(node, ast.ExceptHandler) and path not in TOP_HANDLERS and catches_all(node):
            new = ["bare except"]
        found += [(getattr(node, "lineno", 0), fault) for fault in new]
    return [f"{line}: {fault}" for line, fault in found]


@pytest.mark.parametrize("path", MODULES, **ids)
def test_nothing_banned(path: Path) -> None:
    assert faults(ast.parse(path.read_text("utf-8")), path) == []


@pytest.mark.parametrize(
    "text",
    [
        "eval('1')",
        "exec('1')",
        "import pickle",
        "from random import choice",
        "np.load(p, allow_pickle=True)",
        "subprocess.run(c, shell=True)",
        "assert x",
        "datetime.now()",
        "time.time()",
        "np.random.default_rng(0)",
        "yaml.load(text)",
        "torch.load(p)",
        "try:\n  f()\nexcept Exception:\n  pass",
        "try:\n  f()\nexcept:\n  pass",
    ],
)
def test_the_search_finds_what_is_banned(text: str) -> None:
    assert faults(ast.parse(text), ROOT / "dsl" / "x.py")


def module_name(path: Path) -> str:
    """Import name of a source file."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__main__.py"], **ids)
def test_public_names(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert ast.get_docstring(tree), "a module says what it is"
    module = importlib.import_module(module_name(path))
    names = list(getattr(module, "__all__", []))
    assert len(names) == len(set(names)), "__all__ has no repeats (ruff keeps it sorted)"
    for name in names:
        assert hasattr(module, name), f"__all__ names {name}, which is not there"
    defined = {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
    }
    if path.name == "__init__.py":
        assert defined <= set(names)
        return
    public = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
    exempt = path.name in {"errors.py", "costs.py"} or "enum" in path.read_text("utf-8").split("class ")[0]
    assert exempt or len(public & set(names)) <= PUBLIC_CLASSES, f"more than {PUBLIC_CLASSES} public classes"
    assert "__all__" in path.read_text("utf-8"), "a module declares its public names"


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], **ids)
def test_a_package_exports_what_it_imports(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("alphaswarm")
        for alias in node.names
    }
    module = importlib.import_module(module_name(path))
    names = {name for name in getattr(module, "__all__", []) if name != "__version__"}
    assert {name for name in imported if not name.startswith("_")} <= names


def test_tests_mirror_the_source() -> None:
    """Each module of some size has its test file, and no test file tests a module that is gone."""
    untested = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if not path.name.startswith("_")
        and len(path.read_text("utf-8").splitlines()) > 60
        and not list((TESTS / path.relative_to(ROOT).parent).glob(f"test_{path.stem}*.py"))
    ]
    assert untested == []
