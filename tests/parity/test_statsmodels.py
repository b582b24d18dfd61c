"""Newey-West t and false discovery rates are those of statsmodels."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import make_rng
from alphaswarm.evaluation import bh_fdr, newey_west_t

PYTHON = Path(__file__).parents[2] / ".oracles" / "bin" / "python"

pytestmark = [
    pytest.mark.oracles,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the environment of benchmarks/oracles.txt"),
]

SCRIPT = """
import json, sys
import numpy as np
from statsmodels.api import OLS
from statsmodels.stats.multitest import multipletests
asked = json.load(sys.stdin)
y = np.array(asked["series"])
hac = {"cov_type": "HAC", "use_t": False}
json.dump({
    "t": [OLS(y, np.ones(len(y))).fit(cov_kwds={"maxlags": lag}, **hac).tvalues[0] for lag in asked["lags"]],
    "rejected": [multipletests(p, q, "fdr_bh")[0].tolist() for p, q in asked["tests"]],
}, sys.stdout)
"""


def test_both():
    rng = make_rng(1, "statsmodels")
    series = (0.2 + np.convolve(rng.standard_normal(404), np.ones(5), "valid")).tolist()
    lags = [0, 1, 4, 19]
    tests = [((rng.random(30) ** 3).tolist(), q) for q in (0.05, 0.1, 0.3)]
    asked = json.dumps({"series": series, "lags": lags, "tests": tests})
    done = subprocess.run([PYTHON, "-c", SCRIPT], input=asked, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert [newey_west_t(series, lag) for lag in lags] == pytest.approx(found["t"], rel=1e-10)
    assert [bh_fdr(p, q).tolist() for p, q in tests] == found["rejected"]
    assert any(map(any, found["rejected"]))
