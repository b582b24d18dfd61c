"""Window meanings, by hand and against independent formulas."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from alphaswarm.dsl.reference.rolling import ROLLING
from alphaswarm.dsl.reference.shift import SHIFT

NAN = math.nan
LN2 = math.log(2)
# 1, 2, 4 has mean 7/3 and variance 7/3; 2, 4, 7 has mean 13/3 and variance 19/3
X = [1.0, 2.0, 4.0, 7.0]
BY_HAND = [
    ("delay", [X, 1], {}, [NAN, 1, 2, 4]),
    ("delay", [X, 9], {}, [NAN, NAN, NAN, NAN]),
    ("delta", [X, 2], {}, [NAN, NAN, 3, 5]),
    ("pct_change", [[10.0, 11.0, 0.0, 5.0, NAN, 6.0], 1], {}, [NAN, 11 / 10 - 1, -1, NAN, NAN, NAN]),
    ("log_return", [[1.0, math.e, 0.0, 2.0], 1], {}, [NAN, 1, NAN, NAN]),
    ("ts_sum", [X, 3], {}, [NAN, NAN, 7, 13]),
    ("ts_sum", [[1.0, NAN, 4.0, 7.0], 3], {}, [NAN] * 4),
    ("ts_sum", [[1.0, NAN, 4.0, 7.0], 3], {"min_obs": 2}, [NAN, NAN, 5, 11]),
    ("ts_sum", [[1.0, NAN, 4.0, 7.0], 3], {"min_obs": 1}, [1, 1, 5, 11]),
    ("ts_sum", [[1e16, 1.0, -1e16], 3], {}, [NAN, NAN, 1]),
    ("ts_mean", [X, 3], {}, [NAN, NAN, 7 / 3, 13 / 3]),
    ("ts_mean", [X, 1], {}, X),
    ("ts_mean", [[1.0, NAN, 4.0], 3], {"min_obs": 1}, [1, 1, 2.5]),
    ("ts_product", [X, 3], {}, [NAN, NAN, 8, 56]),
    ("ts_product", [[1e200, 1e200], 2], {}, [NAN, NAN]),
    ("ts_var", [X, 3], {}, [NAN, NAN, 7 / 3, 19 / 3]),
    ("ts_std", [X, 3], {}, [NAN, NAN, math.sqrt(7 / 3), math.sqrt(19 / 3)]),
    ("ts_std", [[0.1, 0.1, 0.1], 3], {}, [NAN, NAN, 0]),
    ("ts_std", [X, 3], {"min_obs": 1}, [NAN, math.sqrt(0.5), math.sqrt(7 / 3), math.sqrt(19 / 3)]),
    # third central moment of 1, 2, 4 is 20/27, second 14/9
    ("ts_skew", [X[:3], 3], {}, [NAN, NAN, math.sqrt(6) * (20 / 27) / (14 / 9) ** 1.5]),
    ("ts_skew", [[2.0, 2.0, 2.0], 3], {}, [NAN] * 3),
    # 0, 0, 0, 4: deviations -1, -1, -1, 3; m2 = 3, m4 = 21; 3 / 2 * (5 * (7/3 - 3) + 6) = 4
    ("ts_kurt", [[0.0, 0.0, 0.0, 4.0], 4], {}, [NAN, NAN, NAN, 4]),
    ("ts_kurt", [[2.0, 2.0, 2.0, 2.0], 4], {}, [NAN] * 4),
    ("ts_min", [[3.0, 1.0, 2.0], 2], {}, [NAN, 1, 1]),
    ("ts_max", [[3.0, 1.0, 2.0], 2], {}, [NAN, 3, 2]),
    ("ts_argmin", [[1.0, 2.0, 1.0, 3.0, 3.0], 3], {}, [NAN, NAN, 0, 1, 2]),
    ("ts_argmax", [[5.0, 2.0, 5.0, 3.0, 4.0], 3], {}, [NAN, NAN, 0, 1, 2]),
    ("ts_argmax", [[5.0, NAN, 3.0, 2.0], 3], {"min_obs": 1}, [0, 1, 2, 1]),
    ("ts_rank", [[1.0, 2.0, 3.0], 3], {}, [NAN, NAN, 1]),
    ("ts_rank", [[3.0, 2.0, 1.0], 3], {}, [NAN, NAN, 1 / 3]),
    ("ts_rank", [[2.0, 1.0, 2.0, 2.0], 4], {}, [NAN, NAN, NAN, 3 / 4]),  # places 2, 3, 4
    ("ts_rank", [[1.0, 3.0, NAN, 2.0], 4], {"min_obs": 2}, [NAN, 1, NAN, 2 / 3]),
    ("ts_zscore", [X, 3], {}, [NAN, NAN, (5 / 3) / math.sqrt(7 / 3), (8 / 3) / math.sqrt(19 / 3)]),
    ("ts_zscore", [[1.0, 3.0, NAN], 3], {"min_obs": 2}, [NAN, 1 / math.sqrt(2), NAN]),
    ("ts_zscore", [[0.1, 0.1], 2], {}, [NAN, NAN]),
    ("ts_scale", [[1.0, 3.0, 2.0], 3], {}, [NAN, NAN, 0.5]),
    ("ts_scale", [[0.1, 0.1, 0.1], 3], {}, [NAN] * 3),
    ("ts_quantile", [[1.0, 2.0, 4.0, 8.0], 4, 0.75], {}, [NAN, NAN, NAN, 5]),  # place 2.25
    ("ts_quantile", [[8.0, 1.0], 2, 0.0], {}, [NAN, 1]),
    ("ts_quantile", [[8.0, 1.0], 2, 1.0], {}, [NAN, 8]),
    ("ts_median", [[4.0, 1.0, 8.0, 2.0], 4], {}, [NAN, NAN, NAN, 3]),
    ("ts_median", [[4.0, NAN, 8.0, 2.0], 4], {"min_obs": 3}, [NAN, NAN, NAN, 4]),
    ("ts_mad", [[1.0, 2.0, 6.0], 3], {}, [NAN, NAN, 2]),  # mean 3: 2, 1, 3
    ("ts_medad", [[1.0, 2.0, 6.0], 3], {}, [NAN, NAN, 1]),  # median 2: 1, 0, 4
    ("ts_medad", [[1.0, 2.0, 6.0, 9.0], 4], {}, [NAN, NAN, NAN, 2.5]),  # median 4: 3, 2, 2, 5
    ("ts_ir", [[1.0, 3.0], 2], {}, [NAN, 2 / math.sqrt(2)]),
    ("ts_ir", [[2.0, 2.0], 2], {}, [NAN, NAN]),
    ("ts_av_diff", [X, 3], {}, [NAN, NAN, 5 / 3, 8 / 3]),
    ("ts_av_diff", [[0.1, 0.1, 0.1], 3], {}, [NAN, NAN, 0]),
    ("ts_max_diff", [[3.0, 1.0, 2.0], 3], {}, [NAN, NAN, -1]),
    ("ts_min_diff", [[3.0, 1.0, 2.0], 3], {}, [NAN, NAN, 1]),
    ("decay_linear", [[1.0, 2.0, 3.0], 3], {}, [NAN, NAN, 14 / 6]),
    ("decay_linear", [[1.0, NAN, 3.0], 3], {}, [NAN] * 3),
    ("decay_linear", [[1.0, NAN, 3.0], 3], {"min_obs": 1}, [1, 1, 10 / 4]),  # weights 1 and 3
    ("decay_exp", [[1.0, 2.0, 4.0], 3, 0.5], {}, [NAN, NAN, 21 / 7]),  # (4 + 1 + 1/4) / (7/4)
    ("decay_exp", [[1.0, NAN, 4.0], 3, 0.5], {"min_obs": 1}, [1, 1, 17 / 5]),
    # bins 0, 0, 3, 9
    ("ts_entropy", [[0.0, 0.5, 3.0, 10.0], 4], {}, [NAN, NAN, NAN, 0.5 * LN2 + 0.5 * 2 * LN2]),
    ("ts_entropy", [[7.0, 7.0, 7.0], 3], {}, [NAN, NAN, 0]),
    ("ts_moment", [[1.0, 2.0, 6.0], 3, 2], {}, [NAN, NAN, 14 / 3]),
    ("ts_moment", [[1.0, 2.0, 6.0], 3, 3], {}, [NAN, NAN, 6]),  # (-8 - 1 + 27) / 3
    ("ts_count", [[1.0, 0.0, 1.0, NAN], 2], {}, [NAN, 1, 1, NAN]),
    ("ts_count", [[1.0, 0.0, 1.0, NAN], 2], {"min_obs": 1}, [1, 1, 1, 1]),
    ("ts_sumif", [X, [1.0, 0.0, 1.0, 0.0], 3], {}, [NAN, NAN, 5, 4]),
    ("ts_sumif", [[1.0, NAN, 4.0], [1.0, 0.0, NAN], 3], {"min_obs": 1}, [1, 1, 1]),
]


@pytest.mark.parametrize(("name", "args", "options", "expected"), BY_HAND)
def test_by_hand(name, args, options, expected, down):
    np.testing.assert_allclose(down(name, *args, **options), expected, rtol=1e-14, atol=1e-15)


def test_every_operator_is_covered():
    assert {name for name, *_ in BY_HAND} == set(ROLLING) | set(SHIFT)


RISING = np.random.default_rng(1).normal(size=30).tolist()


@pytest.mark.parametrize(
    ("name", "method"),
    [("ts_mean", "mean"), ("ts_std", "std"), ("ts_var", "var"), ("ts_skew", "skew"), ("ts_kurt", "kurt")],
)
@pytest.mark.parametrize("d", [4, 9])
def test_moments_are_those_of_pandas(name, method, d, down):
    expected = getattr(pd.Series(RISING).rolling(d), method)()
    np.testing.assert_allclose(down(name, RISING, d), expected, rtol=1e-9, atol=1e-9)


def test_quantile_is_that_of_numpy(down):
    got = down("ts_quantile", RISING, 7, 0.37)[6:]
    windows = np.lib.stride_tricks.sliding_window_view(RISING, 7)
    np.testing.assert_allclose(got, np.quantile(windows, 0.37, axis=1), rtol=1e-14)


def test_rank_is_that_of_pandas(down):
    values = np.round(np.array(RISING) * 2).tolist()
    expected = pd.Series(values).rolling(6).rank(method="average", pct=True)
    np.testing.assert_allclose(down("ts_rank", values, 6), expected, rtol=1e-14)


def test_a_mean_never_leaves_the_range_of_its_window(down):
    assert (down("ts_mean", [0.1] * 10, 10)[9:] == 0.1).all()
    assert (down("decay_linear", [0.1] * 10, 10)[9:] == 0.1).all()
    assert (down("decay_exp", [0.7] * 10, 10, 0.3)[9:] == 0.7).all()
