"""The program as a program: quick help, `python -m`, exit codes."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "pandas", "numba", "scipy", "sqlalchemy", "chromadb", "mcp", "langgraph", "openai")


def test_python_m_and_help() -> None:
    done = subprocess.run([sys.executable, "-m", "alphaswarm", "--help"], capture_output=True, text=True, check=True)
    for group in ("agent", "alpha", "backtest", "data", "mcp", "rag", "init", "report", "doctor"):
        assert group in done.stdout
    assert done.stderr == ""


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; sys.argv = ['alphaswarm', '--help']\n"
        "from alphaswarm.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_no_arguments_shows_help() -> None:
    done = subprocess.run([sys.executable, "-m", "alphaswarm"], capture_output=True, text=True, check=False)
    assert "Usage" in done.stdout + done.stderr
    assert done.returncode in {0, 2}
