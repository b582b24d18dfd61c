"""One way down: a package imports from lower floors and itself only. No exceptions list."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import alphaswarm

ROOT = Path(alphaswarm.__file__).parent

# What each package may import, besides itself.
STANDS_ON: dict[str, set[str]] = {
    "core": set(),
    "dsl": {"core"},
    "trading": {"core"},
    "data": {"core", "dsl"},
    "rag": {"core", "dsl"},
    "backtest": {"core", "trading"},
    "testing": {"core", "trading", "backtest"},
    "evaluation": {"core", "dsl", "trading", "data", "rag", "backtest"},
    "research": {"core", "dsl", "trading", "data", "rag", "backtest", "evaluation"},
    "mcp_server": {"core", "dsl", "trading", "data", "rag", "backtest", "evaluation", "research"},
    "agents": {"core", "dsl", "mcp_server"},
    "cli": {"core", "dsl", "trading", "data", "rag", "backtest", "evaluation", "research", "mcp_server", "agents"},
}
# The agent never sees a panel: of the language it may use the grammar only.
GRAMMAR_ONLY = {"agents": {"evaluate", "reference", "kernels", "stepper"}}

MODULES = sorted(ROOT.rglob("*.py"))


def imports_of(path: Path) -> list[str]:
    """Dotted names that the module imports, wherever the import stands."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            found += [f"{module}.{alias.name}" for alias in node.names]
            if node.level:
                found.append("alphaswarm.RELATIVE")
    return [name for name in found if name.split(".")[0] == "alphaswarm"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if package == "__init__":
        assert not imports_of(path)
        return
    allowed = {package} | STANDS_ON["cli" if package == "__main__" else package]
    if package == "__main__":
        allowed.add("cli")
    for name in imports_of(path):
        if name == "alphaswarm":  # for its version
            continue
        target = name.split(".")[1]
        assert target in allowed | {"__version__"}, f"{path.name} imports {name}"
        banned = GRAMMAR_ONLY.get(package, set())
        assert not (target == "dsl" and banned & set(name.split(".")[2:])), f"{path.name} imports {name}"


def test_every_package_has_a_floor() -> None:
    packages = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages == set(STANDS_ON)


def test_floors_have_no_cycle() -> None:
    for package, below in STANDS_ON.items():
        assert package not in below
        for other in below:
            assert package not in STANDS_ON[other], f"{package} and {other} import each other"
