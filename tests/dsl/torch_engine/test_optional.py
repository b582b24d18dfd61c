"""torch is an extra."""

from __future__ import annotations

import subprocess
import sys

import pytest

from alphaswarm.core import ProviderError
from alphaswarm.dsl import evaluate


def test_without_torch_it_says_what_to_install(make_market, monkeypatch):
    evaluate("x", make_market(0), engine="torch")
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "alphaswarm.dsl.torch_engine.runner")
    with pytest.raises(ProviderError, match=r"pip install 'alphaswarm\[rl\]'"):
        evaluate("x", make_market(0), engine="torch")


def test_nothing_else_imports_torch():
    code = "import sys, alphaswarm.dsl, alphaswarm.dsl.evaluate; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
