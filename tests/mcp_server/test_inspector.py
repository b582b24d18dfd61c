"""A client that is not ours: the MCP Inspector, on Node, over stdio."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
FORMULA = "cs_rank(-ts_sum(returns, 5))"

pytestmark = pytest.mark.net


def inspect(project: Path, *arguments: str, names: str = "underscore") -> tuple[int, dict[str, Any]]:
    """Exit code and printed answer of one Inspector call against `alphaswarm mcp serve`."""
    npx = shutil.which("npx")
    assert npx is not None, "the Inspector needs Node: install it, or leave the net tests out"
    server = [sys.executable, "-m", "alphaswarm", "mcp", "serve", "--workspace", str(project), "--tool-names", names]
    done = subprocess.run(
        [npx, "-y", INSPECTOR, "--cli", *server, *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "npm_config_update_notifier": "false"},
    )
    printed = re.search(r"^\{.*", done.stdout, re.DOTALL | re.MULTILINE)
    assert printed is not None, done.stdout + done.stderr
    return done.returncode, json.loads(printed.group())


def test_it_lists_the_tools(project: Path) -> None:
    code, answer = inspect(project, "--method", "tools/list")
    assert code == 0
    names = [tool["name"] for tool in answer["tools"]]
    assert {"data_alphas_evaluate", "data_catalog_describe", "data_backtests_start"} <= set(names)
    assert all(re.fullmatch(r"[a-z0-9_]{1,45}", name) for name in names)


@pytest.mark.parametrize(
    ("names", "name"), [("underscore", "data_alphas_evaluate"), ("dotted", "data.alphas.evaluate")]
)
def test_it_evaluates_a_factor(project: Path, names: str, name: str) -> None:
    call = ("--method", "tools/call", "--tool-name", name)
    code, answer = inspect(
        project, *call, "--tool-arg", f"expression={FORMULA}", "panel=small", "horizon=5", names=names
    )
    assert code == 0
    trial = answer["structuredContent"]
    assert trial["expression"] == FORMULA
    assert trial["status"] == "evaluated"
    assert trial["rank_ic"] is not None
    assert json.loads(answer["content"][0]["text"]) == trial


def test_it_sees_a_refusal_as_an_error(project: Path) -> None:
    call = ("--method", "tools/call", "--tool-name", "data_alphas_evaluate")
    code, answer = inspect(project, *call, "--tool-arg", "expression=delay(close, -1)", "panel=small")
    assert code != 0
    assert answer["isError"] is True
    assert answer["content"][0]["text"].startswith("LOOKAHEAD at column")
