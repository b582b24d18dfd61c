"""Meanings over two series, by hand and against numpy and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from alphaswarm.dsl.reference.pairs import PAIRS

NAN = math.nan
# deviations of X: -1, 0, 1; of Y: -2, 1, 1; sums xx 2, xy 3, yy 6
X, Y = [1.0, 2.0, 3.0], [0.0, 3.0, 3.0]
FLAT = [5.0, 5.0, 5.0]
BY_HAND = [
    ("ts_cov", [X, Y, 3], {}, [NAN, NAN, 1.5]),
    ("ts_cov", [X, FLAT, 3], {}, [NAN, NAN, 0]),
    ("ts_cov", [X, [NAN, 3.0, 3.5], 3], {"min_obs": 1}, [NAN, NAN, 0.25]),
    ("ts_corr", [X, Y, 3], {}, [NAN, NAN, 3 / math.sqrt(12)]),
    ("ts_corr", [X, FLAT, 3], {}, [NAN] * 3),
    ("ts_corr", [X, [NAN, 3.0, 3.5], 3], {}, [NAN] * 3),
    ("ts_corr", [X, [NAN, 3.0, 3.5], 3], {"min_obs": 2}, [NAN, NAN, 1]),
    ("ts_rank_corr", [X, [0.0, 9.0, 9.0], 3], {}, [NAN, NAN, 1.5 / math.sqrt(2 * 1.5)]),  # ranks 1, 2.5, 2.5
    ("ts_rank_corr", [[1.0, 2.0, 90.0], [-5.0, -7.0, -8.0], 3], {}, [NAN, NAN, -1]),
    ("ts_rank_corr", [X, FLAT, 3], {}, [NAN] * 3),
    ("ts_beta", [Y, X, 3], {}, [NAN, NAN, 1.5]),
    ("ts_beta", [Y, FLAT, 3], {}, [NAN] * 3),
    ("ts_beta", [FLAT, X, 3], {}, [NAN, NAN, 0]),
    ("ts_beta", [Y, X, 3], {"min_obs": 1}, [NAN, NAN, 1.5]),  # two rows are no regression
    ("ts_resid", [Y, X, 3], {}, [NAN, NAN, -0.5]),  # 3 - (2 + 1.5)
    ("ts_resid", [[*Y, NAN], [*X, 4.0], 4], {"min_obs": 3}, [NAN, NAN, -0.5, NAN]),
    ("ts_rsq", [Y, X, 3], {}, [NAN, NAN, 0.75]),
    ("ts_rsq", [FLAT, X, 3], {}, [NAN] * 3),
    ("ts_slope", [Y, 3], {}, [NAN, NAN, 1.5]),
    ("ts_slope", [[0.0, NAN, 4.0, 8.0], 4], {"min_obs": 3}, [NAN, NAN, NAN, 18 / 7]),  # times 0, 2, 3
    ("ts_autocorr", [[1.0, 2.0, 4.0, 3.0], 2, 1], {}, [NAN, NAN, 1, -1]),
]


@pytest.mark.parametrize(("name", "args", "options", "expected"), BY_HAND)
def test_by_hand(name, args, options, expected, down):
    np.testing.assert_allclose(down(name, *args, **options), expected, rtol=1e-14, atol=1e-15)


def test_every_operator_is_covered():
    assert {name for name, *_ in BY_HAND} == set(PAIRS)


RNG = np.random.default_rng(2)
A, B = RNG.normal(size=8), RNG.normal(size=8)


def test_against_numpy_and_scipy(down):
    slope, constant = np.polyfit(B, A, 1)
    expected = {
        "ts_cov": np.cov(A, B)[0, 1],
        "ts_corr": np.corrcoef(A, B)[0, 1],
        "ts_rsq": np.corrcoef(A, B)[0, 1] ** 2,
        "ts_rank_corr": spearmanr(A, B).statistic,
        "ts_beta": slope,
        "ts_resid": A[-1] - constant - slope * B[-1],
    }
    for name, value in expected.items():
        assert down(name, A.tolist(), B.tolist(), 8)[-1] == pytest.approx(value, rel=1e-12), name
    assert down("ts_slope", A.tolist(), 8)[-1] == pytest.approx(np.polyfit(np.arange(8), A, 1)[0], rel=1e-12)


def test_a_series_correlates_with_itself_exactly(down):
    assert down("ts_corr", A.tolist(), A.tolist(), 8)[-1] == 1.0
    assert down("ts_corr", A.tolist(), (-3 * A).tolist(), 8)[-1] == -1.0
