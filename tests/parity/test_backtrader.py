"""Sizes, prices, commissions, cash and value are those of backtrader 1.9.78.123, on random bars and targets.

Of 10,000 cases the first 300 are recorded and compared in every run of the tests; this one draws all of them anew,
and asks the package itself.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from benchmarks.backtest.peer_cases import draw, mismatches, packed

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".oracles" / "bin" / "python"
CASES = 10_000
CHUNK = 500

pytestmark = [
    pytest.mark.oracles,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the environment of benchmarks/oracles.txt"),
]


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_nothing_differs(first, tmp_path):
    cases = [draw(seed) for seed in range(first, first + CHUNK)]
    np.savez(tmp_path / "cases.npz", **packed(cases))
    script = ROOT / "benchmarks" / "backtest" / "backtrader_peer.py"
    asked = [PYTHON, script, tmp_path / "cases.npz", tmp_path / "traces.npz"]
    subprocess.run(asked, check=True, capture_output=True)
    with np.load(tmp_path / "traces.npz") as traces:
        found = [words for k, case in enumerate(cases) for words in mismatches(case, k, traces)]
    assert not found, f"{len(found)} differences; from {first}: {found[0]}"
